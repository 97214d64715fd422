/** Creates a job with any number of items: those that do not fit into its request are added after it. */
import * as operations from '../generated/operations.ts';
import { addInBatches, split } from './add-items.ts';
import { JobtreeError, payloadOf } from './errors.ts';
import { type JobSpec, toJobInput } from './job-spec.ts';
import { isMergeable, type MergedCreations } from './merged-creations.ts';
import type { Send } from './options.ts';
import { sendTraced } from './tracing.ts';
import type { CallOptions } from './types.ts';

/** @throws JobtreeError INVALID_INPUT, with the path to what is wrong */
export async function createJob(
  send: Send,
  job: JobSpec,
  { signal }: CallOptions,
  merged?: MergedCreations,
): Promise<{ id: string; created: boolean }> {
  const [first, ...rest] = split(job.items ?? []);
  const input = { ...toJobInput({ ...job, items: undefined }), items: first };
  const isSplit = rest.length > 0;
  if (isSplit && job.file !== undefined) {
    const message = 'file can only follow items that fit into one request: up to 1,000, and 4 MB.';
    throw new JobtreeError('INVALID_INPUT', message, { field: 'file' });
  }
  if (isSplit) {
    input.sealed = false;
    // So that a call that is repeated adds what an earlier one did not, and nothing twice.
    for (const [i, item] of [first ?? [], ...rest].flat().entries()) item.dedupeKey ??= `items[${i}]`;
  }
  const count = job.items?.length ?? 0;
  return sendTraced({ type: job.type, count }, async (traceContext) => {
    if (
      merged !== undefined &&
      traceContext === undefined &&
      signal === undefined &&
      !isSplit &&
      isMergeable(input)
    )
      return merged.create(input);
    const repeatable = job.dedupeKey != null;
    const variables = { input: traceContext === undefined ? input : { ...input, traceContext } };
    const { createJob } = await send(operations.CreateJob, variables, { signal }, repeatable);
    const { created, job: root } = payloadOf(createJob);
    if (!isSplit) return { id: root.id, created };
    try {
      await addRest();
    } catch (error) {
      // Somebody has made it and sealed it, so it is whole.
      const isWhole = !created && error instanceof JobtreeError && error.code === 'JOB_SEALED';
      if (!isWhole) throw unfinished(error, root.id);
    }
    return { id: root.id, created };

    async function addRest(): Promise<void> {
      const start = first?.length ?? 0;
      const options = { start, of: count, seal: false, all: false, concurrency: 1, signal, traceContext };
      const { entries } = await addInBatches(send, root.id, rest, options);
      const invalid = entries.find(({ status }) => status === 'INVALID');
      if (invalid !== undefined)
        throw new JobtreeError('INVALID_INPUT', invalid.error ?? '', { field: `items[${invalid.index}]` });
      if (job.sealed !== true) return;
      payloadOf((await send(operations.SealJob, { input: { jobId: root.id } }, { signal }, true)).sealJob);
    }
  });
}

/** The job exists, and has not all of its items. */
function unfinished(error: unknown, id: string): unknown {
  if (!(error instanceof JobtreeError)) return error;
  const { code, field } = error;
  const message = `${error.message} The job ${id} was created, and is open: it lacks some of its items. With a dedupeKey, the same call continues.`;
  return new JobtreeError(code, message, { field, outcome: 'UNKNOWN', cause: error });
}
