/**
 * The database is migrated on by the next release while this one serves, as docs/releases.md allows it: nobody sees an error that the client does
 * not repeat by itself, nothing is done twice, and this one can still be started. The next release is a sample: it needs no history and no tag.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Client, createClient, Worker } from '../../src/client/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { migrate } from '../../src/db/migrate.ts';
import { type App, createApp } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import {
  createNextRelease,
  type NextRelease,
  newBodies,
  newColumns,
  newParameters,
} from '../support/expand-migration.ts';

const itemsPerTree = 20;
/** So many trees are completed between two migrations. */
const between = 5;

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

let db: TestDatabase;
let next: NextRelease;
let app: App;
let log = '';

const start = () => {
  const sink = new Writable({
    write: (chunk, _, done) => {
      log += chunk;
      done();
    },
  });
  return createApp({
    config: readConfig({ JOBTREE_PORT: '0' }),
    databaseUrl: db.url,
    logger: pino({ level: 'info' }, sink),
  });
};

beforeAll(async () => {
  db = await createDatabase();
  next = createNextRelease();
  app = await start();
});
afterAll(async () => {
  await app?.close();
  await db?.drop();
  next?.remove();
});

/** Producers, workers, watchers and readers, until they are told to stop. */
class Load {
  readonly errors: unknown[] = [];
  /** What was repeated, and nobody saw. */
  readonly repeated = new Map<string, number>();
  completed = 0;
  readonly #client: Client;
  readonly #workers: Worker[];
  readonly #loops: Promise<void>[] = [];
  #over = false;

  constructor(url: string) {
    const onRetry = (error: Error) => this.#note(error);
    // Patient: other tests take all connections of Postgres for a while.
    this.#client = createClient({ url, onRetry, retryMs: 60_000 });
    this.#workers = Array.from({ length: 2 }, () => {
      const handler = (payload: unknown, { attempt }: { attempt: number }) => {
        if (payload === 0 && attempt === 1) throw new Error('once');
        return [payload];
      };
      const types = {
        next: { concurrency: 10, handler },
        'next-fed': { concurrency: 10, handler: () => null },
      };
      const worker = new Worker({ url, types });
      worker.on('error', (error) => this.errors.push(error));
      worker.on('disconnected', (error) => this.#note(error));
      worker.on('failed', () => undefined); // as it should, once
      worker.on('stale', ({ itemId }) => this.errors.push(`${itemId} was done twice`));
      return worker;
    });
  }

  async start(): Promise<void> {
    onTestFinished(() => this.stop());
    await Promise.all(this.#workers.map((worker) => worker.start()));
    await this.#client.schedules.put({
      name: 'next',
      everyMs: 1_000,
      template: { type: 'next', items: [{ payload: 1 }], sealed: true },
    });
    for (let i = 0; i < 4; i++) this.#repeat(() => this.#tree());
    this.#repeat(() => this.#read());
  }

  async stop(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    await Promise.all(this.#loops);
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    await this.#client.close();
  }

  /** Waits until that many more trees are complete, or something failed. */
  async progress(): Promise<void> {
    const goal = this.completed + between;
    await eventually(() => {
      if (this.errors.length === 0) expect(this.completed).toBeGreaterThanOrEqual(goal);
    });
    expect(this.errors).toEqual([]);
  }

  #repeat(act: () => Promise<void>): void {
    const loop = async () => {
      while (!this.#over && this.errors.length === 0) await act();
    };
    this.#loops.push(loop().catch((error) => void this.errors.push(error)));
  }

  #note({ message }: Error): void {
    this.repeated.set(message, (this.repeated.get(message) ?? 0) + 1);
  }

  async #tree(): Promise<void> {
    const { id } = await this.#client.createJob({
      type: 'next',
      backoffMs: [0],
      children: [{ type: 'next-fed', feed: { forEach: 'result' } }],
    });
    const items = Array.from({ length: itemsPerTree }, (_, i) => ({
      payload: i,
      dedupeKey: String(i),
      ...(i % 5 === 0 && { serializeKey: `next-${i}` }),
    }));
    await Promise.all([
      this.#client.addItems(id, items.slice(0, 10)),
      this.#client.addItems(id, items.slice(10)),
    ]);
    await this.#client.sealJob(id);
    let last: unknown;
    for await (const state of this.#client.watchTree(id)) last = state;
    expect(last).toMatchObject({
      complete: true,
      outcome: 'SUCCEEDED',
      jobs: [{ succeeded: itemsPerTree }, { succeeded: itemsPerTree }],
    });
    this.completed++;
  }

  async #read(): Promise<void> {
    const { nodes } = await this.#client.jobs({ first: 5 });
    for (const { id } of nodes) await this.#client.items(id, { first: 10 });
    await this.#client.deadLetterCount({ codes: ['NONE'] });
    await delay(10);
  }
}

it('the next release migrates the database unnoticed while this one works on it', async () => {
  const load = new Load(app.url);
  await load.start();
  await load.progress();
  const steps: ((n: number) => string)[] = [newColumns, newBodies, ...Array(3).fill(newParameters)];
  for (const [i, step] of steps.entries()) {
    await migrateOn(`${step.name}_${i}`, step(i));
    await load.progress();
  }

  // A backup reads a table for a while, and a migration wants it for itself: that waits, and nobody else.
  const backup = await db.connect();
  await backup.query('begin');
  await backup.query('select from jobtree.queue_entry limit 1');
  const applied = migrateOn('beside_a_backup', 'alter table jobtree.queue_entry add column next_more text;');
  await eventually(() => expect(blocked).toBeGreaterThan(1));
  await load.progress();
  await backup.query('commit');
  await backup.end();
  await applied;
  await load.progress();

  await load.stop();
  expect(load.errors).toEqual([]);
  expect(log.split('\n').filter((line) => line.includes('"level":50'))).toEqual([]);
  console.log(`${load.completed} trees; repeated by clients: ${JSON.stringify([...load.repeated])}`);
});

it('this release starts on a database of the next one, and is refused where that says so', async () => {
  await app.close();
  app = await start();
  const load = new Load(app.url);
  await load.start();
  await load.progress();
  await load.stop();
  expect(load.errors).toEqual([]);

  await app.close();
  const [major, minor] = version.split('.');
  await migrateOn(`breaks_${major}_${minor}`, 'drop table jobtree.next;');
  await expect(start()).rejects.toThrow(
    `migrated by a newer jobtree, and jobtree ${version} can no longer use it`,
  );
});

it('no function that servers call returns rows of a table, since they have prepared its result', async () => {
  const rows = await db.query<{ name: string }>(
    `select p.proname as name from pg_proc p
     join pg_type t on t.oid = p.prorettype
     join pg_class c on c.oid = t.typrelid and c.relkind in ('r', 'v')
     where p.pronamespace = 'jobtree'::regnamespace`,
  );
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const code = sources.map((name) => readFileSync(join('src', name), 'utf8')).join('\n');
  expect(rows.map(({ name }) => name).filter((name) => code.includes(`'${name}'`))).toEqual([]);
});

let count = 0;
/** How often a migration had to wait. */
let blocked = 0;
async function migrateOn(name: string, sql: string): Promise<void> {
  const full = `2999010100${String(count++).padStart(4, '0')}_${name}`;
  next.add(full, sql);
  const migrated = await migrate({
    url: db.url,
    directory: next.directory,
    version: '999.0.0',
    onBlocked: () => blocked++,
  });
  expect(migrated).toEqual({ applied: [full] });
}
