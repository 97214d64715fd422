/** The memory and speed of `jobtree import` with a large CSV file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { checkAdded } from '../checks.ts';
import { atEnd } from '../closers.ts';
import { whole } from '../figures.ts';
import { cleanEnvironment, program } from '../server.ts';
import { memory } from '../usage.ts';

const limit = 150;
const rowsPerItem = 10;
const pollMs = 20;

export async function measureImport(bench: Bench): Promise<Report> {
  const rows = bench.options.items * rowsPerItem;
  const file = join(bench.postgres.directory, 'rows.csv');
  await pipeline(Readable.from(csv(rows)), createWriteStream(file));
  const megabytes = (await stat(file)).size / 1_000_000;
  const { ms, peak } = await withJobtree(bench, (jobtree) => importFile(jobtree, file, rows));
  await rm(file);

  const perSecond = (rows / ms) * 1000;
  return {
    tables: [
      {
        title: 'import of a CSV file',
        columns: ['rows', 'MB', 'rows per second', 'highest memory, MB'],
        rows: [[whole(rows), megabytes.toFixed(0), whole(perSecond), peak.toFixed(0)]],
      },
    ],
    verdicts: [
      {
        target: `import of ${whole(rows)} rows: at most ${limit} MB resident`,
        found: `${peak.toFixed(0)} MB at its highest`,
        met: peak < limit,
      },
    ],
    figures: { rows, megabytes, perSecond, peak },
  };
}

async function importFile({ database, server }: Jobtree, file: string, rows: number) {
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [program, 'import', file, '--type', 'bench', '--url', server.url, '--no-upload', '--json'],
    { env: cleanEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] },
  );
  atEnd(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-1_000);
  });
  // The peak never decreases, so the last reading before the end is the result.
  let peak = Number.NaN;
  const poll = setInterval(() => {
    peak = memory(child.pid as number)?.peak ?? peak;
  }, pollMs);
  const [code] = await once(child, 'exit');
  clearInterval(poll);
  const ms = performance.now() - start;
  if (code !== 0) throw new Error(`jobtree import ended with ${code}: ${said}`);
  const { rows: jobs } = await database.pool.query('select id from jobtree.job');
  await checkAdded(database.pool, jobs[0].id, rows);
  return { ms, peak };
}

function* csv(rows: number): Generator<string> {
  yield 'id,name,city,latitude,longitude,remark\n';
  const lines = 1_000;
  for (let first = 0; first < rows; first += lines) {
    let text = '';
    for (let i = first; i < Math.min(first + lines, rows); i++) {
      text += `${i},Airport number ${i},"Springfield, no. ${i % 977}",${(i % 180) - 90}.25,${(i % 360) - 180}.5,no remark\n`;
    }
    yield text;
  }
}
