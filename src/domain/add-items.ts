/**
 * Adds items to a job. Each entry is judged alone: a bad one is INVALID, one whose dedupe key is taken is a DUPLICATE, and
 * neither keeps the others out.
 */
import { InvalidInputError } from '../errors.ts';
import { checkBatch } from './checks.ts';
import type { Engine } from './engine.ts';
import { itemIdOf } from './item-state.ts';
import { type NewItem, type PreparedItem, prepareItem, toItemText } from './items.ts';
import { joinTexts } from './json-text.ts';
import type { AddEntry } from './merged.ts';

export type { AddEntry };

export async function addItems(
  engine: Engine,
  jobId: string,
  items: readonly NewItem[],
  options: { seal: boolean },
): Promise<AddEntry[]> {
  checkBatch(items.length, 'items');
  const prepared: PreparedItem[] = [];
  const invalid = new Map<number, InvalidInputError>();
  for (const [i, item] of items.entries()) {
    try {
      prepared.push(prepareItem(item, `items[${i}]`, engine.limits));
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      invalid.set(i, error);
    }
  }

  // Also without a single good entry: an unknown or sealed job is to be told. What seals goes alone.
  const isKeyed = prepared.some(({ keyed }) => keyed);
  const added =
    options.seal || prepared.length === 0
      ? await insertItems(engine, jobId, prepared, options.seal)
      : await engine.merged.adds(jobId, isKeyed).submit(prepared);
  let next = 0;
  return items.map((_, i) => {
    const error = invalid.get(i);
    return error === undefined ? (added[next++] as AddEntry) : { status: 'INVALID', error };
  });
}

interface AddRow {
  root_id: string;
  type: string;
  positions: number[];
  /** Null if all are new. */
  added: boolean[] | null;
  ready: number;
}

interface PayloadsRow {
  root_id: string;
  type: string;
  first_positions: number[];
}

/** Positions are given in blocks of so many. */
const blockSize = 1_024;

/** The call itself, for one job's entries, which may come from several callers. */
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
  const [row] = await engine.database.call<PayloadsRow>('add_payloads', jobId, payloads);
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
  const [row] = await engine.database.call<AddRow>('add_items', jobId, `[${texts}]`, seal);
  if (row === undefined) throw new Error('add_items returned no row');
  engine.effects.touched(row.root_id);
  if (row.ready > 0) engine.effects.ready(new Map([[row.type, row.ready]]));
  return items.map((_, i) => ({
    status: row.added === null || row.added[i] ? 'ADDED' : 'DUPLICATE',
    itemId: itemIdOf({ jobId, position: row.positions[i] as number }),
  }));
}
