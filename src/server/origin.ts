/**
 * Which web pages may use the API. A page that somebody happens to visit can send requests to 127.0.0.1 from their browser,
 * so pages of other origins are refused unless they are named. A page's own origin counts only under the name of this
 * machine, since any name can be made to lead to 127.0.0.1. Programs send no Origin and are not concerned.
 */
import type { IncomingMessage } from 'node:http';

export function createOriginCheck(
  allowed: readonly string[],
  ownHost: string,
): (request: IncomingMessage) => boolean {
  return ({ headers: { origin, host } }) => {
    if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return true;
    if (!URL.canParse(origin)) return false;
    const page = new URL(origin);
    return page.host === host && ['localhost', '127.0.0.1', '[::1]', ownHost].includes(page.hostname);
  };
}
