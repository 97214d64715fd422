import { checkRoom, type Engine } from '../engine/engine.ts';
import { checkInstant, toJsonText } from '../values/checks.ts';
import type { ItemKey } from '../values/ids.ts';

/** Changes to a waiting item; undefined leaves a value as it is. */
export interface ItemChanges {
  /** Null means now. */
  readonly runAt?: Date | null | undefined;
  /** Null means that of its job. */
  readonly priority?: number | null | undefined;
  readonly payload?: unknown;
}

/** Changes an item that is not finished and that no worker has. @throws ItemNotUpdatableError with the reason if it can't be changed */
export async function updateItem(
  engine: Engine,
  { jobId, position }: ItemKey,
  { runAt, priority, payload }: ItemChanges,
): Promise<void> {
  const text = payload === undefined ? undefined : toJsonText(payload, 'payload', engine.limits.maxJsonBytes);
  if (text !== undefined) {
    await requirePayload(engine, jobId, payload, text);
    await checkRoom(engine, { items: 0, bytes: text.length });
  }
  const changes = Object.entries({
    runAt: runAt && JSON.stringify(checkInstant(runAt, 'runAt')),
    priority,
    payload: text,
  }).flatMap(([key, text]) => (text === undefined ? [] : `"${key}":${text}`));
  const [row] = await engine.database.call<{
    root_id: string;
    type: string;
    priority: number;
    place: number | null;
    made_ready: boolean;
  }>('update_item', jobId, position, `{${changes.join()}}`);
  if (row === undefined) throw new Error('update_item returned no row');
  const { type, priority: of, place } = row;
  if (text !== undefined) engine.effects.touched(row.root_id);
  if (place !== null) engine.lowWater.goBack({ type, priority: of, place });
  if (row.made_ready) engine.effects.ready(new Map([[row.type, 1]]));
}

/** Checks a new payload of an item of the job against the schemas of its type. @throws InvalidInputError if it matches none */
export async function requirePayload(
  { schemas }: Engine,
  jobId: string,
  value: unknown,
  { length }: string,
): Promise<void> {
  if (!(await schemas.any('payload'))) return;
  const type = (await schemas.typesOfJobs([jobId])).get(jobId);
  if (type !== undefined) await schemas.require('payload', [{ type, field: 'payload', value, length }]);
}
