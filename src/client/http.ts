/**
 * Requests over HTTP: one POST each. A request whose response is lost may have been carried out, so it is sent again only if a
 * second time changes nothing, or if it is known that nothing was done.
 */

import { backoffMs, wait } from './backoff.ts';
import type { Credentials } from './credentials.ts';
import type { Document } from './document.ts';
import { hintFor } from './endpoint.ts';
import { dataOf, fromGraphqlErrors, isRefusal, isTransient, JobtreeError, retryAfterMs } from './errors.ts';
import type { Post, PostAnswer } from './post.ts';

const unauthorized = 401;
const contentTooLarge = 413;
const tooManyRequests = 429;
const badGateway = 502;
const serviceUnavailable = 503;
const gatewayTimeout = 504;

/** System error codes for a connection that was never made. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

export interface HttpOptions {
  readonly url: string;
  readonly post: Post;
  readonly credentials: Credentials;
  readonly retryMs: number;
  readonly timeoutMs: number;
  readonly onRetry: ((error: JobtreeError) => void) | undefined;
}

export interface RequestOptions {
  /** Whether carrying it out twice has the same effect as once. */
  readonly repeatable: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Asked before it is sent, which may be long after the call. */
  readonly isWanted?: (() => boolean) | undefined;
}

export class Http {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  async request<R, V>(
    document: Document<R, V>,
    variables: V,
    { repeatable, signal, isWanted }: RequestOptions,
  ): Promise<R> {
    const body = JSON.stringify({ query: document.toString(), variables });
    const giveUpAt = performance.now() + this.#options.retryMs;
    const { credentials } = this.#options;
    let mayBeDone = false;
    for (let failures = 1; ; failures++) {
      let shown: string | undefined;
      try {
        shown = await credentials.authorization();
        if (isWanted?.() === false) throw new DOMException('Nobody waits for it any more.', 'AbortError');
        return await this.#post<R>(body, signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof JobtreeError)) throw error;
        if (isRefusal(error) && credentials.refused(shown)) continue;
        mayBeDone ||= error.outcome === 'UNKNOWN';
        const delay = Math.max(backoffMs(failures), retryAfterMs(error));
        if (!isTransient(error) || performance.now() + delay > giveUpAt) throw lastOf(error, mayBeDone);
        if (mayBeDone && !repeatable) throw notRepeated(error);
        this.#options.onRetry?.(error);
        await wait(delay, signal);
        signal?.throwIfAborted();
      }
    }
  }

  async #post<R>(body: string, signal: AbortSignal | undefined): Promise<R> {
    const { url, post, credentials, timeoutMs } = this.#options;
    const headers = await credentials.headers();
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: PostAnswer;
    try {
      response = await post(url, {
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
        body,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
    } catch (cause) {
      const outcome = neverSent.has(codeOf(cause) ?? '') ? 'NOTHING_DONE' : 'UNKNOWN';
      throw new JobtreeError('UNREACHABLE', `No answer from ${url}: ${describe(cause)}.`, { cause, outcome });
    }
    const { status, retryAfter } = response;
    if (status !== unauthorized) credentials.accepted();
    const answer = parse(response.text);
    if (status === tooManyRequests || status === serviceUnavailable) {
      const text = answer?.errors ? fromGraphqlErrors(answer.errors).message : `${url} answered ${status}.`;
      throw new JobtreeError('UNREACHABLE', text, { outcome: 'NOTHING_DONE', cause: { retryAfter } });
    }
    if (answer == null && status === contentTooLarge)
      throw new JobtreeError(
        'LIMIT_EXCEEDED',
        `The request has ${body.length.toLocaleString('en')} bytes, more than a proxy before ${url} lets through. Split it, or raise the limit of the proxy.`,
      );
    if (answer == null) {
      const unreachable = status === badGateway || status === gatewayTimeout;
      throw new JobtreeError(
        unreachable ? 'UNREACHABLE' : 'BAD_RESPONSE',
        `${url} answered ${status} without a GraphQL response.${hintFor(url)}`,
      );
    }
    return dataOf(
      answer.data,
      answer.errors?.filter((error) => !isOfOneValue(error)),
    ) as R;
  }
}

function parse(text: string): { data?: unknown; errors?: unknown[] } | undefined {
  try {
    const value = JSON.parse(text) as { data?: unknown; errors?: unknown[] } | null;
    return value?.data !== undefined || Array.isArray(value?.errors) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A payload or result that is too deep to be shown is null, with an error; the rest of the answer is good. */
function isOfOneValue(error: unknown): boolean {
  return (error as { extensions?: { code?: unknown } }).extensions?.code === 'TOO_DEEP';
}

/** The error of the last try. It must not claim that nothing was done if an earlier try may have been carried out. */
function lastOf(error: JobtreeError, mayBeDone: boolean): JobtreeError {
  if (!mayBeDone || error.outcome === 'UNKNOWN') return error;
  const { code, message, field, reason } = error;
  const text = `${message} An earlier try may have been carried out.`;
  return new JobtreeError(code, text, { field, reason, outcome: 'UNKNOWN', cause: error });
}

function notRepeated(error: JobtreeError): JobtreeError {
  const advice =
    'It may have been carried out nevertheless, and is not tried again, since that could do it twice.';
  return new JobtreeError(error.code, `${error.message} ${advice}`, { cause: error });
}

/** The system's error code; fetch hides it in the cause of its own error. */
function codeOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return typeof code === 'string' ? code : cause === undefined ? undefined : codeOf(cause);
}

const untrusted = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|(DEPTH_ZERO_)?SELF_SIGNED_CERT)/;

function describe(error: unknown): string {
  const code = codeOf(error);
  if (code !== undefined && untrusted.test(code))
    return `its certificate is not trusted (${code}). It must be for this host, by an authority that this machine knows, or that NODE_EXTRA_CA_CERTS names (a file in PEM)`;
  if (code !== undefined && code in inWords) return `${code} (${inWords[code]})`;
  return code ?? (error instanceof Error ? error.message : String(error));
}

/** What is usually behind the codes that do not say it. */
const inWords: Readonly<Record<string, string>> = {
  EPROTO: 'is it http, and not https?',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name of the host could not be looked up',
};
