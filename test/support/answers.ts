/** What is wrong with an operation, as it is answered at first over each way to the API: nothing, if it is as it should be. */
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';

type Headers = Record<string, string>;

export interface AnswerError {
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: unknown };
}

export function post(url: string, query: string, headers: Headers, accept = 'application/json') {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: JSON.stringify({ query }),
  });
}

const errorsOf = (answer: unknown) => (answer as { errors?: readonly AnswerError[] }).errors ?? [];

export const codesOf = (errors: readonly AnswerError[]): unknown[] =>
  errors.map(({ extensions }) => extensions?.code);

export async function errorsOverHttp(
  url: string,
  query: string,
  headers: Headers,
): Promise<readonly AnswerError[]> {
  return errorsOf(await (await post(url, query, headers)).json());
}

/** Of what an event stream says first. */
export async function errorsOverEvents(
  url: string,
  query: string,
  headers: Headers,
): Promise<readonly AnswerError[]> {
  const response = await post(url, query, headers, 'text/event-stream');
  if (response.status !== 200) return errorsOf(await response.json());
  let text = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const data = /^data: (\{.*\})$/m.exec(text)?.[1];
    if (data !== undefined) return errorsOf(JSON.parse(data));
  }
  throw new Error('The stream has said nothing.');
}

export function openSocket(url: string, headers?: Headers) {
  return createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazyCloseTimeout: 60_000,
    ...(headers && { connectionParams: headers }),
  });
}

export function errorsOverSocket(
  client: ReturnType<typeof openSocket>,
  query: string,
): Promise<readonly AnswerError[]> {
  return new Promise((resolve, reject) => {
    const stop = client.subscribe(
      { query },
      {
        next: (answer) => {
          resolve(errorsOf(answer));
          if (query.startsWith('subscription')) stop();
        },
        error: (error) => (Array.isArray(error) ? resolve(error as AnswerError[]) : reject(error)),
        complete: () => resolve([]),
      },
    );
  });
}

/** Does it with all of them, some at a time. */
export async function withEach<T>(values: readonly T[], act: (value: T) => Promise<void>): Promise<void> {
  const left = [...values];
  const next = async () => {
    for (let value = left.shift(); value !== undefined; value = left.shift()) await act(value);
  };
  await Promise.all(Array.from({ length: 10 }, next));
}
