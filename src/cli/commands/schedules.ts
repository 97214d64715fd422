/** `jobtree schedules`: a list of schedules, by name. */
import type { Schedule } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { colourOf } from '../colours.ts';
import { exitCodes } from '../exit-codes.ts';
import { print } from '../output.ts';
import { type Cell, Table } from '../table.ts';
import { describeTimes } from './schedule.ts';

export interface SchedulesOptions extends ApiOptions {
  readonly limit: number;
}

export async function listSchedules(options: SchedulesOptions): Promise<number> {
  const table = new Table(
    [{ title: 'NAME' }, { title: 'WHEN' }, { title: 'NEXT' }, { title: 'STATE' }],
    'There are no schedules.',
  );
  await withClient(options, async (client) => {
    let left = options.limit;
    let after: string | undefined;
    do {
      const page = await client.schedules.list({ first: Math.min(left, 1_000), after });
      if (options.json) for (const schedule of page.nodes) print(`${JSON.stringify(schedule)}\n`);
      else table.print(page.nodes.map(toCells));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

function toCells(schedule: Schedule): Cell[] {
  const { name, nextAt, queued } = schedule;
  const state = stateOf(schedule);
  const words = [state === 'skipping' ? `skipping since ${schedule.lastOccurrenceAt}` : state];
  if (queued.length > 0) words.push(`${queued.length} queued`);
  return [name, describeTimes(schedule), nextAt ?? '-', { text: words.join(', '), colour: colourOf(state) }];
}

/** Nothing but skips since its last tree, which is not complete. */
function isSkipping({ lastSkip, lastOccurrenceAt }: Schedule): boolean {
  return (
    lastSkip?.reason === 'OVERLAP' &&
    lastOccurrenceAt != null &&
    Date.parse(lastSkip.at) > Date.parse(lastOccurrenceAt)
  );
}

function stateOf(schedule: Schedule): string {
  const { pausedAt, lastFailure, behindMs } = schedule;
  if (lastFailure != null) return pausedAt == null ? 'failing' : 'paused, failed';
  if (pausedAt != null) return 'paused';
  if (behindMs > 10_000) return 'behind';
  return isSkipping(schedule) ? 'skipping' : 'ok';
}
