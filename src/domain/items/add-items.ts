/**
 * Adds items to a job. Each entry is judged separately: an invalid one is INVALID, one whose dedupe key is taken is a DUPLICATE,
 * and neither affects the others.
 */
import { InvalidInputError } from '../../errors.ts';
import type { AddEntry, PreparedItem } from '../engine/batchers.ts';
import { checkRoom, type Engine } from '../engine/engine.ts';
import { toChecked } from '../types/type-schemas.ts';
import { checkBatch } from '../values/checks.ts';
import { itemIdOf } from '../values/ids.ts';
import { joinTexts } from '../values/json-text.ts';
import { checkTraceContext, type TraceContext, toTraces } from '../values/trace-context.ts';
import { type NewItem, prepareItem, sizeOf, toItemText } from './new-items.ts';

export type { AddEntry };

export async function addItems(
  engine: Engine,
  jobId: string,
  items: readonly NewItem[],
  options: { seal: boolean; traceContext?: TraceContext | null | undefined },
): Promise<AddEntry[]> {
  checkBatch(items.length, 'items');
  const trace =
    options.traceContext == null ? undefined : checkTraceContext(options.traceContext, 'traceContext');
  const good = new Map<number, PreparedItem>();
  const invalid = new Map<number, InvalidInputError>();
  for (const [i, item] of items.entries()) {
    try {
      const one = prepareItem(item, `items[${i}]`, engine.limits);
      good.set(i, trace === undefined ? one : { ...one, trace });
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      invalid.set(i, error);
    }
  }
  if (await engine.schemas.any('payload')) await judgePayloads(engine, jobId, items, good, invalid);
  const prepared = [...good.values()];
  const room = checkRoom(engine, sizeOf(prepared));
  if (room !== undefined) await room;

  // Called even without a valid entry, so that an unknown or sealed job is reported. A call that seals is not merged with others.
  const kinds = new Set(prepared.map(({ kind }) => kind));
  const kind = (['keyed', 'deduped'] as const).find((one) => kinds.has(one)) ?? 'plain';
  const added =
    options.seal || prepared.length === 0
      ? await insertItems(engine, jobId, prepared, options.seal)
      : await engine.batchers.adds(jobId, kind).submit(prepared, engine, engine.isGone);
  let next = 0;
  return items.map((_, i) => {
    const error = invalid.get(i);
    return error === undefined ? (added[next++] as AddEntry) : { status: 'INVALID', error };
  });
}

/** Moves entries whose payload violates the schema of their type from `good` to `invalid`. */
async function judgePayloads(
  { schemas }: Engine,
  jobId: string,
  items: readonly NewItem[],
  good: Map<number, PreparedItem>,
  invalid: Map<number, InvalidInputError>,
): Promise<void> {
  const type = (await schemas.typesOfJobs([jobId])).get(jobId);
  if (type === undefined) return;
  const places = [...good.keys()];
  const payloads = places.map((i) =>
    toChecked(type, `items[${i}]`, items[i]?.payload, good.get(i) as PreparedItem),
  );
  for (const [k, problem] of (await schemas.check('payload', payloads)).entries()) {
    const i = places[k];
    if (problem === undefined || i === undefined) continue;
    good.delete(i);
    invalid.set(i, problem);
  }
}

interface AddRow {
  root_id: string;
  type: string;
  positions: number[];
  /** Null if all of them are new. */
  added: boolean[] | null;
  ready: number;
}

interface PayloadsRow {
  root_id: string;
  type: string;
  first_positions: number[];
}

/** add_payloads assigns positions in blocks of this size. */
const blockSize = 1_024;

/** The database call, for the entries of one job, which may come from several callers. */
export async function insertItems(
  engine: Engine,
  jobId: string,
  items: readonly PreparedItem[],
  seal: boolean,
): Promise<AddEntry[]> {
  const isPlain = !seal && items.length > 0 && items.every(({ settings }) => settings === '');
  return isPlain ? insertPayloads(engine, jobId, items) : insertWithSettings(engine, jobId, items, seal);
}

async function insertPayloads(
  engine: Engine,
  jobId: string,
  items: readonly PreparedItem[],
): Promise<AddEntry[]> {
  const payloads = joinTexts(items.map(({ payload }) => payload));
  const traces = toTraces(items);
  const [row] = await engine.database.call<PayloadsRow>(
    'add_payloads',
    jobId,
    payloads,
    ...(traces === null ? [] : [traces]),
  );
  if (row === undefined) throw new Error('add_payloads returned no row');
  engine.effects.touched(row.root_id);
  engine.effects.ready(new Map([[row.type, items.length]]));
  return items.map((_, i) => {
    const first = row.first_positions[Math.floor(i / blockSize)] as number;
    return { status: 'ADDED', itemId: itemIdOf({ jobId, position: first + (i % blockSize) }) };
  });
}

async function insertWithSettings(
  engine: Engine,
  jobId: string,
  items: readonly PreparedItem[],
  seal: boolean,
): Promise<AddEntry[]> {
  const texts = items.map(toItemText).join(',');
  const traces = toTraces(items);
  const [row] = await engine.database.call<AddRow>('add_items', jobId, `[${texts}]`, seal, traces);
  if (row === undefined) throw new Error('add_items returned no row');
  engine.effects.touched(row.root_id);
  if (row.ready > 0) engine.effects.ready(new Map([[row.type, row.ready]]));
  return items.map((_, i) => ({
    status: row.added === null || row.added[i] ? 'ADDED' : 'DUPLICATE',
    itemId: itemIdOf({ jobId, position: row.positions[i] as number }),
  }));
}
