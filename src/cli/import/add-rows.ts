/**
 * Rows into a job. While a batch is on its way the next one is read, so that the file and the server wait for each other
 * as little as possible and no more than two batches are ever in memory. Only one request is under way: the items of a job
 * are worked on in the order in which they were added, which has to be the order of the file.
 */
import { type Client, type ItemSpec, JobtreeError } from '../../client/index.ts';
import { badFile, type Input } from './input.ts';
import type { Row } from './rows.ts';

export interface AddRowsOptions {
  readonly client: Client;
  readonly input: Input;
  readonly rows: AsyncIterable<Row>;
  /** Called once there is something to add: a file that is bad from the start makes no job. */
  readonly openJob: () => Promise<string>;
  /** Makes the keys of the items, with their lines: an item that is sent twice is added once. */
  readonly keyPrefix: string;
  readonly onAdded: (counts: AddedCounts) => void;
  readonly signal: AbortSignal;
}

export interface AddedCounts {
  readonly added: number;
  readonly duplicates: number;
}

const batchRows = 1_000;
const batchSize = 4_000_000;

export async function addRows(options: AddRowsOptions): Promise<AddedCounts> {
  const { client, input, rows, openJob, keyPrefix, onAdded, signal } = options;
  const counts = { added: 0, duplicates: 0 };
  let jobId: string | undefined;
  const add = async (batch: readonly Row[]) => {
    jobId ??= await openJob();
    const items = batch.map(({ line, payload }): ItemSpec => ({ payload, dedupeKey: `${keyPrefix}${line}` }));
    const { added, duplicates, entries } = await client
      .addItems(jobId, items, { signal })
      .catch((error: unknown) => refuse(input, batch, error));
    counts.added += added;
    counts.duplicates += duplicates;
    onAdded(counts);
    const invalid = entries.findIndex((entry) => entry.status === 'INVALID');
    if (invalid !== -1) throw badItem(input, batch, invalid, entries[invalid]?.error ?? '');
  };

  let underWay: Promise<void> = Promise.resolve();
  try {
    for await (const batch of batches(rows)) {
      await underWay;
      signal.throwIfAborted();
      underWay = add(batch);
      underWay.catch(() => {}); // it is awaited, but maybe not at once
    }
    await underWay;
  } catch (error) {
    await underWay.catch(() => {}); // what was on its way counts
    throw error;
  }
  if (jobId === undefined) throw badFile(input.name, '', 'there are no rows in it.');
  return counts;
}

async function* batches(rows: AsyncIterable<Row>): AsyncGenerator<Row[], void, undefined> {
  let batch: Row[] = [];
  let size = 0;
  for await (const row of rows) {
    batch.push(row);
    size += row.size;
    if (batch.length === batchRows || size > batchSize) {
      yield batch;
      batch = [];
      size = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** A refusal that is about one item of the batch is about a line of the file. */
function refuse(input: Input, batch: readonly Row[], error: unknown): never {
  if (error instanceof JobtreeError && error.code === 'INVALID_INPUT') {
    const index = /^items\[(\d+)\]/.exec(error.field ?? '')?.[1];
    if (index !== undefined) throw badItem(input, batch, Number(index), error.message);
  }
  throw error;
}

function badItem(input: Input, batch: readonly Row[], index: number, message: string): Error {
  return badFile(input.name, `line ${batch[index]?.line}`, message.replace(/^items\[\d+\]\./, ''));
}
