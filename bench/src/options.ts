/** The options of the command line: what to measure, and how. */
import { parseArgs } from 'node:util';

export const measures = [
  'add',
  'work',
  'jobs',
  'failures',
  'fed',
  'dead-rows',
  'snapshot',
  'history',
  'growth',
  'cancel',
  'replay',
  'retention',
  'heartbeats',
  'priorities',
  'limits',
  'fairness',
  'fair-adds',
  'overload',
  'rights',
  'serialize',
  'memory',
  'import',
  'latency',
  'fanout',
  'idle',
  'idle-claims',
  'watched',
  'tokens',
  'wake',
  'notify',
  'slow',
  'dashboard',
] as const;
export type Measure = (typeof measures)[number];

export interface Options {
  readonly items: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly only: ReadonlySet<Measure>;
  readonly batches: readonly number[];
  /** The most subscribers in the measures of live progress. */
  readonly subscribers: number;
  readonly liveSeconds: number;
  readonly samples: number;
  /** How many finished items the tables have in the measure `history`. */
  readonly history: number;
  /** The folder of the programs of an installed Postgres. Default: the embedded one. */
  readonly postgres: string | undefined;
  readonly redis: boolean;
  readonly profiles: string | undefined;
  readonly json: string | undefined;
}

export const usage = `npm run bench -- [options]
  --only A,B     what to measure: ${measures.join(', ')} (all of it)
  --items N      items in a run (100000); runs of small batches take a part of it, import, cancel and retention ten times as many
  --batches A,B  batch sizes (1,10,100,500)
  --rounds N     runs of each contender, of which the median counts (3)
  --seconds N    how long the snapshot is held (300); notify and slow go on for at most 60
  --subscribers N  the most that watch in latency, idle, idle-claims and watched (10000)
  --live-seconds N how long each course of latency and fanout lasts (4)
  --samples N    how often an idle worker is woken (500)
  --history N    finished items in the tables of the measure history (10000000)
  --postgres DIR an installed Postgres, by the folder of its programs (the embedded one)
  --redis        give servers a Redis: redis-server, which must be installed
  --cpu-prof DIR write CPU profiles of servers there
  --json FILE    write the figures there, too`;

/** @throws Error that says which option is wrong */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: measures.join(',') },
      items: { type: 'string', default: '100000' },
      batches: { type: 'string', default: '1,10,100,500' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '300' },
      subscribers: { type: 'string', default: '10000' },
      'live-seconds': { type: 'string', default: '4' },
      samples: { type: 'string', default: '500' },
      history: { type: 'string', default: '10000000' },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      redis: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  return {
    items: integer('--items', values.items, 500, 5_000_000),
    rounds: integer('--rounds', values.rounds, 1, 100),
    seconds: integer('--seconds', values.seconds, 10, 3_600),
    batches: values.batches.split(',').map((text) => integer('--batches', text, 1, 1_000)),
    only: new Set(values.only.split(',').map(measure)),
    subscribers: integer('--subscribers', values.subscribers, 1, 50_000),
    liveSeconds: integer('--live-seconds', values['live-seconds'], 1, 600),
    samples: integer('--samples', values.samples, 10, 100_000),
    history: integer('--history', values.history, 1_000, 1_000_000_000),
    postgres: values.postgres,
    redis: values.redis,
    profiles: values['cpu-prof'],
    json: values.json,
  };
}

function measure(name: string): Measure {
  const known = measures.find((one) => one === name);
  if (known === undefined) throw new Error(`--only: there is no ${name}, only ${measures.join(', ')}`);
  return known;
}

function integer(name: string, text: string, lowest: number, highest: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= lowest && value <= highest) return value;
  throw new Error(`${name} is ${text}; it must be a whole number from ${lowest} to ${highest}`);
}
