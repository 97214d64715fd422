/**
 * Items of a transaction that commits late stand before many that were added after them and that claims have passed by.
 * LATE_ITEMS makes it larger, and then they must be claimed within 3 s.
 */
import { expect, it } from 'vitest';
import { signal } from '../client/signals.ts';
import { useServer } from '../support/use-server.ts';

const lateCount = Number(process.env.LATE_ITEMS ?? 2_000);
const withinMs = process.env.LATE_ITEMS === undefined ? 20_000 : 3_000;
const backlogCount = 10 * lateCount;
const transactionCount = 4;
/** Of a claim. */
const limit = 500;
const type = 'late';

const { db, client } = useServer();

const adding = `select cardinality(positions) as count
  from jobtree.add_items($1, (select json_agg(json_build_object('payload', $2::text)) from generate_series(1, $3::integer)))`;

it(`${lateCount} items of transactions that commit late are claimed at once, though ${backlogCount} were added after them`, async () => {
  const { id } = await client.createJob({ type });
  const job = id.slice('Job:'.length);
  const transactions = await Promise.all(Array.from({ length: transactionCount }, () => db.connect()));
  for (const transaction of transactions) {
    await transaction.query('begin');
    await transaction.query(adding, [job, 'late', lateCount / transactionCount]);
  }
  for (let left = backlogCount; left > 0; left -= 1_000) {
    await db.query(adding, [job, 'backlog', Math.min(1_000, left)]);
  }

  const over = new AbortController();
  const passedBy = signal();
  const allLate = signal<number>();
  let [claimedBacklog, claimedLate, worked] = [0, 0, 0];
  /** Always two claims under way: an item is reported while the next ones are claimed. */
  const claiming = [1, 2].map(async (n) => {
    let reported: Promise<unknown> = Promise.resolve();
    while (!over.signal.aborted) {
      const claimed = await client.claimItems(`loop ${n}`, [{ type, limit }]);
      for (const { payload } of claimed) {
        if (payload === 'late') claimedLate++;
        else claimedBacklog++;
      }
      if (claimedBacklog >= 4 * limit) passedBy.fire();
      if (claimedLate === lateCount) allLate.fire(performance.now());
      await reported;
      const reports = claimed.map((assignment) => ({ assignmentId: assignment.id, result: null }));
      reported =
        reports.length === 0
          ? Promise.resolve()
          : client.reportOutcomes(reports).then((answers) => {
              worked += answers.filter(({ status }) => status === 'ACCEPTED').length;
            });
    }
    await reported;
  });
  await passedBy.promise;
  expect(claimedLate).toBe(0);
  expect(claimedBacklog).toBeLessThan(backlogCount);

  const committedAt = performance.now();
  await Promise.all(transactions.map((transaction) => transaction.query('commit')));
  const tookMs = Math.round((await allLate.promise) - committedAt);
  if (process.env.LATE_ITEMS !== undefined) {
    console.log(
      `${lateCount} late items were claimed ${tookMs} ms after their commit, of the others ${claimedBacklog}`,
    );
  }
  expect(tookMs).toBeLessThan(withinMs);
  over.abort();
  await Promise.all(claiming);
  await Promise.all(transactions.map((transaction) => transaction.end()));
  expect(worked).toBe(claimedLate + claimedBacklog);
}, 300_000);
