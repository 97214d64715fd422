import { expect, it } from 'vitest';
import { Turns } from '../../src/schema/turns.ts';

it('so many at a time, and those who wait by turns from each client', async () => {
  const turns = new Turns(2);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) =>
    turns.run(name[0] as string, async () => {
      begun.push(name);
      await new Promise<void>((end) => ends.push(end));
    }),
  );
  expect(begun).toEqual(['a1', 'a2']);
  for (let ended = 0; ended < all.length; ended++) {
    await expect.poll(() => ends.length).toBeGreaterThan(ended);
    ends[ended]?.();
  }
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']);
});

it('one that fails gives its turn to the next', async () => {
  const turns = new Turns(1);
  const failing = turns.run('a', () => Promise.reject(new Error('no')));
  const next = turns.run('a', async () => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
  expect(await turns.run('b', async () => 'free again')).toBe('free again');
});
