/**
 * Requests over HTTP: one POST each. A request whose response is lost may have been carried out, so it is only sent
 * again if that changes nothing, or if it can't have arrived.
 */
import type { TypedDocumentString } from '../generated/graphql/graphql.ts';
import { backoffMs, wait } from './backoff.ts';
import { fromGraphqlErrors, isTransient, JobtreeError } from './errors.ts';
import type { Post, PostAnswer } from './post.ts';

export interface HttpOptions {
  readonly url: string;
  readonly post: Post;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryMs: number;
  readonly timeoutMs: number;
}

export interface RequestOptions {
  /** Whether carrying it out twice is the same as once. */
  readonly repeatable: boolean;
  readonly signal?: AbortSignal | undefined;
}

export class Http {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  async request<R, V>(
    document: TypedDocumentString<R, V>,
    variables: V,
    { repeatable, signal }: RequestOptions,
  ): Promise<R> {
    const body = JSON.stringify({ query: document.toString(), variables });
    const giveUpAt = performance.now() + this.#options.retryMs;
    for (let failures = 1; ; failures++) {
      try {
        return await this.#post<R>(body, signal);
      } catch (error) {
        signal?.throwIfAborted();
        const again = error instanceof JobtreeError && isTransient(error) && (repeatable || neverSent(error));
        const delay = backoffMs(failures);
        if (!again || performance.now() + delay > giveUpAt) throw error;
        await wait(delay, signal);
        signal?.throwIfAborted();
      }
    }
  }

  async #post<R>(body: string, signal: AbortSignal | undefined): Promise<R> {
    const { url, post, headers, timeoutMs } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: PostAnswer;
    try {
      response = await post(url, {
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
        body,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
    } catch (cause) {
      throw new JobtreeError('UNREACHABLE', `No answer from ${url}: ${describe(cause)}.`, { cause });
    }
    const answer = parse(response.text);
    if (answer == null) {
      const unreachable = response.status >= 502 && response.status <= 504;
      throw new JobtreeError(
        unreachable ? 'UNREACHABLE' : 'BAD_RESPONSE',
        `${url} answered ${response.status} without a GraphQL response.`,
      );
    }
    const errors = answer.errors?.filter((error) => !isOfOneValue(error)) ?? [];
    if (errors.length > 0) throw fromGraphqlErrors(errors);
    return answer.data as R;
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

/** A payload or result that is too deep to be shown is null, and keeps nothing else from being shown. */
function isOfOneValue(error: unknown): boolean {
  return (error as { extensions?: { code?: unknown } }).extensions?.code === 'TOO_DEEP';
}

function neverSent(error: JobtreeError): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UNAVAILABLE'].includes(codeOf(error.cause) ?? '');
}

/** The system's code; it hides in the cause of fetch's own error. */
function codeOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return typeof code === 'string' ? code : cause === undefined ? undefined : codeOf(cause);
}

function describe(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.message : String(error));
}
