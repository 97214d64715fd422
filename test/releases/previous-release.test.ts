/**
 * While a release rolls over, servers, workers and clients of the one before work on the tables of the new one, and with its servers,
 * workers and clients: every pair of them, both ways.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as currentLibrary from '../../src/client/index.ts';
import { migrate, migrationsDirectory } from '../../src/db/migrate.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { newType } from '../support/engine.ts';
import { buildRelease, findPreviousRelease, type Release } from '../support/release.ts';
import { cli, type ServerProcess, startServerProcess } from '../support/server.ts';

const found = findPreviousRelease();
const title = 'source' in found ? `beside ${found.source}` : `beside the release before (${found.reason})`;
type Library = typeof currentLibrary;

describe.skipIf('reason' in found)(title, () => {
  let release: Release;
  let db: TestDatabase;
  const servers: Record<string, ServerProcess> = {};
  const libraries: Record<string, Library> = { current: currentLibrary };

  beforeAll(async () => {
    release = buildRelease((found as { source: string }).source);
    libraries.previous = (await import(release.client)) as Library;
    db = await createDatabase();
    await db.query('drop schema jobtree cascade');
    if (continues(release.migrations)) {
      await migrate({ url: db.url, directory: release.migrations });
      servers.previous = await startServerProcess(db.url, {}, [], release.cli);
      // This one migrates, while the other one serves.
      servers.current = await startServerProcess(db.url, {}, [], cli);
    } else {
      // Before the first release the migrations are made anew in place. The tables are the new ones, and the books say what each side expects.
      servers.current = await startServerProcess(db.url, {}, [], cli);
      await db.query('delete from jobtree._prisma_migrations');
      await writeBooks(release.migrations);
      servers.previous = await startServerProcess(db.url, {}, [], release.cli);
      await db.query('delete from jobtree._prisma_migrations');
      await writeBooks(migrationsDirectory);
    }
  });
  afterAll(async () => {
    await Promise.all(Object.values(servers).map((server) => server.end()));
    await db?.drop();
    release?.remove();
  });

  async function writeBooks(directory: string): Promise<void> {
    for (const [i, { name, checksum }] of readMigrations(directory).entries())
      await db.query(
        `insert into jobtree._prisma_migrations (id, migration_name, checksum, started_at, finished_at, applied_steps_count)
         values ($1, $1, $2, now() + $3 * interval '1 second', now(), 1)`,
        [name, checksum, i],
      );
  }

  const sides = ['previous', 'current'];
  const ways = sides.flatMap((library) => sides.map((server) => [library, server] as const));
  /** Which library and server the producer has, and which the worker. */
  const pairs = ways.flatMap((producer) => ways.map((worker) => [...producer, ...worker] as const));

  it.each(pairs)(
    'the %s client at the %s server gives work to the %s worker at the %s server',
    async (...names) => {
      const [producerLibrary, producerServer, workerLibrary, workerServer] = names;
      const { createClient } = libraries[producerLibrary] as Library;
      const { Worker, PermanentError } = libraries[workerLibrary] as Library;
      const url = (name: string) => (servers[name] as ServerProcess).url;
      const type = newType();
      const child = `${type}-fed`;
      const problems: unknown[] = [];
      const worker = new Worker({
        url: url(workerServer),
        types: {
          [type]: {
            concurrency: 5,
            handler: (payload) => {
              if (payload === 'bad') throw new PermanentError('bad', { code: 'BAD' });
              return [payload, payload];
            },
          },
          [child]: { concurrency: 5, handler: (payload) => payload },
        },
      });
      worker.on('error', (error) => problems.push(error));
      await worker.start();
      const client = createClient({ url: url(producerServer) });
      const { id } = await client.createJob({
        type,
        items: [{ payload: 'first' }],
        children: [{ type: child, feed: { forEach: 'result' } }],
      });
      const items = Array.from({ length: 20 }, (_, i) => ({ payload: i, dedupeKey: String(i) }));
      expect(await client.addItems(id, items, { seal: true })).toMatchObject({ added: 20 });
      const failing = await client.createJob({
        type,
        items: [
          { payload: 'bad', serializeKey: type },
          { payload: 'good', serializeKey: type },
        ],
        sealed: true,
      });
      const states = [];
      for await (const tree of client.watchTree(id)) states.push(tree);
      expect(states.at(-1)).toMatchObject({ complete: true, outcome: 'SUCCEEDED' });
      expect(states.at(-1)?.jobs.map(({ succeeded }) => succeeded)).toEqual([21, 42]);
      let last: unknown;
      for await (const state of client.watchJob(failing.id)) last = state;
      expect(last).toMatchObject({ status: 'COMPLETED', failed: 1, succeeded: 1 });
      await worker.stop();
      await client.close();
      expect(problems).toEqual([]);
    },
  );

  it.each(sides)('a %s server can be restarted', async (name) => {
    const server = await startServerProcess(db.url, {}, [], name === 'previous' ? release.cli : cli).catch(
      (error: Error) => error,
    );
    if (!continues(release.migrations) && name === 'previous')
      expect((server as Error).message).toContain('edited');
    else expect(await (server as ServerProcess).end()).toBe(0);
  });
});

/** Whether our migrations go on from those. */
function continues(previous: string): boolean {
  const ours = readMigrations(migrationsDirectory);
  return readMigrations(previous).every((migration, i) => migration.checksum === ours[i]?.checksum);
}

function readMigrations(directory: string): { name: string; checksum: string }[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
    .map((name) => ({
      name,
      checksum: createHash('sha256')
        .update(readFileSync(join(directory, name, 'migration.sql'), 'utf8'))
        .digest('hex'),
    }));
}
