/**
 * Reads an upload to its end, from where the last server stopped, and adds its rows to the job: so many at a time, each time with how far that
 * is, in one transaction. While some are on their way the next are read, so no more than two batches are in memory.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../domain/engine.ts';
import {
  FileError,
  type FilePlace,
  failImport,
  type ImportNote,
  type LeasedImport,
  noteImport,
  postponeImport,
  type Row,
} from '../domain/file-imports.ts';
import type { Uploads } from '../domain/uploads.ts';
import { BusyError, StorageLimitError } from '../errors.ts';
import { StoreError } from '../object-store/store-error.ts';
import { checkRows } from './check-rows.ts';
import type { Split } from './rows.ts';
import { split } from './split.ts';
import { openText } from './text.ts';

/** Of rows that go together; of large ones fewer, about as many bytes. */
const batchRows = 1_000;
const batchLength = 2_000_000;
/** Somebody has to hear of an import so often, or another server takes over. */
const noteEveryMs = 2_000;
/** Who waits for its turn has one after as long, if many files are imported at a time. */
const turnMs = 30_000;
/** A server that got no further so often has something wrong that the next one has, too. */
const maxAttempts = 10;
/** How long it is waited before what a stranger has locked is tried again. */
const busyMs = 100;

export interface ImportFileOptions {
  readonly engine: Engine;
  readonly uploads: Uploads;
  readonly leased: LeasedImport;
  /** How much text a file may have, in bytes. */
  readonly maxTextBytes: number;
  /** When it aborts, another server goes on. */
  readonly signal: AbortSignal;
  /** Whether others wait for a turn. */
  readonly othersWait: () => boolean;
}

/** @throws what Postgres or the object store refuses: then another server, or this one, goes on once the lease is over. */
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
  { engine, leased, signal, othersWait }: ImportFileOptions,
  splits: AsyncGenerator<Split, void, undefined>,
  bytesRead: () => number,
): Promise<void> {
  const beganAt = performance.now();
  let notedAt = beganAt;
  let skippedMs: number | undefined;
  let isOver = false;
  let isWhole = true;
  let underWay: Promise<void> = Promise.resolve();
  /** Behind the last rows that were read. */
  let place: FilePlace = leased.place;
  let rows: Row[] = [];
  let length = 0;

  const note = async (next: ImportNote['next']) => {
    await underWay;
    if (isOver) return;
    const room =
      rows.length === 0
        ? undefined
        : engine.stored.check({ tenant: leased.tenant }, { items: rows.length, bytes: length });
    if (room !== undefined) await room;
    const noting = { rows, place, bytesRead: bytesRead(), next };
    rows = [];
    length = 0;
    underWay = patiently(() => noteImport(engine, leased, noting), signal).then((status) => {
      notedAt = performance.now();
      isOver ||= status !== 'NOTED';
    });
    underWay.catch(() => {}); // it is awaited, but maybe not at once
  };

  for await (const split of untilBroken(pulsed(splits))) {
    if (split instanceof Error) {
      // What is good before stays.
      if (signal.aborted) isWhole = false;
      else await note('KEEP');
      await underWay;
      if (isOver) return;
      if (!isWhole) break;
      throw split;
    }
    if (split === 'PULSE') {
      await note('KEEP');
      if (isOver) return;
      continue;
    }
    for (const row of await checkRows(engine, leased.jobId, split.rows)) {
      rows.push(row);
      length += row.payload.length;
    }
    place = split.place;
    if (rows.length > 0) skippedMs ??= performance.now() - beganAt;
    if (isOver) return;
    // What was skipped is skipped once more by who goes on.
    const isTurnOver =
      performance.now() - beganAt > Math.max(turnMs, 4 * (skippedMs ?? Number.POSITIVE_INFINITY));
    if (signal.aborted || (isTurnOver && othersWait())) {
      isWhole = false;
      break;
    }
    if (rows.length >= batchRows || length >= batchLength || performance.now() - notedAt > noteEveryMs)
      await note('KEEP');
  }
  await note(isWhole ? 'DONE' : 'GIVE_BACK');
  await underWay;
}

/** With the error of the file or its store behind what came before it. */
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

/** With a sign of life whenever nothing has come for a while, as from a slow store: so the lease does not run out. */
async function* pulsed(
  splits: AsyncGenerator<Split, void, undefined>,
): AsyncGenerator<Split | 'PULSE', void, undefined> {
  try {
    for (;;) {
      const next = splits.next();
      next.catch(() => {}); // it is awaited, but maybe not at once
      let timer: NodeJS.Timeout | undefined;
      const silence = () =>
        new Promise<'PULSE'>((resolve) => {
          timer = setTimeout(resolve, noteEveryMs, 'PULSE');
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

/** What somebody has locked is free soon. */
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
