/** Uploads as any HTTP client sends them. */
import { createHash, randomBytes } from 'node:crypto';
import type { Client, FileSpec, JobWithChildren } from '../../src/client/index.ts';

export const sha256Of = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest();
export const digestField = (sha256: Buffer) => `sha-256=:${sha256.toString('base64')}:`;

export interface UploadAnswer {
  readonly status: number;
  readonly body: any;
  readonly headers: Headers;
}

/** One POST; `url` is that of the API. */
export async function postFile(
  url: string,
  bytes: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<UploadAnswer> {
  const response = await fetch(new URL('api/uploads', url), {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', ...headers },
    body: bytes as Uint8Array<ArrayBuffer>,
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** A job that is made of a file, once that is all over. */
export async function importBytes(
  url: string,
  client: Client,
  bytes: string | Uint8Array,
  file: Omit<FileSpec, 'uploadId'>,
): Promise<{ job: JobWithChildren; payloads: unknown[]; bad: [string, string, unknown][] }> {
  const { body } = await postFile(url, bytes);
  const type = `file-${randomBytes(4).toString('hex')}`;
  const { id } = await client.createJob({ type, file: { ...file, uploadId: body.id } });
  const job = await imported(client, id);
  const { nodes } = await client.items(id, { first: 1_000 });
  return {
    job,
    payloads: nodes.map(({ payload }) => payload),
    bad: nodes.flatMap(({ failures, payload }) =>
      failures.map(({ code, message }): [string, string, unknown] => [code, message, payload]),
    ),
  };
}

/** The job, once its file is read, or can't be. */
export async function imported(client: Client, id: string): Promise<JobWithChildren> {
  for (;;) {
    const job = await client.job(id);
    // Once more: what else it says was read before that.
    if (job.import?.finishedAt) return client.job(id);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
