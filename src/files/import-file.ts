/**
 * Imports an upload into its job, from where the last server stopped, to its end. Each batch of rows is added in one transaction
 * with the position reached. The next rows are read while a batch is being written, so at most two batches are in memory.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../domain/engine/engine.ts';
import { FileError } from '../domain/files/file-errors.ts';
import {
  type FilePlace,
  failImport,
  type ImportNote,
  type LeasedImport,
  postponeImport,
  type Row,
  recordImport,
} from '../domain/files/file-imports.ts';
import type { Uploads } from '../domain/files/uploads.ts';
import { BusyError, StorageLimitError } from '../errors.ts';
import { StoreError } from '../object-store/store-error.ts';
import { checkRows } from './check-rows.ts';
import type { Split } from './rows.ts';
import { split } from './split.ts';
import { openText } from './text.ts';

/** How many rows, or about how many bytes of them, make a batch. */
const batchRows = 1_000;
const batchLength = 2_000_000;
/** An import must make a note this often, or another server takes it over. */
const recordEveryMs = 2_000;
/** If other imports wait, one ends its turn after this time. */
const turnMs = 30_000;
/** If an import made no progress in this many attempts, the next server would fail for the same reason. */
const maxAttempts = 10;
/** How long to wait before a write is tried again that found rows locked by somebody else. */
const busyMs = 100;

export interface ImportFileOptions {
  readonly engine: Engine;
  readonly uploads: Uploads;
  readonly leased: LeasedImport;
  /** The most text that a file may have, in bytes. */
  readonly maxTextBytes: number;
  /** When it aborts, the import is left to another server. */
  readonly signal: AbortSignal;
  /** Whether other imports wait for a turn. */
  readonly othersWait: () => boolean;
}

/** @throws errors of Postgres or the object store: then this server or another one goes on once the lease is over */
export async function importFile(options: ImportFileOptions): Promise<void> {
  const { engine, uploads, leased, maxTextBytes, signal } = options;
  const { jobId, place, attempts, uploadId, size } = leased;
  let bytesRead = () => 0;
  try {
    if (attempts > maxAttempts)
      throw new FileError('INTERNAL', `The server failed ${maxAttempts} times at line ${place.line}.`);
    const file = { size, read: (from: number) => uploads.read(uploadId, from, signal) };
    const splits = async function* (): AsyncGenerator<Split, void, undefined> {
      const text = await openText(file, {
        encoding: leased.options.encoding ?? undefined,
        from: place.position,
        maxBytes: maxTextBytes,
      });
      bytesRead = text.bytesRead;
      const { maxJsonBytes: maxRowBytes } = engine.limits;
      try {
        yield* split(text.pieces, leased.options, { place, start: text.position, maxRowBytes });
      } finally {
        await text.pieces.return();
      }
    };
    await addAll(options, splits(), () => bytesRead());
  } catch (error) {
    let reason = error instanceof StorageLimitError ? new FileError('STORAGE_LIMIT', error.message) : error;
    if (error instanceof StoreError && !signal.aborted) {
      reason = new FileError('STORE_UNAVAILABLE', error.problem);
      if (await postponeImport(engine, leased, reason as FileError)) throw error;
    }
    if (!(reason instanceof FileError)) throw error;
    engine.logger.info({ jobId, code: reason.code, reason: reason.message }, 'a file could not be imported');
    await failImport(engine, leased, reason, bytesRead());
  }
}

async function addAll(
  options: ImportFileOptions,
  splits: AsyncGenerator<Split, void, undefined>,
  bytesRead: () => number,
): Promise<void> {
  const { engine, leased, signal, othersWait } = options;
  const beganAt = performance.now();
  const batches = new Batches(options, bytesRead);
  let skippedMs: number | undefined;
  let isWhole = true;
  for await (const split of untilBroken(pulsed(splits))) {
    if (split instanceof Error) {
      // Keeps the rows before the error.
      if (signal.aborted) isWhole = false;
      else await batches.record('KEEP');
      await batches.underWay;
      if (batches.isOver) return;
      if (!isWhole) break;
      throw split;
    }
    if (split === 'PULSE') {
      await batches.record('KEEP');
      if (batches.isOver) return;
      continue;
    }
    batches.add(await checkRows(engine, leased.type, split.rows), split.place);
    if (split.place.position > leased.place.position) skippedMs ??= performance.now() - beganAt;
    if (batches.isOver) return;
    // Whoever continues the import must skip the same text again.
    const isTurnOver =
      skippedMs !== undefined && performance.now() - beganAt > Math.max(turnMs, 4 * skippedMs);
    if (signal.aborted || (isTurnOver && othersWait())) {
      isWhole = false;
      break;
    }
    if (batches.isDue) await batches.record('KEEP');
  }
  await batches.record(isWhole ? 'DONE' : 'GIVE_BACK');
  await batches.underWay;
}

/** The rows that were read and are not added yet. While one batch is being added, the next one is collected. */
class Batches {
  readonly #options: ImportFileOptions;
  readonly #bytesRead: () => number;
  #rows: Row[] = [];
  #length = 0;
  /** The place after the last rows that were read. */
  #place: FilePlace;
  #recordedAt = performance.now();
  #underWay: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(options: ImportFileOptions, bytesRead: () => number) {
    this.#options = options;
    this.#bytesRead = bytesRead;
    this.#place = options.leased.place;
  }

  /** Settles when the last batch is added. */
  get underWay(): Promise<void> {
    return this.#underWay;
  }

  /** Whether another server has taken over, or the job takes no more items. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isDue(): boolean {
    return (
      this.#rows.length >= batchRows ||
      this.#length >= batchLength ||
      performance.now() - this.#recordedAt > recordEveryMs
    );
  }

  add(rows: readonly Row[], place: FilePlace): void {
    for (const row of rows) {
      this.#rows.push(row);
      this.#length += row.payload.length;
    }
    this.#place = place;
  }

  /** Begins to add the batch once the one before it is added. */
  async record(next: ImportNote['next']): Promise<void> {
    const { engine, leased, signal } = this.#options;
    await this.#underWay;
    if (this.#isOver) return;
    const room =
      this.#rows.length === 0
        ? undefined
        : engine.stored.check({ tenant: leased.tenant }, { items: this.#rows.length, bytes: this.#length });
    if (room !== undefined) await room;
    const noting = { rows: this.#rows, place: this.#place, bytesRead: this.#bytesRead(), next };
    this.#rows = [];
    this.#length = 0;
    this.#underWay = patiently(() => recordImport(engine, leased, noting), signal).then((status) => {
      this.#recordedAt = performance.now();
      this.#isOver ||= status !== 'NOTED';
    });
    this.#underWay.catch(() => {}); // it is awaited, but possibly later
  }
}

/** Yields an error of the file or its store after everything that came before it, instead of throwing it. */
async function* untilBroken<T>(
  splits: AsyncIterable<T>,
): AsyncGenerator<T | FileError | StoreError, void, undefined> {
  try {
    yield* splits;
  } catch (error) {
    if (!(error instanceof FileError || error instanceof StoreError)) throw error;
    yield error;
  }
}

/** Yields a sign of life when nothing has come for a while, as from a slow store, so that the lease does not run out. */
async function* pulsed(
  splits: AsyncGenerator<Split, void, undefined>,
): AsyncGenerator<Split | 'PULSE', void, undefined> {
  try {
    for (;;) {
      const next = splits.next();
      next.catch(() => {}); // it is awaited, but possibly later
      let timer: NodeJS.Timeout | undefined;
      const silence = () =>
        new Promise<'PULSE'>((resolve) => {
          timer = setTimeout(resolve, recordEveryMs, 'PULSE');
        });
      try {
        for (;;) {
          const came = await Promise.race([next, silence()]);
          clearTimeout(timer);
          if (came === 'PULSE') yield came;
          else if (came.done === true) return;
          else {
            yield came.value;
            break;
          }
        }
      } finally {
        clearTimeout(timer);
      }
    }
  } finally {
    await splits.return();
  }
}

/** Tries again while somebody else holds a lock, which should soon be free. */
async function patiently<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof BusyError) || signal.aborted) throw error;
      await delay(busyMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
