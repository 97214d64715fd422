import { expect, it } from 'vitest';
import { FairSemaphore } from '../../src/concurrency/fair-semaphore.ts';

it('run up to a limit, and those that wait alternate between callers', async () => {
  const turns = new FairSemaphore(2);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) =>
    turns.run({ account: name[0] }, async () => {
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

it.each([
  ['while those who send few send anything, those who send many have a quarter of the places', Infinity, 2],
  ['alone, those who send many have all places that are free', 0, 7],
])('%s', async (_, sharedMs, expected) => {
  const turns = new FairSemaphore(8, { sharedMs });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (name: string) =>
    turns.run({ tenant: name[0] }, async () => {
      begun.push(name);
      await new Promise<void>((end) => ends.push(end));
    });
  const many = (count: number) => Array.from({ length: count }, (_, n) => run(`m${n}`));
  // They are known by how much of theirs runs and waits.
  const before = many(5);
  const all = [run('f'), ...many(12)];
  expect(begun).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'f', ...(sharedMs === 0 ? ['m0', 'm1'] : [])]);
  for (const end of ends.splice(0, 5)) end();
  await Promise.all(before);
  await expect.poll(() => begun.length - 5).toBe(1 + expected);
  for (let ended = 0; ended < all.length; ended++) {
    await expect.poll(() => ends.length).toBeGreaterThan(ended);
    ends[ended]?.();
  }
  await Promise.all(all);
});

it('alternate between the requests of one caller', async () => {
  const turns = new FairSemaphore(1);
  const [large, small, other] = [{ account: 'a' }, { account: 'a' }, { account: 'b' }];
  const begun: string[] = [];
  await Promise.all(
    [
      ...['l1', 'l2', 'l3', 'l4'].map((name) => [large, name] as const),
      [small, 's1'] as const,
      ...['o1', 'o2', 'o3'].map((name) => [other, name] as const),
    ].map(([request, name]) => turns.run(request, async () => void begun.push(name))),
  );
  expect(begun).toEqual(['l1', 'l2', 'o1', 's1', 'o2', 'l3', 'o3', 'l4']);
});

it('one that has waited for too long is refused, and takes no turn', async () => {
  const turns = new FairSemaphore(1, { waitMs: 20, isSerial: true });
  let end = () => {};
  const first = turns.run({}, () => new Promise<void>((resolve) => (end = resolve)));
  const begun: string[] = [];
  const late = turns.run({}, async () => begun.push('late'));
  await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  end();
  await first;
  await turns.run({}, async () => begun.push('next'));
  expect(begun).toEqual(['next']);
});

it('a failing one passes its turn on', async () => {
  const turns = new FairSemaphore(1);
  const failing = turns.run({ account: 'a' }, () => Promise.reject(new Error('no')));
  const next = turns.run({ account: 'a' }, async () => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
  expect(await turns.run({}, async () => 'free again')).toBe('free again');
});

it('one whose caller has left is dropped at its turn', async () => {
  const turns = new FairSemaphore(1);
  let isGone = false;
  let end = () => {};
  const first = turns.run({}, () => new Promise<void>((resolve) => (end = resolve)));
  const left = turns.run({ isGone: () => isGone }, async () => 'done for nobody');
  const next = turns.run({}, async () => 'done');
  isGone = true;
  end();
  await first;
  await expect(left).rejects.toThrow('The client has gone.');
  expect(await next).toBe('done');
});
