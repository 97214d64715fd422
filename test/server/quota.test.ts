import { expect, it } from 'vitest';
import { Quota } from '../../src/server/limits/quota.ts';

const [a, b] = [{ account: 'a' }, { account: 'b' }];
const limits = { mostPerCaller: 1_000_000, most: 2_000_000 };

it('an idle caller can take anything once', () => {
  const quota = new Quota(limits);
  expect(quota.share(a).take(5_000_000)).toBeUndefined();
  expect(quota.share(a).take(5_000_000)).toBe('caller');
  expect(quota.share(b).take(5_000_000)).toBe('server');
});

it('a tenth is reserved for small work, even if large work holds more than there is', () => {
  const quota = new Quota(limits);
  quota.share(a).set(30_000_000);
  expect(quota.share(a).take(70_000)).toBe('caller');
  expect(quota.share(b).take(70_000)).toBe('server');
  const shares = Array.from({ length: 3 }, () => [a, b].map((owner) => quota.share(owner))).flat();
  expect(shares.map((share) => share.take(33_000))).toEqual(shares.map(() => undefined));
  expect(quota.share(a).take(33_000)).toBe('caller');
});

it('a share that grows in small steps is large', () => {
  const quota = new Quota(limits);
  const share = quota.share(a);
  let taken = 0;
  while (share.take(50_000) === undefined) taken += 50_000;
  expect(taken).toBe(900_000);
  share.release();
  expect(quota.share(a).take(5_000_000)).toBeUndefined();
});

it('the callers of a tenant share a part, and a caller may have its own', () => {
  const quota = new Quota({
    mostPerCaller: ({ account }) => (account === 'x//2' ? 1 : 3),
    mostPerTenant: 4,
    most: 6,
  });
  const [one, two] = [
    { tenant: 'x', account: 'x//1' },
    { tenant: 'x', account: 'x//2' },
  ];
  const take = (owner: object) => quota.share(owner).take();
  expect([take(one), take(one), take(one), take(one)]).toEqual([undefined, undefined, undefined, 'caller']);
  expect([take(two), take(two)]).toEqual([undefined, 'caller']);
  expect(take({ tenant: 'x', account: 'x//3' })).toBe('tenant');
  expect([take(a), take(b), take(b)]).toEqual([undefined, undefined, 'server']);
});
