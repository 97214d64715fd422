/** Creates many jobs in as many requests as they need, with an answer for each. */
import type { JobInput } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { createJob } from './create-job.ts';
import { isTransient, JobtreeError, payloadOf, refusal } from './errors.ts';
import { checkList, type JobSpec, toJobInput } from './job-spec.ts';
import { maxEntries, maxItemsOfCreation, maxJobsOfCreation, maxUnits } from './limits.ts';
import type { Send } from './options.ts';
import { sendTraced } from './tracing.ts';
import type { CallOptions } from './types.ts';

/** The answer to one job of `createJobs`: its root's id, or an error. */
export type CreateJobsAnswer =
  | {
      readonly id: string;
      /** False if there was a job of its type with its dedupe key, which this then is. */
      readonly created: boolean;
      readonly error?: undefined;
    }
  | { readonly id?: undefined; readonly created: false; readonly error: JobtreeError };

/** A job of a request. One that needs several requests is alone in its batch, and has no input. */
interface Entry {
  readonly index: number;
  readonly input: JobInput | undefined;
}

function refused(error: unknown): CreateJobsAnswer {
  if (!(error instanceof JobtreeError)) throw error;
  return { created: false, error };
}

/** @throws JobtreeError if the first request fails; later ones leave their error with the jobs that they had, and end the call */
export async function createJobs(
  send: Send,
  jobs: readonly JobSpec[],
  { signal }: CallOptions,
): Promise<CreateJobsAnswer[]> {
  checkList(jobs, 'jobs');
  const answers = new Map<number, CreateJobsAnswer>();
  let isAnswered = false;
  let failure: JobtreeError | undefined;
  for (const batch of batchesOf(jobs, answers)) {
    signal?.throwIfAborted();
    try {
      if (failure !== undefined) throw failure;
      const found = await sendBatch(send, jobs, batch, signal);
      for (const [k, { index }] of batch.entries()) answers.set(index, found[k] as CreateJobsAnswer);
      isAnswered = true;
    } catch (error) {
      if (!(error instanceof JobtreeError) || !isAnswered) throw error;
      for (const { index } of batch) answers.set(index, refused(error));
      const message = `Not sent, since an earlier request failed: ${error.message}`;
      failure ??= new JobtreeError(error.code, message, { outcome: 'NOTHING_DONE', cause: error });
    }
  }
  return jobs.map((_, i) => answers.get(i) as CreateJobsAnswer);
}

/** The jobs of each request. Those that JSON can't carry are refused. */
function* batchesOf(jobs: readonly JobSpec[], answers: Map<number, CreateJobsAnswer>): Generator<Entry[]> {
  let batch: Entry[] = [];
  let [nodes, items, units] = [0, 0, 0];
  for (const [index, job] of jobs.entries()) {
    let input: JobInput;
    try {
      input = toJobInput(job, `jobs[${index}].`);
    } catch (error) {
      answers.set(index, refused(error));
      continue;
    }
    const count = countOf(input);
    const size = JSON.stringify(input).length;
    const isLarge = (job.items?.length ?? 0) > maxEntries || size > maxUnits;
    const isFull =
      batch.length === maxEntries ||
      nodes + count.jobs > maxJobsOfCreation ||
      items + count.items > maxItemsOfCreation ||
      units + size > maxUnits;
    if (batch.length > 0 && (isLarge || isFull)) {
      yield batch;
      batch = [];
      [nodes, items, units] = [0, 0, 0];
    }
    if (isLarge) yield [{ index, input: undefined }];
    else {
      batch.push({ index, input });
      nodes += count.jobs;
      items += count.items;
      units += size;
    }
  }
  if (batch.length > 0) yield batch;
}

/** How many jobs and items a tree has. */
function countOf({ items, children }: JobInput): { jobs: number; items: number } {
  const below = (children ?? []).map(countOf);
  return {
    jobs: below.reduce((sum, { jobs }) => sum + jobs, 1),
    items: below.reduce((sum, { items }) => sum + items, items?.length ?? 0),
  };
}

async function sendBatch(
  send: Send,
  jobs: readonly JobSpec[],
  batch: readonly Entry[],
  signal: AbortSignal | undefined,
): Promise<CreateJobsAnswer[]> {
  const given = batch.flatMap(({ input }) => input ?? []);
  const [{ index }] = batch as [Entry];
  if (given.length === 0)
    // What is wrong with a job is its own; that a request failed is not.
    return [
      await createJob(send, jobs[index] as JobSpec, { signal }).catch((error: unknown) => {
        if (!(error instanceof JobtreeError) || isTransient(error)) throw error;
        const { code, message, field, outcome } = error;
        if (field === undefined) return refused(error);
        const at = `jobs[${index}].`;
        const text = message.startsWith(field) ? at + message : message;
        return refused(new JobtreeError(code, text, { field: at + field, outcome, cause: error }));
      }),
    ];
  return sendTraced({ count: batch.length }, async (traceContext) => {
    const inputs = traceContext === undefined ? given : given.map((input) => ({ ...input, traceContext }));
    const repeatable = inputs.every(({ dedupeKey }) => dedupeKey != null);
    const data = await send(operations.CreateJobs, { inputs }, { signal }, repeatable);
    return payloadOf(data.createJobs).entries.map(({ jobId, created, error }, k) => {
      if (error == null) return { id: jobId ?? '', created };
      // The server counts within its request; the caller counts within all jobs.
      const own = (text: string) => text.replace(/^inputs\[\d+\]/, `jobs[${batch[k]?.index}]`);
      const field = error.field == null ? undefined : own(error.field);
      return refused(refusal(error.code, own(error.message), { field }));
    });
  });
}
