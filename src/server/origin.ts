/**
 * Which web pages may use the API. A page that somebody happens to visit can send requests to 127.0.0.1 from their browser,
 * so pages of other origins are refused unless they are named. Programs send no Origin and are not concerned.
 */
import type { IncomingMessage } from 'node:http';

export function createOriginCheck(allowed: readonly string[]): (request: IncomingMessage) => boolean {
  return ({ headers: { origin, host } }) => {
    if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return true;
    return URL.canParse(origin) && new URL(origin).host === host;
  };
}
