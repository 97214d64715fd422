/** Follows one job without a client: for pages, and wherever nothing else of jobtree is needed. */

import { Credentials } from './credentials.ts';
import { endpoint } from './endpoint.ts';
import type { ClientOptions } from './options.ts';
import { Socket } from './socket.ts';
import type { CallOptions, JobProgress } from './types.ts';
import * as watches from './watches.ts';

/** Where the job is, and when to stop. */
export interface WatchJobOptions
  extends CallOptions,
    Pick<ClientOptions, 'url' | 'token' | 'headers' | 'webSocketImpl'> {}

/**
 * Follows a job over its own WebSocket, in browsers and in Node.js: yields its current state, then newer ones (a slow reader
 * skips some), and the final one last. A lost connection is replaced without limit: abort `signal` to give up, which
 * throws its reason. To follow many jobs over one WebSocket, use a `Client`, whose `watchJob` accepts a `token` for each.
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
