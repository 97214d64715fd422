/** Following one job, without a client: for pages, and wherever nothing else of jobtree is needed. */
import type { ClientOptions } from './client.ts';
import { Credentials } from './credentials.ts';
import { endpoint } from './endpoint.ts';
import { Socket } from './socket.ts';
import type { CallOptions, JobProgress } from './types.ts';
import * as watches from './watches.ts';

/** Where the job is, and when to stop. */
export interface WatchJobOptions
  extends CallOptions,
    Pick<ClientOptions, 'url' | 'token' | 'headers' | 'webSocketImpl'> {}

/**
 * Follows a job over a WebSocket of its own, in browsers as in Node: its state now, then newer ones (a slow reader skips
 * some), at last the final one. A lost connection is replaced, without end: abort `signal` to give up, which ends it without
 * an error. To follow many jobs over one WebSocket use a `Client`, whose `watchJob` takes a `token` for each.
 *
 * @throws JobtreeError NOT_FOUND, INVALID_INPUT, UNAUTHENTICATED
 */
export async function* watchJob(
  jobId: string,
  { url, token, headers = {}, webSocketImpl, signal = new AbortController().signal }: WatchJobOptions = {},
): AsyncGenerator<JobProgress, void, undefined> {
  const socket = new Socket({
    url: endpoint(url),
    headers,
    credentials: new Credentials(headers, token),
    webSocketImpl,
  });
  try {
    yield* watches.watchJob(socket, jobId, signal);
  } finally {
    await socket.close();
  }
}
