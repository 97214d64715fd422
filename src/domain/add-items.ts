/**
 * Adds items to a job. Each entry is judged alone: a bad one is INVALID, one whose dedupe key is taken is a DUPLICATE, and
 * neither keeps the others out.
 */
import { InvalidInputError } from '../errors.ts';
import { checkBatch } from './checks.ts';
import type { Engine } from './engine.ts';
import { type NewItem, toItemText } from './items.ts';

export type AddEntry =
  | { readonly status: 'ADDED' | 'DUPLICATE'; readonly itemId: string }
  | { readonly status: 'INVALID'; readonly error: InvalidInputError };

/** An item that passed its checks, ready for the database. */
export interface PreparedItem {
  readonly text: string;
  readonly priority: number | undefined;
}

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
      const text = toItemText(item, `items[${i}]`, engine.limits);
      prepared.push({ text, priority: item.priority ?? undefined });
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
  priority: number;
  item_ids: string[] | null;
  added: boolean[] | null;
}

/** The call itself, for one job's entries, which may come from several callers. */
export async function insertItems(
  engine: Engine,
  jobId: string,
  items: readonly PreparedItem[],
  seal: boolean,
): Promise<AddEntry[]> {
  const texts = `[${items.map((item) => item.text).join(',')}]`;
  const [row] = await engine.database.call<AddRow>('add_items', jobId, texts, seal);
  if (row === undefined) throw new Error('add_items returned no row');
  engine.effects.touched(row.root_id);
  for (const priority of new Set(items.map((item) => item.priority ?? row.priority))) {
    engine.lowWater.added(row.type, priority);
  }
  const added = row.added?.filter(Boolean).length ?? 0;
  if (added > 0) engine.effects.ready(new Map([[row.type, added]]));
  return items.map((_, i) => ({
    status: row.added?.[i] ? 'ADDED' : 'DUPLICATE',
    itemId: row.item_ids?.[i] as string,
  }));
}
