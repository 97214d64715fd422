/**
 * What every worker must do, whatever its language: the one of the client in TypeScript, and the example in Python, which is written after
 * `docs/worker-protocol.md`. Each is a process that does as its payloads say, and prints when it begins and ends with one.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type ItemSpec } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { claimsWaiting } from '../support/claims-waiting.ts';
import { eventually } from '../support/eventually.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const languages: [string, string[]][] = [
  ['TypeScript', [process.execPath, '--import', 'tsx', file('worker.ts')]],
  ['Python', ['python3', file('worker.py')]],
];

interface Created {
  readonly id: string;
}

const db = useDatabase();
let app: App;
let proxy: TcpProxy;
beforeAll(async () => {
  app = await startServer(db.url);
  proxy = await startProxy(app.url);
});
afterAll(async () => {
  await proxy.close();
  await app.close();
});

describe.each(languages)('the worker in %s', (language, [program = '', ...words]) => {
  const running = new Set<ChildProcess>();
  const said = new WeakMap<ChildProcess, string>();
  afterEach(async () => {
    for (const child of running) {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
  });

  let types = 0;
  const newType = () => `${language} ${++types}`;

  function start(type: string, { concurrency = 5, pollSeconds = 600, stopSeconds = 600 } = {}): ChildProcess {
    const settings = [proxy.url, concurrency, pollSeconds, stopSeconds].map(String);
    const child = spawn(program, [...words, ...settings, type], { stdio: ['ignore', 'pipe', 'inherit'] });
    running.add(child);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.set(child, (said.get(child) ?? '') + text);
    });
    child.once('close', () => running.delete(child));
    return child;
  }

  const says = (worker: ChildProcess, word: string, times = 1) =>
    eventually(() => expect(said.get(worker)?.split(word)).toHaveLength(times + 1));

  async function create(type: string, items: ItemSpec[], policies = {}): Promise<Created> {
    const client = createClient({ url: app.url });
    try {
      return await client.createJob({ type, items, sealed: true, backoffMs: [0], ...policies });
    } finally {
      await client.close();
    }
  }

  /** The outcomes of a complete job, in the order of its items. */
  async function outcomes({
    id,
  }: Created): Promise<{ result: unknown; failed: boolean; attempts: number }[]> {
    return await eventually(async () => {
      const rows = await db.query<{ result: unknown; failed: boolean; attempts: number; open: boolean }>(
        `select o.result, o.failed, o.job_id is null as open,
           (select count(*)::int from jobtree.assignment a where a.job_id = i.job_id and a.position = i.position and a.state <> 'RELEASED') as attempts
         from jobtree.job_item i left join jobtree.outcome o on o.job_id = i.job_id and o.position = i.position
         where i.job_id = $1 order by i.position`,
        [id.slice(4)],
      );
      expect(rows.filter(({ open }) => open)).toEqual([]);
      return rows.map(({ result, failed, attempts }) => ({ result, failed, attempts }));
    });
  }

  const isHeld = (job: Created, count = 1) =>
    eventually(async () => {
      const [row] = await db.query<{ held: number }>(
        `select count(*)::int as held from jobtree.assignment where job_id = $1 and state = 'HELD'`,
        [job.id.slice(4)],
      );
      expect(row?.held).toBe(count);
    });

  const done = (result: unknown) => ({ result, failed: false, attempts: 1 });

  it('claims everything, hears of new items, and reports each result once', async () => {
    const type = newType();
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    const first = await create(
      type,
      numbers.map((n) => ({ payload: { result: { n, text: 'Grüße 🌳' } } })),
    );
    start(type);
    expect(await outcomes(first)).toEqual(numbers.map((n) => done({ n, text: 'Grüße 🌳' })));
    expect(await outcomes(await create(type, [{ payload: { result: null } }]))).toEqual([done(null)]);
  });

  it('reports failures, permanent ones too, and retries the others', async () => {
    const type = newType();
    start(type);
    const items = [{ payload: { failures: 2, result: 1 } }, { payload: { permanent: true } }];
    expect(await outcomes(await create(type, items))).toEqual([
      { result: 1, failed: false, attempts: 3 },
      { result: null, failed: true, attempts: 1 },
    ]);
  });

  it('says when to retry a failure, and knows its last attempt', async () => {
    const type = newType();
    start(type);
    const items = [{ payload: { retryAfterMs: 100, result: 1 } }];
    expect(await outcomes(await create(type, items, { backoffMs: [86_400_000] }))).toEqual([
      { result: 1, failed: false, attempts: 2 },
    ]);
    const last = await create(type, [{ payload: { tellLast: true } }], { maxFailuresPerItem: 2 });
    expect(await outcomes(last)).toEqual([{ result: 3, failed: false, attempts: 3 }]);
  });

  it('snoozes an item, at no cost', async () => {
    const type = newType();
    start(type);
    const items = [{ payload: { snoozeMs: 1_000, result: 1 } }];
    expect(await outcomes(await create(type, items, { maxFailuresPerItem: 0 }))).toEqual([done(1)]);
  });

  it('keeps items that take longer than the interval by heartbeats', async () => {
    const type = newType();
    start(type);
    const job = await create(type, [{ payload: { sleepMs: 4_000, result: 1 } }], {
      heartbeatIntervalMs: 1_000,
    });
    expect(await outcomes(job)).toEqual([done(1)]);
  });

  it('stops work on a lost item, and claims another', async () => {
    const type = newType();
    start(type, { concurrency: 1 });
    const lost = await create(type, [{ payload: { untilUnwanted: true } }], { heartbeatIntervalMs: 1_000 });
    await isHeld(lost);
    const next = await create(type, [{ payload: { result: 2 } }]);
    const client = createClient({ url: app.url });
    await client.cancelJob(lost.id);
    await client.close();
    expect(await outcomes(next)).toEqual([done(2)]);
  });

  it('repeats a claim whose answer was lost, and gets the same items', async () => {
    const type = newType();
    const job = await create(type, [{ payload: { result: 1 } }, { payload: { result: 2 } }]);
    const wasCut = proxy.cutAt('heartbeatIntervalMs');
    start(type);
    await wasCut;
    proxy.mend();
    expect(await outcomes(job)).toEqual([done(1), done(2)]);
  });

  it('repeats a report whose answer was lost, and it counts once', async () => {
    const type = newType();
    start(type);
    const job = await create(type, [{ payload: { sleepMs: 1_000, result: 1 } }]);
    await isHeld(job);
    const wasCut = proxy.cutAt('"entries":[');
    await wasCut;
    proxy.mend();
    expect(await outcomes(job)).toEqual([done(1)]);
    expect(await outcomes(await create(type, [{ payload: { result: 2 } }]))).toEqual([done(2)]);
  });

  it('continues after an outage of the server that is longer than its handler', async () => {
    const type = newType();
    const worker = start(type);
    const job = await create(type, [
      { payload: { sleepMs: 500, result: 1 } },
      { payload: { sleepMs: 500, result: 2 } },
    ]);
    await isHeld(job, 2);
    await app.close();
    await says(worker, 'ended', 2);
    app = await startServer(db.url);
    proxy.mend(app.url);
    expect(await outcomes(job)).toEqual([done(1), done(2)]);
    expect(await outcomes(await create(type, [{ payload: { result: 3 } }]))).toEqual([done(3)]);
  }, 20_000);

  it('at SIGTERM finishes what runs and claims no more', async () => {
    const type = newType();
    const worker = start(type, { concurrency: 1 });
    const items = [{ payload: { sleepMs: 1_000, result: 1 } }, { payload: { result: 2 } }];
    const job = await create(type, items);
    await says(worker, 'begun');
    worker.kill('SIGTERM');
    expect(await once(worker, 'close')).toEqual([0, null]);
    const [row] = await db.query('select count(*)::int as count from jobtree.outcome where job_id = $1', [
      job.id.slice(4),
    ]);
    expect(row).toEqual({ count: 1 });
    start(type);
    expect(await outcomes(job)).toEqual([done(1), done(2)]);
  });

  it('at SIGTERM ends although the server is gone', async () => {
    const worker = start(newType());
    await claimsWaiting(app.url, 1);
    proxy.cut();
    try {
      worker.kill('SIGTERM');
      expect(await once(worker, 'close')).toEqual([0, null]);
    } finally {
      proxy.mend();
    }
  });

  it('gives back what does not end in time, at no cost', async () => {
    const type = newType();
    const worker = start(type, { stopSeconds: 0.5 });
    const job = await create(type, [{ payload: { untilUnwanted: true } }]);
    // Then it waits for nothing that comes soon.
    await says(worker, 'begun');
    worker.kill('SIGTERM');
    expect(await once(worker, 'close')).toEqual([0, null]);
    const [row] = await db.query(`select state from jobtree.assignment where job_id = $1`, [job.id.slice(4)]);
    expect(row).toEqual({ state: 'RELEASED' });
  });

  it('gives an item with a serialize key back when its handler has ended, and not before', async () => {
    const type = newType();
    const worker = start(type, { stopSeconds: 0.1 });
    const payload = { sleepMs: 1_500, untilUnwanted: true };
    const job = await create(type, [{ payload, serializeKey: type }]);
    const states = async () =>
      (await db.query('select state from jobtree.assignment where job_id = $1', [job.id.slice(4)])).map(
        ({ state }) => state,
      );
    await says(worker, 'begun');
    worker.kill('SIGTERM');
    let before = await states();
    while (!said.get(worker)?.includes('ended')) {
      before = await states();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(before).toEqual(['HELD']);
    expect(await once(worker, 'close')).toEqual([0, null]);
    expect(await states()).toEqual(['RELEASED']);
  });
});

it('the worker in Python logs that it is connected, that it is not, and the first failure of a kind', async () => {
  const type = 'Python, with a log';
  const client = createClient({ url: app.url });
  const child = spawn('python3', [file('worker.py'), proxy.url, '5', '600', '600', type], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const logs = (pattern: RegExp) => eventually(() => expect(log).toMatch(pattern));
  try {
    await logs(/connected to http:.* as .*, for Python, with a log\n$/);
    await client.createJob({
      type,
      items: [{ payload: { failures: 1 } }, { payload: { failures: 1 } }],
      backoffMs: [0],
      sealed: true,
    });
    await logs(/JobItem:\S+ of Python, with a log failed at attempt 1: RuntimeError: It fails\.\n$/);
    // The server closes connections that were idle for some seconds, and the claim that waits is left: no reason for a warning.
    await eventually(() => expect(proxy.connections).toBe(1));
    expect(await client.run(type, { result: 1 })).toBe(1);
    expect(log).not.toMatch(/no answer/);
    proxy.cut();
    await logs(/no answer from http:.*; trying again\n$/);
    proxy.mend();
    await logs(/trying again\n.*connected to .*\n$/);
    expect(log.match(/It fails/g)).toHaveLength(1);
  } finally {
    child.kill('SIGKILL');
    await ended;
    await client.close();
  }
});

it('the worker in Python gives back what a claim got that waits at another server than its repeat reached', async () => {
  const [full, other] = ['Python, full', 'Python, other'];
  const second = await startServer(db.url);
  const client = createClient({ url: app.url });
  const child = spawn('python3', [file('worker.py'), proxy.url, '1', '600', '600', full, other], {
    stdio: 'ignore',
  });
  const ended = once(child, 'close');
  try {
    // It takes until the connection counts as idle: the report, and the claim with it, go on a new one.
    const first = client.run(full, { sleepMs: 4_000 });
    await eventually(async () => {
      const held = await db.query(
        `select from jobtree.lease l join jobtree.job j on j.id = l.job_id where j.type = $1`,
        [full],
      );
      expect(held).toHaveLength(1);
    });
    await claimsWaiting(app.url, 1);
    proxy.mend(second.url);
    await first;
    await claimsWaiting(app.url, 1);
    expect(await client.run(other, { result: 1 }, { backoffMs: [0], heartbeatIntervalMs: 1_000 })).toBe(1);
    const lost = await db.query(
      `select from jobtree.assignment where state = 'LOST' and job_id in (select id from jobtree.job where type = $1)`,
      [other],
    );
    expect(lost).toEqual([]);
  } finally {
    child.kill('SIGKILL');
    await ended;
    proxy.mend(app.url);
    await client.close();
    await second.close();
  }
});
