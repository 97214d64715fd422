import { expect, it } from 'vitest';
import { FairQueue, pathOf } from '../../src/concurrency/fair-queue.ts';

interface Thing {
  readonly name: string;
  readonly size: number;
}

const thing = (name: string, size = 1): Thing => ({ name, size });

function drain(queue: FairQueue<Thing>, fits?: (one: Thing) => boolean): string[] {
  const names: string[] = [];
  for (let next = queue.take(fits); next !== undefined; next = queue.take(fits)) names.push(next.name);
  return names;
}

it('alternates between tenants, and within a tenant between its callers', () => {
  const queue = new FairQueue<Thing>();
  const put = (tenant: string | null, account: string, names: string[]) => {
    for (const name of names) queue.push(pathOf({ tenant, account }), thing(name));
  };
  put('a', 'first', ['a1', 'a2', 'a3']);
  put('a', 'second', ['A1', 'A2']);
  put('b', 'only', ['b1', 'b2']);
  put(null, 'other', ['o1']);
  expect(queue.size).toBe(8);
  expect(drain(queue)).toEqual(['a1', 'b1', 'o1', 'A1', 'b2', 'a2', 'A2', 'a3']);
  expect(queue.size).toBe(0);
});

it('gives each the same amount, not the same number', () => {
  const queue = new FairQueue<Thing>({ turn: 10, costOf: ({ size }) => size });
  for (let i = 0; i < 20; i++) queue.push(['large'], thing('L', 30));
  for (let i = 0; i < 40; i++) queue.push(['small'], thing('s', 10));
  const first = drain(queue).slice(0, 40);
  // Of 30 small ones there are ten large ones.
  expect(first.filter((name) => name === 'L')).toHaveLength(10);
});

it('counts costs that were not known before', () => {
  const queue = new FairQueue<Thing>({ costOf: () => 0 });
  for (let i = 0; i < 9; i++) for (const key of ['a', 'b']) queue.push([key], thing(key));
  const taken: string[] = [];
  for (let i = 0; i < 10; i++) {
    const { name } = queue.take() as Thing;
    taken.push(name);
    queue.charge([name], name === 'a' ? 4 : 1);
  }
  expect(taken.filter((name) => name === 'a')).toHaveLength(2);
});

it('passes over an entry that does not fit, which is then the first', () => {
  const queue = new FairQueue<Thing>({ turn: 100, costOf: ({ size }) => size });
  queue.push(['a'], thing('a', 500));
  for (let i = 1; i <= 3; i++) queue.push(['b'], thing(`b${i}`, 10));
  let room = 25;
  const fits = ({ size }: Thing) => {
    if (size > room) return false;
    room -= size;
    return true;
  };
  expect(drain(queue, fits)).toEqual(['b1', 'b2']);
  expect(drain(queue)).toEqual(['a', 'b3']);
});

it('takes the newest first once the oldest has waited for long, and those that nobody waits for before all', () => {
  const gone = new Set(['g1', 'g2']);
  const late = new FairQueue<Thing>({ lateMs: 0, isOver: ({ name }) => gone.has(name) });
  for (const name of ['g1', 'a', 'g2', 'b', 'c']) late.push(['x'], thing(name));
  expect(drain(late)).toEqual(['g1', 'c', 'b', 'g2', 'a']);
});

it('takes the newest only of those that no other one overtakes', () => {
  const late = new FairQueue<Thing>({ lateMs: 0, isBefore: (one, other) => one.size < other.size });
  for (const [i, size] of [2, 1, 2, 1].entries()) late.push(['x'], thing(`${size}${'abcd'[i]}`, size));
  expect(drain(late)).toEqual(['1d', '1b', '2c', '2a']);
});
