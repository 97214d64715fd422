import pino from 'pino';
import { expect, it } from 'vitest';
import { type Part, Parts } from '../../src/server/parts.ts';

const logger = pino({ level: 'silent' });

function recorded(names: string[], faults: Record<string, Partial<Part>> = {}) {
  const log: string[] = [];
  const parts = names.map(
    (name): Part => ({
      name,
      start: () => log.push(`start ${name}`),
      stop: () => log.push(`stop ${name}`),
      ...faults[name],
    }),
  );
  return { log, parts: new Parts(parts, logger) };
}

it('parts start in order, and stop in the opposite one', async () => {
  const { log, parts } = recorded(['a', 'b']);
  await parts.start();
  await parts.stop();
  expect(log).toEqual(['start a', 'start b', 'stop b', 'stop a']);
});

it('one that fails to start stops all, and its error is thrown', async () => {
  const { log, parts } = recorded(['a', 'b', 'c'], {
    b: {
      start: () => {
        throw new Error('no');
      },
    },
  });
  await expect(parts.start()).rejects.toThrow('no');
  expect(log).toEqual(['start a', 'stop c', 'stop b', 'stop a']);
});

it('one that fails to stop does not keep others from stopping, and one that hangs is named', async () => {
  let release = () => {};
  const { log, parts } = recorded(['a', 'b', 'c'], {
    b: {
      stop: () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    },
    c: { stop: () => Promise.reject(new Error('no')) },
  });
  const stopped = parts.stop();
  await expect.poll(() => parts.stopping).toBe('b');
  release();
  await stopped;
  expect(log).toEqual(['stop a']);
  expect(parts.stopping).toBeUndefined();
});
