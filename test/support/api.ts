/** A real client's way to the API, without jobtree's own: HTTP by fetch, subscriptions by the published graphql-ws client. */
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { bearer } from './keys.ts';
import { Witness } from './witness.ts';

export interface Answer {
  data?: any;
  errors?: { message: string; path?: unknown[]; extensions?: Record<string, unknown> }[];
}

export async function request(
  url: string,
  query: string,
  variables?: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as Answer;
}

/** What an operation is answered that is sent with a key or a token. */
export async function ask(
  url: string,
  key: string,
  query: string,
  variables: object = {},
  headers: Record<string, string> = {},
): Promise<Answer & { status: number }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...bearer(key), ...headers },
    body: JSON.stringify({ query, variables }),
  });
  return { ...((await response.json()) as Answer), status: response.status };
}

/** The data of a request that must succeed. */
export async function data(url: string, query: string, variables?: Record<string, unknown>): Promise<any> {
  const answer = await request(url, query, variables);
  if (answer.errors !== undefined) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

export interface Watch extends AsyncIterable<any> {
  close(): Promise<void>;
}

/** A subscription on a socket of its own. Every event is looked at: none may take back what was told before. */
export function subscribe(url: string, query: string, variables?: Record<string, unknown>): Watch {
  const client = createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: true,
  });
  const events = client.iterate<any>({ query, variables: variables ?? null });
  const witness = new Witness();
  const watched: AsyncIterableIterator<any> = {
    next: async () => {
      const event = await events.next();
      if (!event.done) witness.see(event.value);
      return event;
    },
    [Symbol.asyncIterator]: () => watched,
  };
  return {
    [Symbol.asyncIterator]: () => watched,
    close: async () => {
      await events.return?.();
      await client.dispose();
    },
  };
}

/** Everything that a subscription says until it completes. */
export async function collect(watch: Watch): Promise<any[]> {
  const events = [];
  for await (const event of watch) events.push(event);
  await watch.close();
  return events;
}

/** The last state of a watch. */
export async function lastOf<State>(watch: AsyncIterable<State>): Promise<State | undefined> {
  let last: State | undefined;
  for await (last of watch);
  return last;
}

/** The same over server-sent events, by fetch alone. */
export async function collectSse(
  url: string,
  query: string,
  variables?: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<any[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const text = await response.text();
  const witness = new Witness();
  return text
    .split('\n\n')
    .filter((block) => block.includes('event: next'))
    .map((block) => {
      const event = JSON.parse(block.slice(block.indexOf('data: ') + 6));
      witness.see(event);
      return event;
    });
}

/** Creates a job and waits until its items are counted, since its progress is asked for. */
export const createJob = async (url: string, input: Record<string, unknown>): Promise<string> => {
  const { createJob: result } = await data(
    url,
    `mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id progress { revision } } } ... on UserError { message field } } }`,
    { input },
  );
  if (result.job === undefined) throw new Error(result.message);
  return result.job.id;
};

/** Claims items of a type and reports a result for each; gives how many. */
export async function work(
  url: string,
  type: string,
  limit: number,
  result: unknown = null,
): Promise<number> {
  const claimed = await data(
    url,
    `mutation ($requests: [ClaimRequestInput!]!) {
      claimItems(input: { worker: "test", requests: $requests }) { ... on ClaimItemsPayload { assignments { id } } }
    }`,
    { requests: [{ type, limit }] },
  );
  const assignments: { id: string }[] = claimed.claimItems.assignments;
  if (assignments.length === 0) return 0;
  const reports = assignments.map(({ id }) => ({ assignmentId: id, outcome: { success: { result } } }));
  const reported = await data(
    url,
    `mutation ($reports: [ReportInput!]!) {
      reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
    }`,
    { reports },
  );
  return reported.reportOutcomes.entries.filter(({ status }: { status: string }) => status === 'ACCEPTED')
    .length;
}

/** How much of a job or a tree a revision stands for: the part after the generation. */
export const stepsIn = (revision: string): number => Number.parseInt(revision.slice(9), 16);
