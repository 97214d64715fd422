/**
 * What pages of other origins may send and read: those of `JOBTREE_ALLOWED_ORIGINS`, on every path but the page of GraphiQL. Whether a page may use
 * the API at all is the guard's to say (`isOfAllowedPage`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

const methods = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS';
const exposedHeaders = [
  'retry-after',
  'ratelimit',
  'ratelimit-policy',
  'jobtree-complete',
  'location',
  'repr-digest',
  'tus-resumable',
  'tus-version',
  'tus-extension',
  'tus-max-size',
  'upload-length',
  'upload-defer-length',
  'upload-offset',
  'upload-expires',
].join(', ');

/** For the answer, whatever it is, refusals too: without it a page only learns that something failed. */
export function shareWithPage({ method, headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers;
  if (origin === undefined) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', exposedHeaders);
  response.setHeader('vary', 'origin');
  if (method !== 'OPTIONS') return;
  response.setHeader('access-control-allow-methods', methods);
  // Proxies want headers of their own.
  const asked = headers['access-control-request-headers'];
  if (asked !== undefined) response.setHeader('access-control-allow-headers', asked);
}
