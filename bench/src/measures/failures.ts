/** What it costs if some items fail once and are tried again at once, against the same work without failures. */
import { alternate, type Bench, itemsFor, type Report, withJobtree } from '../bench.ts';
import { cpu, medianRun, ratio, whole } from '../figures.ts';
import { atLeast } from '../verdicts.ts';
import { runWork } from '../worked.ts';

const batch = 100;
const failEvery = 20;
const policies = { backoffMs: [0], backoffJitter: 0 };
const limit = 0.8;

export async function measureFailures(bench: Bench): Promise<Report> {
  const { options } = bench;
  const items = itemsFor(options.items, batch);
  const runs = await withJobtree(bench, (jobtree) =>
    alternate(options, items, {
      none: (items) => runWork(bench, jobtree, { items, batch, policies }),
      some: (items) => runWork(bench, jobtree, { items, batch, policies, failEvery }),
    }),
  );
  const [none, some] = [medianRun(runs.none), medianRun(runs.some)];
  const times = some.perSecond / none.perSecond;
  const percent = `${100 / failEvery} %`;
  return {
    tables: [
      {
        title: `failures: ${whole(items)} items completed, of which ${percent} fail once (batches of ${batch})`,
        columns: ['', 'items per second', 'CPU', 'WAL'],
        rows: [
          ['none fails', whole(none.perSecond), cpu(none), whole(none.walPerItem)],
          [`${percent} fail once`, whole(some.perSecond), cpu(some), whole(some.walPerItem)],
          ['ratio', ratio(times), '', ''],
        ],
        note: 'An item counts once, however often it was tried. CPU: microseconds per item of worker + server + Postgres. WAL: bytes per item.',
      },
    ],
    verdicts: [
      atLeast({ name: `${percent} of the items fail once, rate against none`, limit, found: times }),
    ],
    figures: {
      items,
      none: { median: none, runs: runs.none },
      some: { median: some, runs: runs.some },
      ratio: times,
    },
  };
}
