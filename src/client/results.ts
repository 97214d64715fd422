/** Exports the results of a tree line by line, however many there are: an interrupted request resumes where it stopped. */
import { backoffMs, wait } from './backoff.ts';
import type { Credentials } from './credentials.ts';
import { fromGraphqlErrors, isRefusal, isTransient, JobtreeError } from './errors.ts';
import { callOptions, refuseUnknown } from './options.ts';
import type { CallOptions } from './types.ts';

export interface ExportOptions extends CallOptions {
  /** The id of the last item that you have; the export begins after it. Default: from the start. */
  readonly after?: string | undefined;
}

const exportOptions = { ...callOptions, after: true } satisfies Record<keyof ExportOptions, true>;

export interface ResultLines {
  /** Whether the tree was complete when the export began, so that these are all of its results. */
  readonly complete: boolean;
  /**
   * Each line is a JSON text, `{"itemId": …, "payload": …, "result": …}`, with all digits, and its members in the order in which
   * they were written.
   */
  readonly lines: AsyncIterable<string>;
}

export interface ResultsEndpoint {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly credentials: Credentials;
  readonly retryMs: number;
}

export async function exportResults(
  endpoint: ResultsEndpoint,
  jobId: string,
  options: ExportOptions,
): Promise<ResultLines> {
  refuseUnknown(options, exportOptions);
  const { after, signal } = options;
  const first = await open(endpoint, jobId, after, signal);
  return {
    complete: first.headers.get('jobtree-complete') === 'true',
    lines: readLines(first, (last) => open(endpoint, jobId, last ?? after, signal), endpoint.retryMs, signal),
  };
}

async function* readLines(
  first: Response,
  goOn: (last: string | undefined) => Promise<Response>,
  retryMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  let response = first;
  let last: string | undefined;
  let movedAt = performance.now();
  for (let failures = 1; ; failures++) {
    try {
      for await (const line of splitLines(response)) {
        yield line;
        last = itemIdIn(line);
        [movedAt, failures] = [performance.now(), 0];
      }
      return;
    } catch (cause) {
      signal?.throwIfAborted();
      if (performance.now() - movedAt > retryMs) {
        throw new JobtreeError('UNREACHABLE', 'The results broke off, and did not go on.', { cause });
      }
      await wait(backoffMs(failures), signal);
      response = await goOn(last);
    }
  }
}

/** Yields whole lines only: a line in which the connection breaks is dropped. */
async function* splitLines({ body }: Response): AsyncGenerator<string, void, undefined> {
  let rest = '';
  if (body === null) return;
  for await (const text of body.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** The item's id is the first member of each line. */
function itemIdIn(line: string): string | undefined {
  return /^{"itemId":"([^"]*)"/.exec(line)?.[1];
}

/** Resolves when the answer begins. */
async function open(
  endpoint: ResultsEndpoint,
  jobId: string,
  after: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const giveUpAt = performance.now() + endpoint.retryMs;
  for (let failures = 1; ; failures++) {
    let shown: string | undefined;
    try {
      shown = await endpoint.credentials.authorization();
      return await ask(endpoint, jobId, after, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (isRefusal(error) && endpoint.credentials.refused(shown)) continue;
      const delay = backoffMs(failures);
      if (!(error instanceof JobtreeError) || !isTransient(error) || performance.now() + delay > giveUpAt)
        throw error;
      await wait(delay, signal);
    }
  }
}

async function ask(
  { url, fetch, credentials }: ResultsEndpoint,
  jobId: string,
  after: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  // The export is next to the API, wherever that is.
  const address = new URL(`api/jobs/${encodeURIComponent(jobId)}/results`, url);
  if (after !== undefined) address.searchParams.set('after', after);
  const headers = await credentials.headers();
  let response: Response;
  try {
    response = await fetch(address, { headers, signal: signal ?? null });
  } catch (cause) {
    throw new JobtreeError('UNREACHABLE', `No answer from ${address.origin}.`, { cause });
  }
  if (response.status !== 401) credentials.accepted();
  if (response.ok) return response;
  const text = await response.text();
  throw (
    toError(response.status, text) ??
    new JobtreeError('BAD_RESPONSE', `${address.origin} answered ${response.status}.`)
  );
}

function toError(status: number, text: string): JobtreeError | undefined {
  if (status === 429 || status >= 502)
    return new JobtreeError('UNREACHABLE', `The server answered ${status}.`);
  try {
    const { errors } = JSON.parse(text) as { errors?: unknown };
    return Array.isArray(errors) ? fromGraphqlErrors(errors) : undefined;
  } catch {
    return undefined;
  }
}
