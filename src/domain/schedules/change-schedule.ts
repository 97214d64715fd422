import type { Statement } from '../../db/database.ts';
import { BusyError, NotFoundError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { readTiming, type TimingRow } from './read-schedules.ts';

/** Another call may change or advance the schedule between reading and changing. */
const mostTries = 5;

/** Changes the schedule `$1`. @throws NotFoundError if the statement returns no row */
export async function changeSchedule(
  { database }: Engine,
  what: Statement,
  name: string,
  ...values: readonly unknown[]
): Promise<void> {
  const [row] = await database.call(what, checkName(name, 'name', maxNameLength), ...values);
  if (row === undefined) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
}

/** Whether the schedule `s` has the times that a change was worked out from: the values of `timesOf`, from `$2` on. */
export const hasTimes =
  '(s.cron, s.time_zone, s.every_ms, s.start_at) is not distinct from ($2::text, $3::text, $4::bigint, $5::timestamptz(3))';

export const timesOf = ({ cron, timeZone, everyMs, startAt }: TimingRow) => [
  cron,
  timeZone,
  everyMs,
  startAt,
];

/**
 * Works out a change from the schedule's times. `change` returns undefined if they are others by now: it is then called again.
 *
 * @throws NotFoundError
 */
export async function changeByTimes<T>(
  { database }: Engine,
  name: string,
  change: (timing: TimingRow) => Promise<T | undefined>,
): Promise<T> {
  checkName(name, 'name', maxNameLength);
  for (let tries = 0; tries < mostTries; tries++) {
    const timing = await readTiming(database, name);
    if (timing === undefined) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
    const changed = await change(timing);
    if (changed !== undefined) return changed;
  }
  throw new BusyError(`The schedule ${name} moves on all the time. Nothing has changed: try again.`);
}
