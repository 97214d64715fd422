/** Idle workers hear of new work at once, on all servers, and for a few items only a few of them come. */
import { createClient } from 'graphql-ws';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { WebSocket } from 'ws';
import { WorkHints } from '../../src/events/work-hints.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data } from '../support/api.ts';
import { useEngine } from '../support/engine.ts';
import { startServer } from '../support/server.ts';
import { createTransport, relays, until } from '../support/transport.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
const test = useEngine();
const redisUrl = inject('redisUrl');
let servers: App[];
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  // No sweep: what comes to a worker comes by a hint.
  const start = () => startServer(db.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000' });
  servers = [await start(), await start()];
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(async () => {
  for (const server of servers) await server.close();
});

const urlOf = (server: number) => (servers[server] as App).url;

/** Claims one item, and gives its assignment. */
async function claim(url: string, type: string): Promise<string | undefined> {
  const { claimItems } = await data(
    url,
    `mutation ($requests: [ClaimRequestInput!]!) {
      claimItems(input: { worker: "test", requests: $requests }) { ... on ClaimItemsPayload { assignments { id } } }
    }`,
    { requests: [{ type, limit: 1 }] },
  );
  return claimItems.assignments[0]?.id;
}

/** So many subscribers on a socket of a server. Each calls `onHint` for every hint but the first, one after the other. */
async function subscribeMany(
  url: string,
  type: string,
  count: number,
  onHint: (subscriber: number) => Promise<void>,
): Promise<void> {
  const client = createClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket });
  closers.push(() => client.dispose());
  const idle: Promise<void>[] = [];
  for (let i = 0; i < count; i++) {
    const hints = client.iterate({
      query: 'subscription ($type: String!) { workAvailable(types: [$type]) { types } }',
      variables: { type },
    });
    idle.push(hints.next().then(() => undefined));
    void idle[i]?.then(async () => {
      for await (const _ of hints) await onHint(i);
    });
  }
  await Promise.all(idle);
}

/** Whoever waits for the count to be reached. */
function counter() {
  let count = 0;
  const waiting: { least: number; resolve: () => void }[] = [];
  return {
    add: () => {
      count++;
      for (const { least, resolve } of waiting) if (count >= least) resolve();
    },
    get count() {
      return count;
    },
    reached: (least: number) =>
      new Promise<void>((resolve) => {
        if (count >= least) resolve();
        else waiting.push({ least, resolve });
      }),
  };
}

describe('with 100 idle workers on two servers', () => {
  it('one item makes few of them claim', async () => {
    const calls = counter();
    const claimed = counter();
    for (const server of [0, 1]) {
      await subscribeMany(urlOf(server), 'few', 50, async () => {
        calls.add();
        if ((await claim(urlOf(server), 'few')) !== undefined) claimed.add();
      });
    }
    const jobs = 8;
    for (let n = 1; n <= jobs; n++) {
      await createJob(urlOf(n % 2), { type: 'few', items: [{}] });
      await claimed.reached(n);
    }
    expect(calls.count).toBeLessThan(jobs * 15);
  });

  it('100 items wake all of them, also if each takes one and works on it for long', async () => {
    const claimed = counter();
    for (const server of [0, 1]) {
      await subscribeMany(urlOf(server), 'many', 50, async () => {
        if ((await claim(urlOf(server), 'many')) === undefined) return;
        claimed.add();
        await new Promise(() => {});
      });
    }
    await createJob(urlOf(0), { type: 'many', items: Array.from({ length: 100 }, () => ({})) });
    await claimed.reached(100);
  });
});

it('an item does not wait for workers that were woken and do not claim', async () => {
  const claimed = counter();
  await subscribeMany(urlOf(0), 'busy', 20, async (subscriber) => {
    if (subscriber === 19 && (await claim(urlOf(0), 'busy')) !== undefined) claimed.add();
  });
  for (let n = 1; n <= 3; n++) {
    await createJob(urlOf(0), { type: 'busy', items: [{}] });
    await claimed.reached(n);
  }
});

it('an item that a claim missed, since another server added it with another priority, is found soon', async () => {
  const claimed = counter();
  await subscribeMany(urlOf(1), 'past', 1, async () => {
    if ((await claim(urlOf(1), 'past')) !== undefined) claimed.add();
  });
  await createJob(urlOf(0), { type: 'past', items: [{}] });
  await claimed.reached(1);
  await createJob(urlOf(0), { type: 'past', items: [{ priority: -5 }] });
  await claimed.reached(2);
});

it('items that are fed, given back, or failed and due at once wake workers', async () => {
  const claimed: string[] = [];
  const any = counter();
  for (const type of ['parent', 'child']) {
    await subscribeMany(urlOf(1), type, 1, async () => {
      const id = await claim(urlOf(1), type);
      if (id === undefined) return;
      claimed.push(id);
      any.add();
    });
  }
  await createJob(urlOf(1), {
    type: 'parent',
    backoffMs: [],
    items: [{}],
    children: [{ type: 'child', feed: {} }],
  });
  const report = (outcome: string) =>
    data(
      urlOf(0),
      `mutation { reportOutcomes(input: { reports: [{ assignmentId: "${claimed.at(-1)}", outcome: { ${outcome} } }] }) { __typename } }`,
    );
  await any.reached(1);
  await report('failure: { code: "X", message: "" }');
  await any.reached(2);
  await data(
    urlOf(0),
    `mutation { releaseAssignments(input: { assignmentIds: ["${claimed.at(-1)}"] }) { __typename } }`,
  );
  await any.reached(3);
  await report('success: { result: 1 }');
  await any.reached(4);
});

it('a caller of SQL can wake workers with its commit', async () => {
  const claimed = counter();
  await subscribeMany(urlOf(0), 'sql', 1, async () => {
    if ((await claim(urlOf(0), 'sql')) !== undefined) claimed.add();
  });
  const session = await db.connect();
  await session.query('begin');
  await session.query(`select jobtree.create_job('{"type": "sql", "items": [{}]}')`);
  await session.query(`select jobtree.wake_workers('sql')`);
  await session.query('commit');
  await session.end();
  await claimed.reached(1);
});

it.skipIf(redisUrl === undefined)('two relays, and Postgres besides, announce each item once', async () => {
  const { db, engine } = test;
  const transports = [0, 1].map(() => createTransport(db.url, { REDIS_URL: redisUrl as string }));
  for (const { transport } of transports) {
    closers.push(() => transport.close());
    await transport.start();
  }
  await until('relayed twice', async () => (await relays(db)).length === 2);
  await until('over Redis', () => transports.every(({ transport }) => transport.route === 'redis'));
  const create = () => new WorkHints({ database: engine.database, logger: pino({ level: 'silent' }) });
  const [sender, receiver] = [create(), create()];
  closers.push(() => {
    sender.close();
    receiver.close();
  });
  const offered: Record<string, number> = { server: 0, sql: 0 };
  const offer = (type: string, items: number) => {
    offered[type] = (offered[type] as number) + items;
    return items;
  };
  receiver.awaited({ types: new Set(Object.keys(offered)), offer });
  sender.ready(new Map([['server', 10]]));
  await db.query(`select jobtree.wake_workers('sql', 10)`);
  const [{ work: heard } = { work: [] }] = transports;
  await until('heard twice', () => heard.length === 4);
  for (const text of heard) receiver.receive(text);
  expect(offered).toEqual({ server: 10, sql: 10 });
});

it('unknown messages do no harm', async () => {
  const hinted = counter();
  await subscribeMany(urlOf(0), 'harm', 1, async () => hinted.add());
  const nonsense = [
    '',
    'x',
    'null',
    '[]',
    '["harm"]',
    '{"types": 1}',
    '{"types": [["harm"]]}',
    '{"types": [["harm", -1]]}',
    '{"types": [["harm", "many"]]}',
    '{"types": [[null, 1]]}',
    '{"types": [["__proto__", 1]]}',
  ];
  for (const payload of nonsense)
    await db.query('select jobtree.send_hints($1, array[$2])', ['work', payload]);
  await db.query('select jobtree.wake_workers(null, null)');
  await db.query(`select jobtree.wake_workers('harm', 1000000000)`);
  await hinted.reached(1);
  expect(hinted.count).toBe(1);
});
