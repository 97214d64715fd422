/**
 * Rows into a job. While a batch is on its way the next one is read, so that the file and the server wait for each other
 * as little as possible and no more than two batches are ever in memory. Only one request is under way: the items of a job
 * are worked on in the order in which they were added, which has to be the order of the file.
 */
import { type Client, type ItemSpec, JobtreeError } from '../../client/index.ts';
import type { CommandError } from '../command-error.ts';
import { badFile } from './input.ts';
import type { Row } from './rows.ts';

export interface AddedCounts {
  readonly added: number;
  /** Items whose key the job had already. */
  readonly duplicates: number;
}

const batchRows = 1_000;
/** Of the payloads: with their keys they fit into one request of the client. */
const batchSize = 3_500_000;

/** As many rows as a request takes, without waiting for the row after them: standard input may keep silent. */
export async function* inBatches(rows: AsyncIterable<Row>): AsyncGenerator<Row[], void, undefined> {
  let batch: Row[] = [];
  let size = 0;
  const taken = () => {
    const rows = batch;
    batch = [];
    size = 0;
    return rows;
  };
  for await (const row of rows) {
    if (batch.length > 0 && size + row.size > batchSize) yield taken();
    batch.push(row);
    size += row.size;
    if (batch.length === batchRows) yield taken();
  }
  if (batch.length > 0) yield batch;
}

export interface RowOptions {
  /** Makes the keys of the items, with their lines: an item that is sent twice is added once. */
  readonly keyPrefix: string;
  /** The field of a row that is its serialize key. */
  readonly serializeKey?: string | undefined;
  /** For messages. */
  readonly fileName: string;
}

export function toItems(rows: readonly Row[], { keyPrefix, serializeKey, fileName }: RowOptions): ItemSpec[] {
  return rows.map(({ line, payload }) => ({
    payload,
    dedupeKey: `${keyPrefix}${line}`,
    serializeKey: serializeKey === undefined ? undefined : keyOf(payload, serializeKey, fileName, line),
  }));
}

/** An error that names one of the items, as one that names its line; other errors as they are. */
export function nameLine(error: unknown, rows: readonly Row[], fileName: string): unknown {
  const index = error instanceof JobtreeError && /^items\[(\d+)\]/.exec(error.field ?? '')?.[1];
  return index ? badRow(rows[Number(index)], fileName, error.message) : error;
}

function badRow(row: Row | undefined, fileName: string, message: string): CommandError {
  return badFile(fileName, `line ${row?.line}`, message.replace(/^items\[\d+\]\./, ''));
}

export async function addBatches(options: {
  client: Client;
  jobId: string;
  batches: AsyncIterable<Row[]>;
  rows: RowOptions;
  /** What was added before. */
  before: AddedCounts;
  /** Called after each batch with the sums so far. */
  onAdded: (counts: AddedCounts) => void;
  signal: AbortSignal;
}): Promise<void> {
  const { client, jobId, batches, rows, before, onAdded, signal } = options;
  const { fileName } = rows;
  const counts = { ...before };
  const add = async (batch: readonly Row[]) => {
    const items = toItems(batch, rows);
    try {
      const { added, duplicates, entries } = await client.addItems(jobId, items, {
        entries: 'notAdded',
        signal,
      });
      counts.added += added;
      counts.duplicates += duplicates;
      onAdded({ ...counts });
      const invalid = entries.find((entry) => entry.status === 'INVALID');
      if (invalid) throw badRow(batch[invalid.index], fileName, invalid.error ?? 'the server refused it.');
    } catch (error) {
      throw nameLine(error, batch, fileName);
    }
  };

  let underWay: Promise<void> = Promise.resolve();
  try {
    for await (const batch of batches) {
      await underWay;
      signal.throwIfAborted();
      underWay = add(batch);
      underWay.catch(() => {}); // it is awaited, but maybe not at once
    }
  } finally {
    await underWay; // also when the file turns out to be bad: what is on its way counts
  }
}

/** Undefined for a row without one. */
function keyOf(payload: unknown, field: string, fileName: string, line: number): string | undefined {
  const value =
    typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>)[field] : undefined;
  if (value == null || value === '') return undefined;
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw badFile(
    fileName,
    `line ${line}`,
    `${field} is neither text nor a number, so it can't be a serialize key.`,
  );
}
