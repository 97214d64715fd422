import { describe, expect, it } from 'vitest';
import { Merger } from '../../src/domain/merger.ts';
import { InvalidInputError } from '../../src/errors.ts';

/** A merger whose batches end when the test says so. */
function controlled(options: { width?: number; maxWeight?: number; onIdle?: () => void } = {}) {
  const batches: { entries: number[]; finish: () => void; fail: (error: Error) => void }[] = [];
  const merger = new Merger<number, number>({
    width: 1,
    maxWeight: 100,
    ...options,
    run: (entries) =>
      new Promise((resolve, reject) => {
        batches.push({ entries, finish: () => resolve(entries.map((entry) => entry * 10)), fail: reject });
      }),
  });
  return { merger, batches };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Merger', () => {
  it('sends a call at once when nothing is under way', () => {
    const { merger, batches } = controlled();
    void merger.submit([1, 2]);
    expect(batches.map(({ entries }) => entries)).toEqual([[1, 2]]);
  });

  it('sends what arrives meanwhile as one, and gives each caller its own answers', async () => {
    const { merger, batches } = controlled();
    const calls = [merger.submit([1]), merger.submit([2, 3]), merger.submit([4])];
    batches[0]?.finish();
    await settled();
    expect(batches[1]?.entries).toEqual([2, 3, 4]);
    batches[1]?.finish();
    expect(await Promise.all(calls)).toEqual([[10], [20, 30], [40]]);
  });

  it('keeps to its width and to the greatest weight', async () => {
    const { merger, batches } = controlled({ width: 2, maxWeight: 3 });
    for (const entries of [[1], [2], [3, 4], [5], [6]]) void merger.submit(entries);
    expect(batches).toHaveLength(2);
    batches[0]?.finish();
    await settled();
    expect(batches[2]?.entries).toEqual([3, 4, 5]);
  });

  it('lets the fault of one caller reach no other', async () => {
    const { merger, batches } = controlled();
    void merger.submit([0]);
    const calls = Promise.allSettled([merger.submit([1]), merger.submit([2])]);
    batches[0]?.finish();
    await settled();
    batches[1]?.fail(new InvalidInputError('bad batch'));
    await settled();
    expect(batches[2]?.entries).toEqual([1]);
    batches[2]?.fail(new InvalidInputError('bad entry'));
    await settled();
    batches[3]?.finish();
    expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('does not send again what may have been carried out', async () => {
    const { merger, batches } = controlled();
    void merger.submit([0]);
    const calls = Promise.allSettled([merger.submit([1]), merger.submit([2])]);
    batches[0]?.finish();
    await settled();
    batches[1]?.fail(new Error('Connection terminated'));
    expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(2);
  });

  it('tells when it has nothing to do', async () => {
    let idle = 0;
    const { merger, batches } = controlled({ onIdle: () => idle++ });
    void merger.submit([1]);
    void merger.submit([2]);
    batches[0]?.finish();
    await settled();
    expect(idle).toBe(0);
    batches[1]?.finish();
    await settled();
    expect(idle).toBe(1);
  });
});
