/**
 * Whom the dashboard asks when somebody signs in: the issuer, and the endpoints in its metadata, which may have other origins. While the metadata
 * can't be read, only the issuer is known.
 */
import { fetchJson } from './fetch-json.ts';

const fetchWithinMs = 3_000;
const maxBytes = 100_000;
/** How long metadata counts; and how long nobody asks for it again after a failure. */
const keptMs = { found: 600_000, failed: 10_000 };
const endpoints = ['token_endpoint', 'revocation_endpoint'] as const;

/** Returns a function that gives these origins; however many call it at once, the issuer is asked once. */
export function createIssuerOrigins(issuer: string): () => Promise<readonly string[]> {
  const { origin, protocol } = new URL(issuer);
  const metadata = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  let known: Promise<readonly string[]> | undefined;
  let until = 0;

  const read = async () => {
    const found = (await fetchJson(metadata, { withinMs: fetchWithinMs, maxBytes })) as Record<
      string,
      unknown
    >;
    const origins = endpoints.flatMap((name) => originOf(found[name], protocol));
    return [...new Set([origin, ...origins])];
  };
  return () => {
    if (known !== undefined && performance.now() < until) return known;
    until = performance.now() + keptMs.found;
    known = read().catch(() => {
      until = performance.now() + keptMs.failed;
      return [origin];
    });
    return known;
  };
}

/** Names and addresses. In a Content-Security-Policy, some other characters that URLs may have mean more than one host. */
const host = /^([\w.-]+|\[[\da-f:.]+\])$/;

/** None if it is not an address to which the issuer could send anybody. */
function originOf(endpoint: unknown, protocol: string): string[] {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return [];
  const url = new URL(endpoint);
  const isSafe = url.protocol === 'https:' || url.protocol === protocol;
  return isSafe && host.test(url.hostname) ? [url.origin] : [];
}
