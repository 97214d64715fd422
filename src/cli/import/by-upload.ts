/** An import that the server does: the file goes there as it is, and a job is made of it, so that nothing here has to wait for its end. */
import { stat } from 'node:fs/promises';
import { type Client, type FileSpec, type JobSpec, JobtreeError } from '../../client/index.ts';
import { CommandError, describeError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, seconds } from '../figures.ts';
import { print, printError } from '../output.ts';
import type { ProgressDisplay } from '../progress-display.ts';
import { mayBeMade } from './abandon.ts';
import { badFile } from './input.ts';
import { fileFormats, type UploadFormat } from './rows.ts';
import { aWhileAfter } from './target.ts';

/** What is larger is uploaded, unless somebody says otherwise. */
export const uploadAboveBytes = 10_000_000;

/** Only the server reads these. */
export const isForServer = (file: string, format: UploadFormat | undefined) =>
  format === 'json' || /\.(gz|zst)$/i.test(file);

export async function sizeToUpload(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}

export async function importByUpload(
  client: Client,
  display: ProgressDisplay,
  file: string,
  job: JobSpec,
  options: { format: UploadFormat; delimiter: string; json?: true | undefined; signal: AbortSignal },
): Promise<string | undefined> {
  const { format, delimiter, json, signal } = options;
  const startedAt = performance.now();
  let isCreating = false;
  try {
    if ((await sizeToUpload(file)) === undefined) throw badFile(file, '', 'there is no such file.');
    const known =
      job.dedupeKey === undefined ? null : await client.jobByDedupeKey(job.type, job.dedupeKey, { signal });
    if (known !== null) {
      display.end();
      printError('A job with this dedupe key already exists: nothing was sent.\n');
      print(`${json ? JSON.stringify({ jobId: known.id, created: false }) : known.id}\n`);
      return known.id;
    }
    const { id: uploadId, size } = await client.upload(file, {
      signal,
      onProgress: (bytes, size = bytes) => {
        const share = bytes / Math.max(1, size);
        display.show('file', {
          label: '',
          share,
          text: `${count(bytes)} bytes sent, ${Math.floor(share * 100)}%`,
        });
      },
    });
    const spec: FileSpec = { uploadId, format: fileFormats[format], ...(format === 'csv' && { delimiter }) };
    isCreating = true;
    const patience = { signal: aWhileAfter(signal) };
    const { id: jobId, created } = await client.createJob({ ...job, file: spec }, patience);
    display.end();
    if (signal.aborted && created) {
      await client.cancelJob(jobId);
      printError(`Interrupted. The job was cancelled (${jobId}).\n`);
      return undefined;
    }
    const ms = performance.now() - startedAt;
    printError(
      created
        ? `${count(size)} bytes sent in ${seconds(ms)}. The server is adding the items; to follow it: \`jobtree watch ${jobId}\`\n`
        : 'A job with this dedupe key already exists: nothing was added.\n',
    );
    print(
      `${json ? JSON.stringify({ jobId, uploadId, bytes: size, created, seconds: Math.round(ms) / 1_000 }) : jobId}\n`,
    );
    return jobId;
  } catch (error) {
    display.end();
    if (signal.aborted) {
      printError(
        `Interrupted. ${isCreating ? mayBeMade(job.type) : 'The server removes what was sent after a while.'}\n`,
      );
      return undefined;
    }
    if (error instanceof JobtreeError && error.code === 'LIMIT_EXCEEDED')
      throw new CommandError(exitCodes.badFile, `${file}: ${error.message}`);
    const { text, exitCode } = describeError(error);
    throw new CommandError(exitCode, text);
  }
}
