/**
 * Adds items to a job. Each entry is judged alone: a bad one is INVALID, one whose dedupe key is taken is a DUPLICATE, and
 * neither keeps the others out.
 */
import { InvalidInputError } from '../errors.ts';
import { checkBatch } from './checks.ts';
import type { Engine } from './engine.ts';
import { itemIdOf } from './item-state.ts';
import { type NewItem, toItemText } from './items.ts';
import type { AddEntry } from './merged.ts';

export type { AddEntry };

export async function addItems(
  engine: Engine,
  jobId: string,
  items: readonly NewItem[],
  options: { seal: boolean },
): Promise<AddEntry[]> {
  checkBatch(items.length, 'items');
  const prepared: string[] = [];
  const invalid = new Map<number, InvalidInputError>();
  for (const [i, item] of items.entries()) {
    try {
      prepared.push(toItemText(item, `items[${i}]`, engine.limits));
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      invalid.set(i, error);
    }
  }

  // Also without a single good entry: an unknown or sealed job is to be told. What seals goes alone.
  const added =
    options.seal || prepared.length === 0
      ? await insertItems(engine, jobId, prepared, options.seal)
      : await engine.merged.adds(jobId).submit(prepared);
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
}

/** The call itself, for one job's entries, which may come from several callers. */
export async function insertItems(
  engine: Engine,
  jobId: string,
  texts: readonly string[],
  seal: boolean,
): Promise<AddEntry[]> {
  const [row] = await engine.database.call<AddRow>('add_items', jobId, `[${texts.join(',')}]`, seal);
  if (row === undefined) throw new Error('add_items returned no row');
  engine.effects.touched(row.root_id);
  const added = row.added?.filter(Boolean).length ?? texts.length;
  if (added > 0) engine.effects.ready(new Map([[row.type, added]]));
  return texts.map((_, i) => ({
    status: row.added === null || row.added[i] ? 'ADDED' : 'DUPLICATE',
    itemId: itemIdOf({ jobId, position: row.positions[i] as number }),
  }));
}
