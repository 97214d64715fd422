/** What is to be measured, from the command line. */
import { parseArgs } from 'node:util';

export const measures = ['add', 'work', 'snapshot', 'memory', 'import', 'notify', 'slow'] as const;
export type Measure = (typeof measures)[number];

export interface Options {
  readonly items: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly only: ReadonlySet<Measure>;
  readonly batches: readonly number[];
  readonly json: string | undefined;
}

export const usage = `npm run bench -- [options]
  --only add,work,snapshot,memory,import,notify,slow   what to measure (all of it)
  --items N      items in a run (100000); runs of small batches take a part of it, the import ten times as many
  --batches A,B  batch sizes (1,10,100,500)
  --rounds N     runs of each contender, of which the median counts (3)
  --seconds N    how long the snapshot is held, and notify and slow go on (60)
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
      seconds: { type: 'string', default: '60' },
      json: { type: 'string' },
    },
  });
  return {
    items: integer('--items', values.items, 500, 5_000_000),
    rounds: integer('--rounds', values.rounds, 1, 100),
    seconds: integer('--seconds', values.seconds, 10, 3_600),
    batches: values.batches.split(',').map((text) => integer('--batches', text, 1, 1_000)),
    only: new Set(values.only.split(',').map(measure)),
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
