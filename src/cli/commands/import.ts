/** `jobtree import`: a file becomes the items of a job, a row each. */
import type { Client, JobSpec, JobtreeError } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError, describeError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted, orNull, rate, seconds, type Tolerance } from '../figures.ts';
import { abandon } from '../import/abandon.ts';
import { type AddedCounts, addBatches, inBatches, nameLine, toItems } from '../import/add-rows.ts';
import { importByUpload, isForServer, sizeToUpload, uploadAboveBytes } from '../import/by-upload.ts';
import { badFile, type Input, openInput } from '../import/input.ts';
import { type Format, formatOf, type Row, readRows, type UploadFormat } from '../import/rows.ts';
import { existingJob, newJob, newKeyPrefix, type Target } from '../import/target.ts';
import { catchInterruption } from '../interruption.ts';
import { print, printError } from '../output.ts';
import { createProgressDisplay, type ProgressDisplay } from '../progress-display.ts';
import { watch } from './watch.ts';

export interface ImportOptions extends ApiOptions {
  readonly type?: string;
  readonly job?: string;
  readonly format?: UploadFormat;
  readonly delimiter: string;
  readonly dedupeKey?: string;
  readonly serializeKey?: string;
  readonly blockOnFailure?: true;
  readonly maxFailures?: number;
  readonly tolerate?: Tolerance;
  readonly backoff?: number[];
  readonly priority?: number;
  readonly callback?: string[];
  readonly retention?: number | 'never';
  readonly seal: boolean;
  /** Undefined where nobody says so. */
  readonly upload?: boolean;
  readonly watch?: true;
  /** In milliseconds. A server that restarts is away for some seconds; an import of an hour should not end over that. */
  readonly patience: number;
}

/** What a job that exists has already. */
const ofNewJobs = [
  'dedupeKey',
  'blockOnFailure',
  'maxFailures',
  'tolerate',
  'backoff',
  'priority',
  'callback',
  'retention',
] as const satisfies readonly (keyof ImportOptions)[];

export async function importFile(file: string, options: ImportOptions): Promise<number> {
  if ((options.type === undefined) === (options.job === undefined)) {
    throw new CommandError(
      exitCodes.usage,
      'Give either --type, for a new job, or --job, for an existing one.',
    );
  }
  const policy = ofNewJobs.find((name) => options[name] !== undefined);
  if (options.job !== undefined && policy !== undefined) {
    const option = policy.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new CommandError(exitCodes.usage, `--${option} is for new jobs: it can't be combined with --job.`);
  }
  const format = options.format ?? formatOf(file);
  if (format === undefined) {
    throw new CommandError(
      exitCodes.usage,
      `${file}: the name does not tell its format. Add --format csv, ndjson, json or lines.`,
    );
  }
  const byUpload = await isUpload(file, format, options);
  const interruption = catchInterruption();
  const { signal } = interruption;
  const input = byUpload || format === 'json' ? undefined : await openInput(file, signal);
  // A server that is not there from the start is most likely the wrong one, and not worth that patience.
  await withClient(options, (client) => client.jobs({ first: 1, signal }));
  const display = createProgressDisplay(process.stderr, 1_000);
  const onRetry = ({ message }: JobtreeError) =>
    display.show('file', { label: '', share: null, text: `${message} Trying again…` });
  const jobId = await withClient({ url: options.url, retryMs: options.patience, onRetry }, (client) =>
    input === undefined || format === 'json'
      ? importByUpload(client, display, file, toJob(options), { ...options, format, signal })
      : fill(client, display, input, format, options, signal),
  );
  if (jobId === undefined) return interruption.exitCode;
  return options.watch ? watch(jobId, options, interruption) : exitCodes.success;
}

/** Whether the server is to read the file. */
async function isUpload(file: string, format: UploadFormat, options: ImportOptions): Promise<boolean> {
  const isWanted = options.upload ?? (isForServer(file, format) ? true : undefined);
  if (isWanted === false) {
    if (!isForServer(file, format)) return false;
    throw new CommandError(
      exitCodes.usage,
      `${file}: only the server can read such a file, so --no-upload can't be used.`,
    );
  }
  const own = [
    file === '-' && 'standard input',
    options.job !== undefined && '--job',
    options.serializeKey !== undefined && '--serialize-key',
    !options.seal && '--no-seal',
  ].find((reason) => reason !== false);
  if (own === undefined) return isWanted ?? ((await sizeToUpload(file)) ?? 0) > uploadAboveBytes;
  if (isWanted === undefined) return false;
  throw new CommandError(exitCodes.usage, `An upload can't be combined with ${own}.`);
}

/** Gives the id of the job; nothing if the signal ended it. */
async function fill(
  client: Client,
  display: ProgressDisplay,
  input: Input,
  format: Format,
  options: ImportOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const startedAt = performance.now();
  let counts: AddedCounts = { added: 0, duplicates: 0 };
  let target: Target | undefined;
  let sealing = false;
  const onAdded = (next: AddedCounts) => {
    counts = next;
    display.show('file', toRow(input, counts));
  };
  const batches = inBatches(readRows(input, format, options.delimiter));
  try {
    const first = await batches.next(); // a file that is bad from the start makes no job
    if (first.done) throw badFile(input.name, '', 'it has no rows.');
    target = await open(client, first.value, input.name, options, signal);
    const { jobId, isOpen, isOurs, keyPrefix } = target;
    if (isOurs) onAdded({ added: first.value.length, duplicates: 0 });
    if (isOpen) {
      await addBatches({
        client,
        jobId,
        batches: isOurs ? batches : prepend(first.value, batches),
        rows: { keyPrefix, serializeKey: options.serializeKey, fileName: input.name },
        before: counts,
        onAdded,
        signal,
      });
      sealing = options.seal;
      if (sealing) await client.sealJob(target.jobId, { signal });
    }
  } catch (error) {
    display.end();
    const consequence = await abandon(client, { type: options.type, target, counts, sealing, error });
    display.end(); // it may have shown that this took several tries
    if (signal.aborted) {
      printError(`Interrupted. ${consequence ?? 'Nothing was added.'}\n`);
      return undefined;
    }
    const { text, exitCode } = describeError(error);
    throw new CommandError(exitCode, consequence === undefined ? text : `${text}\n${consequence}`);
  } finally {
    await batches.return(); // closes the file, however far it was read
  }
  display.end();
  const ms = performance.now() - startedAt;
  printError(`${target.isOpen ? outcome(counts, ms) : 'The job is already sealed: nothing was added.'}\n`);
  const { jobId } = target;
  print(`${options.json ? JSON.stringify({ jobId, ...counts, seconds: Math.round(ms) / 1_000 }) : jobId}\n`);
  return jobId;
}

/** A new job has the first rows from the start, so that it is not made if one of them is refused. */
async function open(
  client: Client,
  first: readonly Row[],
  fileName: string,
  options: ImportOptions,
  signal: AbortSignal,
): Promise<Target> {
  const { job, serializeKey } = options;
  if (job !== undefined) return existingJob(job, fileName);
  const items = toItems(first, { keyPrefix: newKeyPrefix, serializeKey, fileName });
  try {
    return await newJob(client, { ...toJob(options), items }, fileName, signal);
  } catch (error) {
    throw nameLine(error, first, fileName);
  }
}

function toJob(options: ImportOptions): JobSpec {
  const { type, dedupeKey, maxFailures, tolerate, backoff, priority, blockOnFailure, callback, retention } =
    options;
  const serializeOnFailure = blockOnFailure && ('BLOCK' as const);
  const policies = {
    maxFailuresPerItem: maxFailures,
    ...tolerate,
    backoffMs: backoff,
    priority,
    retentionSeconds: orNull(retention),
    serializeOnFailure,
    callbacks: callback?.map((endpoint) => ({ endpoint })),
  };
  return { type: type ?? '', dedupeKey, ...policies };
}

async function* prepend<T>(
  first: T,
  rest: AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  yield first;
  yield* rest;
}

function toRow(input: Input, counts: AddedCounts) {
  const share = input.size === undefined ? null : Math.min(1, input.bytesRead() / input.size);
  const part = share === null ? '' : `, ${Math.floor(share * 100)}% of the file`;
  return { label: '', share, text: `${inWords(counts)}${part}` };
}

function inWords({ added, duplicates }: AddedCounts): string {
  return `${counted(added, 'item')} added${duplicates === 0 ? '' : `, ${count(duplicates)} already there`}`;
}

function outcome(counts: AddedCounts, ms: number): string {
  const speed = rate(counts.added, ms);
  return `${inWords(counts)} in ${seconds(ms)}${speed === undefined ? '' : ` (${count(speed)} items/s)`}`;
}
