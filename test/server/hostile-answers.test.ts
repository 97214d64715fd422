/**
 * Answers that would be too large or too deep to be written: each is refused on its own, over HTTP, server-sent events and WebSocket, whoever asks. Each role
 * asks for one of them, by turns; with HOSTILE=long for all.
 */
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { type Answer, collectSse, createJob, data, request } from '../support/api.ts';
import { isLong, makeTokens, type RoleName, roleNames, type Tokens } from '../support/hostile/roles.ts';
import { bearer } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const maxAnswerBytes = 19_000_000;

const db = useDatabase();
let app: App;
let asking: App;
let tokens: Tokens;
/** The root of a tree of 999 jobs, each fed by a mapping of nearly 10 kB. */
let wide: string;

/** Whom it asks, and what it shows. */
interface Target {
  readonly url: string;
  readonly shown: Record<string, string>;
}

const aliases = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');

beforeAll(async () => {
  // What would be refused for its cost is to be written.
  const settings = {
    JOBTREE_MAX_ANSWER_BYTES: String(maxAnswerBytes),
    JOBTREE_MAX_QUERY_COST: '500000',
    JOBTREE_MAX_REQUEST_BYTES: '25000000',
  };
  app = await startServer(db.url, settings);
  asking = await startServer(db.url, { ...settings, JOBTREE_AUTH: 'keys' });
  const feed = {
    payload: Object.fromEntries(Array.from({ length: 85 }, (_, i) => [`${i}${'k'.repeat(95)}`, 'result'])),
  };
  wide = await createJob(app.url, {
    type: 'wide',
    children: Array.from({ length: 998 }, (_, i) => ({ type: `${i} ${'"'.repeat(190)}`, feed })),
  });
  tokens = await makeTokens(db, asking.url, { id: wide, type: 'wide' });
});
afterAll(async () => {
  await Promise.all([app.close(), asking.close()]);
});

/** The first answer on a socket, and that the socket goes on. */
async function overSocket(
  query: string,
  variables: Record<string, unknown>,
  { url, shown }: Target = { url: app.url, shown: {} },
): Promise<Answer> {
  const client = createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: shown,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => {},
  });
  const first = async (text: string, values: Record<string, unknown>) => {
    for await (const answer of client.iterate({ query: text, variables: values })) return answer as Answer;
    throw new Error('There was no answer.');
  };
  try {
    const answer = await first(query, variables);
    expect((await first('{ __typename }', {})).data).toEqual({ __typename: 'Query' });
    return answer;
  } finally {
    await client.dispose();
  }
}

const refusal = { extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes' } };

const selections: [string, string][] = [
  ['mappings of feeds under aliases', `tree { ${aliases(9, (i) => `f${i}: feed { payload }`)} }`],
  ['parts of mappings under aliases', `tree { feed { ${aliases(9, (i) => `p${i}: payload`)} } }`],
  ['mappings of feeds in trees under aliases', aliases(9, (i) => `t${i}: tree { feed { payload } }`)],
  ['names under aliases', `tree { ${aliases(100, (i) => `${'n'.repeat(150)}${i}: type`)} }`],
  ['names of aliases', `tree { ${aliases(99, (i) => `${'n'.repeat(198)}${i}: depth`)} }`],
];

it.each(selections)('refuses too much text: %s', async (_, selection) => {
  const query = `query ($id: ID!) { job(id: $id) { ${selection} } }`;
  for (const answer of [
    await request(app.url, query, { id: wide }),
    (await collectSse(app.url, query, { id: wide }))[0],
    await overSocket(query, { id: wide }),
  ]) {
    expect(answer.errors?.[0]).toMatchObject(refusal);
  }
  expect((await request(app.url, '{ __typename }')).data).toEqual({ __typename: 'Query' });
});

describe.each(roleNames)('from: %s', (role) => {
  /** Who may read all of the tree, and so is told that it is too much. */
  const readers: readonly RoleName[] = ['admin', 'producer', 'watcher'];
  const turns = selections.filter(
    (_, turn) => isLong || turn === roleNames.indexOf(role) % selections.length,
  );

  it.each(turns)('shows no more than an answer may have: %s', async (_, selection) => {
    const token = tokens[role];
    const target = { url: asking.url, shown: token === undefined ? {} : bearer(token) };
    const query = `query ($id: ID!) { job(id: $id) { ${selection} } }`;
    const answers: unknown[] = [
      await request(target.url, query, { id: wide }, target.shown),
      (await collectSse(target.url, query, { id: wide }, target.shown))[0],
      await overSocket(query, { id: wide }, target).catch((error) =>
        Array.isArray(error) ? { errors: error } : `${error.code} ${error.reason}`,
      ),
    ];
    for (const answer of answers) {
      if (readers.includes(role)) expect((answer as Answer).errors?.[0]).toMatchObject(refusal);
      // The one sees a part of it, and others nothing.
      else if (role === 'key for a type') expect((answer as Answer).data.job).not.toBeNull();
      else if (role === 'stranger')
        expect(JSON.stringify(answer) ?? '').toMatch(/^$|"UNAUTHENTICATED"|^"4403/);
      else expect(JSON.stringify(answer)).toMatch(/"(FORBIDDEN|NOT_FOUND|LIMIT_EXCEEDED)"/);
      expect(JSON.stringify(answer ?? null).length).toBeLessThan(maxAnswerBytes);
    }
  });
});

it('refuses too much text of an event', async () => {
  const query = `subscription { jobs(first: 1) { jobs { ${aliases(2, (i) => `t${i}: tree { ${aliases(4, (j) => `f${j}: feed { payload }`)} }`)} } } }`;
  expect((await firstSse(query)).errors?.[0]).toMatchObject(refusal);
  expect((await overSocket(query, {})).errors?.[0]).toMatchObject(refusal);
});

it('shows what fits', async () => {
  const { job } = await data(
    app.url,
    'query ($id: ID!) { job(id: $id) { tree { a: feed { payload } type } } }',
    {
      id: wide,
    },
  );
  expect(job.tree).toHaveLength(999);
  expect(Object.keys(job.tree[1].a.payload)).toHaveLength(85);
});

/** The first event of a stream that does not end. */
async function firstSse(query: string): Promise<Answer> {
  const response = await fetch(app.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query }),
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const event = /event: next\ndata: (.*)\n\n/.exec(text)?.[1];
    if (event !== undefined) return JSON.parse(event) as Answer;
  }
  throw new Error('There was no event.');
}

it('refuses a claim whose payloads could exceed the limit, before it claims', async () => {
  await createJob(app.url, { type: 'kept', items: [{}, {}] });
  const claim = (selection: string) =>
    `claimItems(input: { worker: "w", requests: [{ type: "kept", limit: 1000 }] }) { ... on ClaimItemsPayload { assignments { ${selection} } } }`;
  const { errors } = await request(app.url, `mutation { ${claim('payload a: payload')} }`);
  expect(errors?.[0]).toMatchObject(refusal);
  const { claimItems } = await data(
    app.url,
    `mutation { ${claim('payload item { id failures { code } }')} }`,
  );
  expect(claimItems.assignments).toHaveLength(2);
});

it('refuses further claims of an operation once their payloads fill the answer', async () => {
  await createJob(app.url, {
    type: 'large',
    items: Array.from({ length: 24 }, () => ({ payload: 'p'.repeat(900_000) })),
  });
  const claims = aliases(
    4,
    (i) =>
      `c${i}: claimItems(input: { worker: "w", requests: [{ type: "large", limit: 8 }] }) { ... on ClaimItemsPayload { assignments { id } } }`,
  );
  const { errors } = await request(app.url, `mutation { ${claims} }`);
  expect(errors?.[0]).toMatchObject(refusal);
  expect(await db.query(`select from jobtree.queue_entry where type = 'large'`)).toHaveLength(0);
});
