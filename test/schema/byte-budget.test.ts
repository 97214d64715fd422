import { expect, it } from 'vitest';
import { ByteBudget } from '../../src/schema/core/byte-budget.ts';

it('limits the bytes under way, in order of arrival; small requests and failures delay nobody', async () => {
  const budget = new ByteBudget(1_000_000);
  const ends = new Map<string, () => void>();
  const begun: string[] = [];
  const run = (name: string, bytes: number) =>
    budget.run(bytes, () => {
      begun.push(name);
      return new Promise<void>((resolve, reject) => {
        ends.set(name, name === 'fails' ? () => reject(new Error('no')) : resolve);
      });
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  const all = [
    run('fails', 600_000),
    run('second', 400_000),
    run('too large', 5_000_000),
    run('behind it', 300_000),
    run('small', 1_000),
  ];
  const settled = Promise.allSettled(all);
  await new Promise(setImmediate);
  expect(begun).toEqual(['fails', 'second', 'small']);
  await end('fails');
  expect(begun).toHaveLength(3);
  await end('second');
  expect(begun.slice(3)).toEqual(['too large']);
  await end('too large');
  expect(begun.slice(4)).toEqual(['behind it']);
  await end('behind it');
  await end('small');
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', ...Array(4).fill('fulfilled')]);
});
