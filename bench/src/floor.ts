/**
 * `npm run bench:floor`: exits with 1 if jobtree adds or completes fewer items a second than any machine should manage. This is
 * no benchmark: a quiet machine with two cores manages twenty times as many. It runs on every change, finds only what is badly
 * wrong, and needs no packages but the repository's.
 */
import { runChild, withJobtree } from './bench.ts';
import { checkAdded } from './checks.ts';
import { closeAll, closeOnSignals, interruption } from './closers.ts';
import { print, whole } from './figures.ts';
import { createJob } from './jobtree.ts';
import { readOptions } from './options.ts';
import { startPostgres } from './postgres.ts';
import type { ProducerTask } from './task.ts';
import { runWork } from './worked.ts';

/** Items per second. */
const floor = 2_000;
const items = 20_000;
const batch = 100;
/** The best round counts, since the machine may have other things to do. */
const rounds = 3;

closeOnSignals();
try {
  const postgres = await startPostgres();
  const bench = { options: readOptions([]), postgres, redisUrl: undefined };
  await withJobtree(bench, async (jobtree) => {
    const { server, database } = jobtree;
    const courses = {
      added: async () => {
        const { id } = await createJob(server.url);
        const task: ProducerTask = { url: server.url, target: id, items, batch, width: 4 };
        const run = await runChild(bench, 'jobtree-producer', task, jobtree);
        await checkAdded(database.pool, id, items);
        return run;
      },
      'claimed and completed': () => runWork(bench, jobtree, { items, batch }),
    };
    const rows: string[][] = [];
    for (const [name, run] of Object.entries(courses)) {
      let best = 0;
      for (let round = 0; round < rounds && best < floor; round++)
        best = Math.max(best, (await run()).perSecond);
      rows.push([name, whole(best), best < floor ? 'MISSED' : 'met']);
      if (best < floor) process.exitCode = 1;
    }
    print({ title: `items per second, at least ${whole(floor)}`, columns: ['', 'found', ''], rows });
  });
} catch (error) {
  if (interruption.exitCode === undefined) console.error(error);
  process.exitCode = interruption.exitCode ?? 1;
} finally {
  await closeAll();
}
process.exit();
