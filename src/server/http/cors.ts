/**
 * CORS: what pages of the origins in `JOBTREE_ALLOWED_ORIGINS` may send and read, on every path but GraphiQL's page. Whether a page may use the
 * API at all is decided by the guard (`isOfAllowedPage`).
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

/** Set on every answer, refusals too: without these headers a page only learns that something failed. */
export function shareWithPage({ method, headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers;
  if (origin === undefined) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', exposedHeaders);
  response.setHeader('vary', 'origin');
  if (method !== 'OPTIONS') return;
  response.setHeader('access-control-allow-methods', methods);
  // Proxies require headers of their own, so whatever the page asks to send is allowed.
  const asked = headers['access-control-request-headers'];
  if (asked !== undefined) response.setHeader('access-control-allow-headers', asked);
}
