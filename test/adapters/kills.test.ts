/**
 * An application that saves orders and creates their jobs in one transaction is killed at any moment, time and again: orders and
 * jobs are the same, whatever was under way. `ADAPTER_KILLS` says how often; 8 without it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useDatabase } from '../support/use-server.ts';

const kills = Number(process.env.ADAPTER_KILLS ?? 8);
const root = fileURLToPath(new URL('../..', import.meta.url));

const db = useDatabase();
let folder: string;
beforeAll(async () => {
  await db.query('create table orders (id integer primary key)');
  // Below the root, where Node finds the packages.
  folder = await mkdtemp(join(root, 'node_modules', '.order-taker-'));
  for (const library of new Set(libraries)) await writeFile(programOf(library), await bundled(library));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Those that start quickly more often. */
const quick = ['pg', 'kysely', 'pg', 'drizzle-pg', 'pg', 'kysely', 'pg', 'drizzle-postgres-js', 'pg'];
const libraries = [...quick, 'kysely', ...quick, 'prisma'];
const programOf = (library: string) => join(folder, `${library}.mjs`);

/** As one file, with nothing but its library, it starts within a moment. */
async function bundled(library: string): Promise<string> {
  const contents = `import { open } from './libraries/${library}.ts';
    import { takeOrders } from './order-taker.ts';
    await takeOrders(open);`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(root, 'test/adapters') },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
  return outputFiles[0]?.text ?? '';
}

it(`orders and jobs are the same after ${kills} kills of the application`, {
  timeout: 3_600_000,
}, async () => {
  const told = new Set<number>();
  for (let kill = 0; kill < kills; kill++) {
    const library = libraries[kill % libraries.length] as string;
    const child = spawn(process.execPath, [programOf(library), db.url, String(kill * 100_000)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const ended = once(child, 'close');
    await once(child.stdout, 'data');
    await delay(Math.random() * 30);
    child.kill('SIGKILL');
    await ended;
    for (const line of output.split('\n').slice(0, -1)) told.add(Number(line));
  }

  // What the killed ones had sent may still be on its way.
  await expect
    .poll(() =>
      db.query(
        `select from pg_stat_activity where datname = current_database() and query ~ 'orders|made' and pid <> pg_backend_pid()`,
      ),
    )
    .toEqual([]);
  const [counts] = await db.query(`
    select count(*)::int as all, count(*) filter (where o.id is null or j.id is null)::int as alone,
      count(*) filter (where o.id % 3 = 0)::int as rolled_back,
      count(*) filter (where j.sealed_at is null or (select count(*) from jobtree.job_item i where i.job_id = j.id) <> 2)::int as halves
    from orders o full join jobtree.job j on j.dedupe_key = o.id::text and j.type = 'ship'`);
  console.log(`${kills} kills: ${JSON.stringify(counts)}, ${told.size} commits were told`);
  expect(counts).toMatchObject({ alone: 0, rolled_back: 0, halves: 0 });
  // What was answered is there.
  const stored = await db.query('select id from orders where id = any ($1)', [[...told]]);
  expect(stored).toHaveLength(told.size);
  expect(told.size).toBeGreaterThanOrEqual(kills);
});
