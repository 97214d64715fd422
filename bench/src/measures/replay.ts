/** How long it takes to replay very many dead letters, and what that costs workers of another type meanwhile. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../../dist/client/index.js';
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { ratio, whole } from '../figures.ts';
import { createJob, fillJob, withClient } from '../jobtree.ts';
import { ratesDuring } from '../rates.ts';
import { atLeast, atMost } from '../verdicts.ts';

/** How many times more items are processed than replayed, so that the work outlasts the measurement. */
const workedPerItem = 12;
/** For measuring the rate without a replay, before and after it. */
const quietMs = 3_000;
const pollMs = 10;
const batch = 100;
const limits = { ms: 10_000, rate: 0.8 };

export async function measureReplay(bench: Bench): Promise<Report> {
  const { items } = bench.options;
  const { ms, quiet, busy } = await withJobtree(bench, (jobtree) =>
    withClient(jobtree.server.url, async (client) => {
      const jobId = await failAll(jobtree, client, items);
      let ms = Number.NaN;
      const [before, busy, after] = await ratesDuring(jobtree, items * workedPerItem, batch, [
        () => delay(quietMs),
        async () => {
          const startedAt = performance.now();
          const begun = await client.replayDeadLetters({ jobId });
          let operation = begun;
          if (begun.status === 'RUNNING') for await (operation of client.watchOperation(begun.id));
          ms = performance.now() - startedAt;
          if (operation.done !== items) throw new Error(`${operation.done} of ${items} items were replayed.`);
        },
        () => delay(quietMs),
      ]);
      return { ms, quiet: ((before as number) + (after as number)) / 2, busy: busy as number };
    }),
  );
  const times = busy / quiet;
  return {
    tables: [
      {
        title: `replay: ${whole(items)} dead letters of one job, while items of another type are worked on (batches of ${batch})`,
        columns: ['', 'ms', 'items of the other type per second'],
        rows: [
          ['without a replay', '', whole(quiet)],
          ['during the replay', whole(ms), whole(busy)],
          ['ratio', '', ratio(times)],
        ],
      },
    ],
    verdicts: [
      atMost({
        name: `replay ${whole(items)} dead letters`,
        limit: limits.ms,
        found: ms,
        unit: ' ms',
        digits: 0,
      }),
      atLeast({
        name: 'replay, rate of another type against that without',
        limit: limits.rate,
        found: times,
      }),
    ],
    figures: { items, ms, quiet, busy, ratio: times },
  };
}

/** Creates a complete job all of whose items failed for good. */
async function failAll({ database, server }: Jobtree, client: Client, items: number): Promise<string> {
  const { id, type } = await createJob(server.url, { maxFailuresPerItem: 0 });
  await fillJob(database.pool, id, items);
  await client.sealJob(id);
  for (let failed = 0; failed < items; ) {
    const held = await client.claimItems('bench', [{ type, limit: 1_000 }]);
    failed += held.length;
    await client.reportOutcomes(
      held.map(({ id: assignmentId }, i) => ({
        assignmentId,
        failure: { code: 'BAD_ROW', message: `Row ${i} is bad.` },
      })),
    );
  }
  while ((await client.deadLetterCount({ jobId: id })) < items) await delay(pollMs);
  return id;
}
