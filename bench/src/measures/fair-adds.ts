/**
 * Whether a tenant that adds items as fast as it can leaves another its share. One has 40 producers, each with a job of its own, and the other
 * has 4. The fair share of the small one is what it adds beside a tenant with as many producers as itself: each of its producers waits for an
 * answer before the next call, so four of them never fill half of a server. Then it sends few calls, and the time of their answers counts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { startService } from '../child.ts';
import type { Course, ImpatientMethods } from '../children/impatient-callers.ts';
import { median, ratio, whole } from '../figures.ts';
import { withClient } from '../jobtree.ts';
import { createKey } from '../keys.ts';
import type { ImpatientTask } from '../task.ts';
import { atLeast, atMost } from '../verdicts.ts';

const items = 200;
const producers = { many: 40, few: 4 };
/** Nobody gives up. */
const limitMs = 60_000;
const seconds = 6;
/** Calls a second while the time of their answers is measured. */
const paced = 20;
const fillingSeconds = 2;
/** Below this, a time counts as short however long it is alone. */
const shortMs = 200;
const mostTimes = 3;

interface Found {
  readonly alone: number;
  readonly fair: number;
  readonly beside: number;
  readonly large: number;
  readonly aloneMs: number;
  readonly besideMs: number;
  readonly refused: number;
}

export async function measureFairAdds(bench: Bench): Promise<Report> {
  const found = await withJobtree(bench, run, { env: { JOBTREE_AUTH: 'keys' } });
  const { alone, fair, beside, large, aloneMs, besideMs } = found;
  const share = beside / fair;
  return {
    tables: [
      {
        title: `fair-adds: a tenant with ${producers.few} producers beside one with ${producers.many}, ${items} items a call`,
        columns: ['', 'calls per second', 'of its fair share', `p99 of ${paced} calls a second`],
        rows: [
          ['alone', whole(alone), '', `${whole(aloneMs)} ms`],
          ['beside one with as many', whole(fair), ratio(1), ''],
          ['beside the other', whole(beside), ratio(share), `${whole(besideMs)} ms`],
          ['the other', whole(large), '', ''],
        ],
      },
    ],
    verdicts: [
      atLeast({
        name: 'of its fair share, a tenant that adds beside another at full load',
        limit: 0.8,
        found: share,
      }),
      atMost({
        name: `p99 of adding beside another tenant at full load, of ${mostTimes} times alone or ${shortMs} ms`,
        limit: 1,
        found: besideMs / Math.max(shortMs, mostTimes * aloneMs),
      }),
    ],
    figures: found,
  };
}

async function run({ database, server }: Jobtree): Promise<Found> {
  const start = async (tenant: keyof typeof producers) => {
    const token = await createKey(database.url, { roles: ['producer'], tenant });
    const jobIds = await withClient(
      server.url,
      (client) =>
        Promise.all(
          Array.from(
            { length: producers[tenant] },
            async () => (await client.createJob({ type: 'fair' })).id,
          ),
        ),
      token,
    );
    const task: ImpatientTask = { url: server.url, items, limitMs, token, jobIds };
    return startService<ImpatientMethods>('impatient-callers', task);
  };
  const [few, many] = [await start('few'), await start('many')];
  const rate = ({ done }: Course) => median(done.slice(fillingSeconds));
  await few.ask.closed(producers.few, seconds);
  const alone = rate(await few.ask.closed(producers.few, seconds));
  const aloneMs = (await few.ask.open(paced, seconds)).p99Ms;
  const equal = many.ask.closed(producers.few, seconds);
  const fair = rate(await few.ask.closed(producers.few, seconds));
  await equal;
  const flood = many.ask.closed(producers.many, 2 * seconds + fillingSeconds);
  await delay(fillingSeconds * 1_000);
  const beside = rate(await few.ask.closed(producers.few, seconds));
  const { p99Ms: besideMs } = await few.ask.open(paced, seconds);
  const { done, ends } = await flood;
  const large = median(done.slice(2 * fillingSeconds, fillingSeconds + seconds));
  await Promise.all([few.stop(), many.stop()]);
  return { alone, fair, beside, large, aloneMs, besideMs, refused: ends.refused };
}
