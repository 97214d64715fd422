/**
 * The server that imports a file is killed, twice: every line is there once, in its order. `FILES_LONG=1` does it with 200 MB, gzipped and not;
 * `FILES_MB` says another size, and `FILES_CSV` names a CSV file of which the rows are taken, over and over, instead of made-up ones. The memory
 * of the servers is looked at throughout.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { storeKinds, useStore } from '../support/stores.ts';
import { withoutSwift } from '../support/swift.ts';
import { sha256Of } from '../support/uploads.ts';
import { useDatabase } from '../support/use-server.ts';

const isLong = process.env.FILES_LONG !== undefined;
const megabytes = Number(process.env.FILES_MB ?? (isLong ? 200 : 3));
/** Over what the server has before. */
const mostMegabytes = 200;

const store = useStore(withoutSwift ? 'Postgres' : 'S3');
const db = useDatabase();
let folder: string;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobtree-files-'));
});
afterAll(async () => {
  for (const server of servers) await server.end();
  await rm(folder, { recursive: true });
});

const description =
  'A bundle of things that somebody wanted, with a text as long as such texts are in files that people export.';

/** Orders; some cells have quotes and line breaks. */
function order(n: number): string {
  const note = n % 10 === 0 ? `"said ""${n}"",\nand left"` : `ordered ${n * 7} of them`;
  return `customer-${n % 9_973},${note},"${n % 300} Long Street, Größstadt ${n % 89_999}","${description}"\n`;
}

/** The header of a CSV file, and its rows, each as it stands there. */
function rowsOf(path: string): string[] {
  const rows: string[] = [];
  let row = '';
  for (const line of readFileSync(path, 'utf8').trimEnd().split('\n')) {
    row += `${line}\n`;
    if (row.split('"').length % 2 === 0) continue;
    rows.push(row);
    row = '';
  }
  return rows;
}

const [header = 'customer,note,address,description\n', ...dataSet] = process.env.FILES_CSV
  ? rowsOf(process.env.FILES_CSV)
  : [];
const rowOf = (n: number) => (dataSet.length > 0 ? dataSet[n % dataSet.length] : order(n));

/** Rows with their numbers in front. Returns how many there are. */
async function writeCsv(path: string): Promise<{ rows: number; bytes: number }> {
  const file = await open(path, 'w');
  let rows = 0;
  let bytes = 0;
  const write = async (text: string) => {
    bytes += Buffer.byteLength(text);
    await file.write(text);
  };
  await write(`n,${header}`);
  while (bytes < megabytes * 1_000_000) {
    let text = '';
    for (let i = 0; i < 5_000; i++, rows++) text += `${rows},${rowOf(rows)}`;
    await write(text);
  }
  await file.close();
  return { rows, bytes };
}

async function gzip(path: string): Promise<string> {
  const target = `${path}.gz`;
  await pipeline(createReadStream(path), createGzip({ level: 1 }), createWriteStream(target));
  return target;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

const startWith = (env: Record<string, string> = {}) =>
  startServerProcess(db.url, { JOBTREE_LOG_LEVEL: 'warn', ...env });

/** The resident memory of a process, in MB. */
const memoryOf = ({ process: { pid } }: ServerProcess) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_000;

async function importState(jobId: string) {
  const [row] = await db.query<{ items: number; finished: boolean; error: string | null; leased: boolean }>(
    `select items::int, finished_at is not null as finished, error_message as error, leased_until > now() as leased
     from jobtree.file_import where job_id = $1`,
    [jobId.replace('Job:', '')],
  );
  if (row === undefined) throw new Error('There is no import.');
  return row;
}

/** Gzipped is the harder of the two: who takes over has to find its place in what it decompresses. */
const kinds = [
  ['gzipped', true],
  ['as it is', false],
] as const;
const ways = storeKinds.flatMap((kind) =>
  (isLong ? kinds : kinds.slice(0, 1)).map(([form, isZipped]) => [form, kind, isZipped] as const),
);

it.each(ways)(
  `${megabytes} MB of CSV, %s, in %s: the server that imports it is killed twice, and every line is there once, in order`,
  async (_, kind, isZipped) => {
    const start = () => startWith(kind === 'S3' ? store.settings : {});
    const csv = join(folder, 'orders.csv');
    const { rows, bytes } = await writeCsv(csv);
    const path = isZipped ? await gzip(csv) : csv;
    let server = await start();
    servers.push(server);
    const before = memoryOf(server);
    let most = 0;
    const watching = setInterval(() => {
      for (const one of servers)
        if (one.process.exitCode === null && one.process.signalCode === null)
          most = Math.max(most, memoryOf(one));
    }, 50);
    const beganAt = performance.now();
    const client = createClient({ url: server.url });
    const { id: uploadId, sha256 } = await client.upload(path);
    const uploadedAt = performance.now();
    expect(sha256).toBe(isLong ? await hashOf(path) : sha256Of(readFileSync(path)).toString('hex'));
    const importAt = performance.now();
    const { id } = await client.createJob({
      type: `orders-${isZipped}-${kind}`,
      file: { uploadId, format: 'CSV' },
    });
    await client.close();

    for (const share of [0.25, 0.6]) {
      for (;;) {
        const { items, error } = await importState(id);
        expect(error).toBeNull();
        if (items >= rows * share) break;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      // The only one, so it is the one that imports; the next one finds the lease of a dead server, and in the short form does not wait for its end.
      await server.end('SIGKILL');
      if (!isLong)
        await db.query(`update jobtree.file_import set leased_until = now() where job_id = $1`, [
          id.replace('Job:', ''),
        ]);
      server = await start();
      servers.push(server);
    }
    for (;;) {
      const { finished, error } = await importState(id);
      expect(error).toBeNull();
      if (finished) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const endedAt = performance.now();
    clearInterval(watching);
    const [books] = await db.query<Record<string, unknown>>(
      `select count(*)::int as items, count(distinct n)::int as numbers, min(n)::int as first, max(n)::int as last, bool_and(in_order) as in_order
       from (
         select (payload ->> 'n')::int as n, (payload ->> 'n')::int = row_number() over (order by position) - 1 as in_order
         from jobtree.job_item where job_id = $1
       ) i`,
      [id.replace('Job:', '')],
    );
    expect(books).toEqual({ items: rows, numbers: rows, first: 0, last: rows - 1, in_order: true });
    expect(most - before).toBeLessThan(mostMegabytes);
    const perSecond = (n: number, ms: number) => Math.round(n / (ms / 1_000)).toLocaleString('en');
    const sizes = `${Math.round(bytes / 1e6)} MB, ${rows.toLocaleString('en')} rows`;
    console.log(
      `${sizes}${isZipped ? ', gzipped' : ''}, in ${kind}: uploaded in ${((uploadedAt - beganAt) / 1_000).toFixed(1)} s; imported in ${((endedAt - importAt) / 1_000).toFixed(1)} s with two kills (${perSecond(rows, endedAt - importAt)} rows/s); memory ${Math.round(before)} MB before, ${Math.round(most)} MB at most`,
    );
    await server.end();
  },
  isLong ? 3_600_000 : 120_000,
);

it(
  'one of two servers imports a file, even if the first one hangs',
  async () => {
    const csv = join(folder, 'orders.csv');
    const { rows } = await writeCsv(csv);
    const [first, second] = [await startWith(), await startWith()];
    servers.push(first, second);
    const client = createClient({ url: first.url });
    const { id: uploadId } = await client.upload(csv);
    const { id } = await client.createJob({ type: 'shared', file: { uploadId, format: 'CSV' } });
    await client.close();
    for (;;) if ((await importState(id)).items > 0) break;
    // Both stop in the middle, whichever is at it; the second one comes back first, and later the first one with what it has in hand.
    first.process.kill('SIGSTOP');
    second.process.kill('SIGSTOP');
    await db.query(`update jobtree.file_import set leased_until = now() where job_id = $1`, [
      id.replace('Job:', ''),
    ]);
    second.process.kill('SIGCONT');
    while (!(await importState(id)).finished) await new Promise((resolve) => setTimeout(resolve, 20));
    first.process.kill('SIGCONT');
    await Promise.all([first.end(), second.end()]);
    const [books] = await db.query(
      `select count(*)::int as items, count(distinct payload ->> 'n')::int as numbers from jobtree.job_item where job_id = $1`,
      [id.replace('Job:', '')],
    );
    expect(books).toEqual({ items: rows, numbers: rows });
  },
  isLong ? 3_600_000 : 120_000,
);
