/** Reads of what belongs to others, or of much at once: pages that are watched, exports, and counts. Each attack says in its title what it does. */
import type { TestDatabase } from '../database.ts';
import { fillPending } from '../fill.ts';
import { bearer } from '../keys.ts';
import { watchToken } from '../watch-tokens.ts';
import type { Attacker, Operation } from './attacker.ts';
import { type Attack, aliases, times } from './attacks.ts';
import { isLong } from './roles.ts';

const get = (path: string, headers: Record<string, string>) =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

const resultsOf = (attacker: Attacker) => `/api/jobs/${attacker.target.large}/results`;

const exports: Attack[] = [
  ...[{}, { 'Accept-Encoding': 'gzip' }].map((headers) => ({
    title: `300 exports of 60 MB that nobody reads, ${'Accept-Encoding' in headers ? 'compressed' : 'plain'}`,
    run: async (attacker: Attacker) => {
      const request = () => get(resultsOf(attacker), { ...attacker.shown(), ...headers });
      await Promise.all(times(300, () => attacker.connect(request())));
      await attacker.hold();
    },
  })),
  {
    title: '300 exports that are read for a while, and then no more',
    run: async (attacker) => {
      const sockets = await Promise.all(
        times(300, () => attacker.connect(get(resultsOf(attacker), attacker.shown()), { reads: true })),
      );
      await attacker.hold();
      for (const socket of sockets) socket.pause();
      await attacker.hold();
    },
  },
  {
    title: '300 exports that leave at once, again and again',
    run: async (attacker) => {
      for (let round = 0; round < (attacker.isLong ? 10 : 2); round++) {
        const request = () => get(resultsOf(attacker), attacker.shown());
        const sockets = await Promise.all(times(300, () => attacker.connect(request())));
        for (const socket of sockets) socket.resetAndDestroy();
      }
    },
  },
  {
    title: 'exports with 100 watch tokens, three each, that nobody reads',
    run: async (attacker) => {
      const { url, large } = attacker.target;
      if (attacker.role.token === undefined) return;
      const tokens = await Promise.all(
        times(100, () => watchToken(url, attacker.role.token as string, large, 'RESULTS')),
      ).catch(() => []);
      await Promise.all(
        tokens.flatMap((token) =>
          times(3, () =>
            attacker.connect(get(resultsOf(attacker), { ...attacker.shown(), ...bearer(token) })),
          ),
        ),
      );
      await attacker.hold();
    },
  },
];

/** Opens as many event streams or, on sockets, subscriptions; whether they are refused is not of interest. */
async function watch(attacker: Attacker, query: (i: number) => string, count: number): Promise<void> {
  const perSocket = 100;
  await Promise.all(
    times(Math.ceil(count / perSocket), async (n) => {
      const raw = await attacker.socket();
      for (let i = n * perSocket; i < (n + 1) * perSocket; i++)
        raw.send({ type: 'subscribe', id: `${i}`, payload: { query: query(i) } });
    }),
  );
  await attacker.hold();
}

const pages: Attack[] = [
  {
    title: '500 pages of lists, each in words of its own',
    run: (attacker) =>
      watch(
        attacker,
        (i) => `subscription { jobs(first: 100, intervalMs: 100) { jobs { a${i}: id } } }`,
        500,
      ),
  },
  {
    title: '500 pages of items of a large job, each in words of its own',
    run: (attacker) =>
      watch(
        attacker,
        (i) =>
          `subscription { jobItems(jobId: "${attacker.target.large}", first: 60, intervalMs: 100) { items { a${i}: id status } } }`,
        500,
      ),
  },
  {
    title: '500 watched statistics of queues, each in words of its own',
    run: (attacker) =>
      watch(
        attacker,
        (i) =>
          `subscription { queues(types: [${aliases(50, (n) => `"${i}-${n}"`)}], intervalMs: 100) { type ready } }`,
        500,
      ),
  },
  {
    title: '100 readers of a tree of 999 jobs with 45 fields each, each in words of its own',
    run: (attacker) =>
      watch(
        attacker,
        (i) =>
          `subscription { jobTreeProgress(rootId: "${attacker.target.wide}") { jobs { a${i}: jobId ${aliases(45, (n) => `b${n}: itemCount`)} } } }`,
        100,
      ),
  },
  {
    title: 'answers of mutations with 45,000 values, 20 at once',
    run: async (attacker) => {
      const query = `mutation ($input: ReleaseAssignmentsInput!) { releaseAssignments(input: $input) { ... on ReleaseAssignmentsPayload { entries { ${aliases(45, (n) => `a${n}: status`)} } } } }`;
      const variables = JSON.stringify({ input: { assignmentIds: times(1_000, (i) => `none ${i}`) } });
      await attacker.repeat(() => Promise.all(times(20, () => attacker.run({ query, variables }))));
    },
  },
  {
    title: '300 event streams of pages, which are not read',
    run: async (attacker) => {
      await Promise.all(
        times(300, (i) => {
          const query = encodeURIComponent(
            `subscription { jobs(first: 1000, intervalMs: 100) { jobs { a${i}: id type status } } }`,
          );
          const headers = { ...attacker.shown(), Accept: 'text/event-stream' };
          return attacker.connect(get(`/graphql?query=${query}`, headers));
        }),
      );
      await attacker.hold();
    },
  },
  {
    title: 'pages that are opened and closed 300 times',
    run: async (attacker) => {
      const raw = await attacker.socket();
      for (let i = 0; i < 300; i++) {
        const query = `subscription { jobs(first: 1000) { jobs { a${i}: id } } }`;
        raw.send({ type: 'subscribe', id: '1', payload: { query } });
        raw.send({ type: 'complete', id: '1' });
      }
      raw.send({ type: 'subscribe', id: '2', payload: { query: '{ __typename }' } });
      await raw.until(({ id }) => id === '2');
    },
  },
];

const pending = (filter: string) => (i: number) => `a${i}: pendingItemCount(filter: ${filter})`;

const counts: [title: string, make: (attacker: Attacker) => Operation][] = [
  ['pending items without a filter', () => ({ query: `{ ${aliases(30, pending('{}'))} }` })],
  [
    'pending items of everybody',
    () => ({
      query: `{ ${aliases(30, (i) => pending(`{ addedFrom: "1970-01-01T00:00:00Z", addedUntil: "21${10 + i}-01-01T00:00:00Z" }`)(i))} }`,
    }),
  ],
  ['pending items by type', () => ({ query: `{ ${aliases(30, pending('{ types: ["filled-0"] }'))} }` })],
  [
    'pending items by status and time',
    () => ({
      query: `{ ${aliases(30, pending('{ statuses: [READY], addedUntil: "2000-01-01T00:00:00Z" }'))} }`,
    }),
  ],
  [
    'pending items by dedupe keys',
    () => ({
      query: `{ ${aliases(30, (i) => pending(`{ dedupeKeys: ["none ${i}"] }`)(i))} }`,
    }),
  ],
  [
    'dead letters, in groups',
    () => ({ query: `{ ${aliases(30, (i) => `a${i}: deadLetterGroups { count }`)} }` }),
  ],
  [
    'operations that select nothing',
    () => ({
      query: `mutation { ${aliases(30, (i) => `a${i}: cancelItems(input: { filter: { dedupeKeys: ["none ${i}"] } }) { __typename }`)} }`,
    }),
  ],
  [
    'queues of a thousand types',
    () => ({
      query: `query ($types: [String!]!) { ${aliases(30, (i) => `a${i}: queues(types: $types) { type ready }`)} }`,
      variables: JSON.stringify({ types: times(1_000, (i) => `t${i}`) }),
    }),
  ],
  [
    'items in all lists of a list',
    () => ({
      query: '{ jobs(first: 100) { nodes { items(first: 1) { totalCount nodes { id } } } } }',
    }),
  ],
];

const attacksByCounting: Attack[] = counts.map(([title, make]) => ({
  title: `counts under 30 aliases, 20 at once: ${title}`,
  run: async (attacker) => {
    await attacker.repeat(() => Promise.all(times(20, () => attacker.run(make(attacker)))));
  },
}));

/** So many items of others wait and are held that counting them takes long. */
export async function prepareReads(db: TestDatabase): Promise<void> {
  const jobs = 1_000;
  await fillPending(db, { items: isLong ? 1_000_000 : 100_000, jobs });
  // Blocks of 1,024 positions have been given out up to here; counts look at no later ones.
  await db.query(`select setval('jobtree.block_seq', ($1::bigint + 1) * 1024)`, [jobs]);
}

export const reads: readonly Attack[] = [...exports, ...pages, ...attacksByCounting];
