/** `jobtree import`: a file becomes the items of a job, a row each. */
import { randomUUID } from 'node:crypto';
import type { Client } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted, rate, seconds } from '../figures.ts';
import { type AddedCounts, addRows } from '../import/add-rows.ts';
import { type Input, openInput } from '../import/input.ts';
import { type Format, formatOf, readRows } from '../import/rows.ts';
import { catchInterruption } from '../interruption.ts';
import { createProgressDisplay } from '../progress-display.ts';
import { watch } from './watch.ts';

export interface ImportOptions extends ApiOptions {
  readonly type?: string;
  readonly job?: string;
  readonly format?: Format;
  readonly delimiter: string;
  readonly dedupeKey?: string;
  readonly maxFailures?: number;
  readonly backoff?: number[];
  readonly priority?: number;
  readonly seal: boolean;
  readonly watch?: true;
}

/** A server that restarts is away for some seconds; an import of an hour should not end over that. */
const retryMs = 60_000;

export async function importFile(file: string, options: ImportOptions): Promise<number> {
  if ((options.type === undefined) === (options.job === undefined)) {
    throw new CommandError(exitCodes.usage, 'Give either --type, for a new job, or --job, for one that exists.');
  }
  const format = options.format ?? formatOf(file);
  if (format === undefined) {
    throw new CommandError(exitCodes.usage, `${file}: say what it is with --format csv, ndjson or lines.`);
  }
  const input = await openInput(file);
  const interruption = catchInterruption();
  const result = await withClient({ url: options.url, retryMs }, (client) =>
    run(client, input, format, options, interruption.signal),
  );
  if (result === 'interrupted') return interruption.exitCode;
  return options.watch ? watch(result.jobId, options, interruption) : exitCodes.success;
}

async function run(
  client: Client,
  input: Input,
  format: Format,
  options: ImportOptions,
  signal: AbortSignal,
): Promise<{ jobId: string } | 'interrupted'> {
  const startedAt = performance.now();
  const target = new Target(client, options);
  const display = createProgressDisplay(process.stderr, 1_000);
  let counts: AddedCounts = { added: 0, duplicates: 0 };
  const show = () => {
    const share = input.size === undefined ? null : Math.min(1, input.bytesRead() / input.size);
    display.show('file', { label: '', share, text: `${progressText(counts)}${share === null ? '' : `, ${Math.floor(share * 100)}% of the file`}` });
  };
  try {
    const rows = readRows(input, format, options.delimiter);
    const onAdded = (next: AddedCounts) => {
      counts = next;
      show();
    };
    const openJob = () => target.open(signal);
    await addRows({ client, input, rows, openJob, keyPrefix: target.keyPrefix, onAdded, signal });
    if (options.seal) await client.sealJob(target.jobId, { signal });
  } catch (error) {
    display.end();
    if (error instanceof AlreadyImported) {
      process.stderr.write(`The job with this dedupe key is sealed already; nothing was added.\n`);
      print(options, { jobId: target.jobId, added: 0, duplicates: 0, seconds: 0 });
      return { jobId: target.jobId };
    }
    const consequence = await target.abandon(counts);
    if (!signal.aborted) throw withConsequence(error, consequence);
    process.stderr.write(`Interrupted. ${consequence}\n`);
    return 'interrupted';
  }
  display.end();
  const ms = performance.now() - startedAt;
  const speed = rate(counts.added, ms);
  process.stderr.write(
    `${progressText(counts)} in ${seconds(ms)}${speed === undefined ? '' : ` (${count(speed)} items/s)`}\n`,
  );
  print(options, { jobId: target.jobId, ...counts, seconds: Math.round(ms) / 1_000 });
  return { jobId: target.jobId };
}

/** The job that the items go to. */
class Target {
  /** Keys with it find their items again: in the job of a dedupe key also those of an import that was broken off. */
  readonly keyPrefix: string;
  readonly #client: Client;
  readonly #options: ImportOptions;
  #jobId: string | undefined;
  #created = false;

  constructor(client: Client, options: ImportOptions) {
    this.#client = client;
    this.#options = options;
    this.keyPrefix = options.job === undefined ? 'line ' : `${randomUUID()} line `;
  }

  get jobId(): string {
    return this.#jobId ?? '';
  }

  async open(signal: AbortSignal): Promise<string> {
    const { type, job, dedupeKey, maxFailures, backoff, priority } = this.#options;
    if (job !== undefined) {
      this.#jobId = job;
      return job;
    }
    const spec = {
      type: type ?? '',
      // With a key the creation can be repeated when its answer was lost.
      dedupeKey: dedupeKey ?? `import ${randomUUID()}`,
      maxFailuresPerItem: maxFailures,
      backoffMs: backoff,
      priority,
    };
    const { id, created } = await this.#client.createJob(spec, { signal });
    this.#jobId = id;
    this.#created = created;
    if (!created && dedupeKey !== undefined) await this.#checkOpen(id, signal);
    else this.#created = true;
    return id;
  }

  /** The job of the dedupe key exists: an import that was broken off goes on, one that is done is not repeated. */
  async #checkOpen(id: string, signal: AbortSignal): Promise<void> {
    const { sealedAt, cancelledAt } = await this.#client.job(id, { signal });
    if (cancelledAt != null) {
      const message = `The job with this dedupe key, ${id}, was cancelled: take another key, or delete the job.`;
      throw new CommandError(exitCodes.failure, message);
    }
    if (sealedAt != null) throw new AlreadyImported();
  }

  /** Leaves nothing half done, as far as it is ours; says what that came to. */
  async abandon({ added }: AddedCounts): Promise<string> {
    if (this.#jobId === undefined) return 'Nothing was added.';
    const soFar = `${counted(added, 'item')} had been added`;
    if (!this.#created) return `${soFar} to ${this.#jobId}, which stays as it is.`;
    try {
      await this.#client.cancelJob(this.#jobId);
      return `${this.#jobId} is cancelled; ${soFar}.`;
    } catch (error) {
      return `${this.#jobId} could not be cancelled and stays unsealed (${(error as Error).message}); ${soFar}.`;
    }
  }
}

class AlreadyImported extends Error {}

function withConsequence(error: unknown, consequence: string): unknown {
  if (error instanceof Error) error.message = `${error.message} ${consequence}`;
  return error;
}

function progressText({ added, duplicates }: AddedCounts): string {
  return `${counted(added, 'item')} added${duplicates === 0 ? '' : `, ${count(duplicates)} there before`}`;
}

function print({ json }: ImportOptions, result: { jobId: string } & AddedCounts & { seconds: number }): void {
  process.stdout.write(`${json ? JSON.stringify(result) : result.jobId}\n`);
}
