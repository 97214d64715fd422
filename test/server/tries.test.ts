import { expect, it } from 'vitest';
import { UnauthenticatedError } from '../../src/errors.ts';
import { Tries } from '../../src/server/limits/tries.ts';

const bad = () => Promise.reject(new UnauthenticatedError('none'));
const good = async () => 'good';

it('any number of valid ones from an address pass, also at once', async () => {
  const tries = new Tries();
  const found = await Promise.all(Array.from({ length: 1_000 }, () => tries.run('a', good)));
  expect(new Set(found)).toEqual(new Set(['good']));
});

it('an address with many invalid ones is refused for a second at most, and no other is', async () => {
  const tries = new Tries();
  const shown = await Promise.allSettled(Array.from({ length: 500 }, () => tries.run('a', bad)));
  expect(shown.every(({ status }) => status === 'rejected')).toBe(true);
  await expect(tries.run('a', good)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await tries.run('b', good)).toBe('good');
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  expect(await tries.run('a', good)).toBe('good');
});

it('slow ones delay only their address, and few of many invalid ones are checked', async () => {
  const tries = new Tries({ atOnce: 5 });
  let looked = 0;
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const slow = Array.from({ length: 100 }, () =>
    tries.run('a', async () => {
      looked++;
      await ended;
      return bad();
    }),
  );
  expect(await tries.run('b', good)).toBe('good');
  expect(looked).toBe(5);
  end();
  const codes = (await Promise.allSettled(slow)).map(
    (outcome) => (outcome as PromiseRejectedResult).reason.code,
  );
  expect(looked).toBeLessThan(25);
  expect(new Set(codes)).toEqual(new Set(['UNAUTHENTICATED', 'UNAVAILABLE']));
});
