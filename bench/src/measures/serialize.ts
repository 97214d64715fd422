/** What serialize keys cost: claims with very many blocked items in the queue, and work whose items all have keys. */
import type pg from 'pg';
import { alternate, type Bench, itemsFor, type Report, withJobtree } from '../bench.ts';
import { cpu, median, medianRun, ratio, whole } from '../figures.ts';
import { createJob, fillItems, fillJob } from '../jobtree.ts';
import { inBatches } from '../payload.ts';
import { atLeast, atMost } from '../verdicts.ts';
import { runWork } from '../worked.ts';

const batch = 100;
const blocked = 100_000;
const counts = [1, 1_000, 100_000];
/** How many claims of each type: the one with blocked items, and the one without. */
const claims = 300;
const workedKeys = 1_000;
const limits = { claim: 1.1, work: 0.5 };

export async function measureSerialize(bench: Bench): Promise<Report> {
  const { options } = bench;
  const claimed: { keys: number; ms: number; beside: number }[] = [];
  for (const keys of counts) {
    claimed.push(
      await withJobtree(bench, async ({ server, database }) => {
        const plain = await createJob(server.url);
        const crowded = await createJob(server.url);
        const heads = await createJob(server.url);
        const keyOf = ({ number }: { number: number }) => ({ serializeKey: `key ${number % keys}` });
        await inBatches(keys, (some) => fillItems(database.pool, heads.id, some, keyOf));
        await inBatches(blocked, (some) => fillItems(database.pool, crowded.id, some, keyOf));
        for (const { id } of [plain, crowded]) await fillJob(database.pool, id, claims * batch);
        await database.pool.query('vacuum analyze');
        return { keys, ...(await timeClaims(database.pool, plain.type, crowded.type)) };
      }),
    );
  }

  const items = itemsFor(options.items, batch);
  const runs = await withJobtree(bench, (jobtree) =>
    alternate(options, items, {
      none: (items) => runWork(bench, jobtree, { items, batch }),
      keyed: (items) => runWork(bench, jobtree, { items, batch, keys: workedKeys }),
    }),
  );
  const [none, keyed] = [medianRun(runs.none), medianRun(runs.keyed)];
  const times = keyed.perSecond / none.perSecond;
  return {
    tables: [
      {
        title: `serialize: a claim of ${batch} items, beside ${whole(blocked)} blocked items of its type, and with none`,
        columns: ['keys', 'ms', 'ms with none', 'ratio'],
        rows: claimed.map(({ keys, ms, beside }) => [
          whole(keys),
          ms.toFixed(3),
          beside.toFixed(3),
          ratio(ms / beside),
        ]),
        note: `Medians of ${claims} claims of each of two types, in turns.`,
      },
      {
        title: `serialize: ${whole(items)} items completed (batches of ${batch})`,
        columns: ['', 'items per second', 'CPU', 'WAL'],
        rows: [
          ['without keys', whole(none.perSecond), cpu(none), whole(none.walPerItem)],
          [`over ${whole(workedKeys)} keys`, whole(keyed.perSecond), cpu(keyed), whole(keyed.walPerItem)],
          ['ratio', ratio(times), '', ''],
        ],
        note: 'CPU: microseconds per item of worker + server + Postgres. WAL: bytes per item.',
      },
    ],
    verdicts: [
      ...claimed.map(({ keys, ms, beside }) =>
        atMost({
          name: `a claim beside ${whole(blocked)} blocked items over ${whole(keys)} keys, against none`,
          limit: limits.claim,
          found: ms / beside,
        }),
      ),
      atLeast({
        name: `work over ${whole(workedKeys)} keys, against none`,
        limit: limits.work,
        found: times,
      }),
    ],
    figures: {
      claimed,
      items,
      none: { median: none, runs: runs.none },
      keyed: { median: keyed, runs: runs.keyed },
      ratio: times,
    },
  };
}

/** Claims from both types, in alternating order. */
async function timeClaims(
  pool: pg.Pool,
  plain: string,
  crowded: string,
): Promise<{ ms: number; beside: number }> {
  const times = { [plain]: [] as number[], [crowded]: [] as number[] };
  for (let i = 0; i < claims; i++) {
    for (const type of i % 2 === 0 ? [plain, crowded] : [crowded, plain]) {
      const startedAt = performance.now();
      const { rows } = await pool.query({
        name: 'claim',
        text: `select sum(h.items)::int as items from (
                 select (regexp_count(c.payloads, E'\\x1e') + 1) as items from jobtree.claim_items(array['w'], array[$1], array[$2::int]) c
               ) h`,
        values: [type, batch],
      });
      times[type]?.push(performance.now() - startedAt);
      if (rows[0].items !== batch) throw new Error(`A claim got ${rows[0].items} of ${batch} items.`);
    }
  }
  return { ms: median(times[crowded] ?? []), beside: median(times[plain] ?? []) };
}
