import { describe, expect, it, vi } from 'vitest';
import { Backlog, Batcher } from '../../../src/domain/engine/batcher.ts';
import { InvalidInputError } from '../../../src/errors.ts';

/** A batcher whose batches end when the test says so. */
function controlled(
  options: {
    width?: number;
    maxWeight?: number;
    onIdle?: () => void;
    backlog?: Backlog;
    bytesOf?: (entry: number) => number;
    smallFirst?: boolean;
  } = {},
) {
  const batches: { entries: number[]; finish: () => void; fail: (error: Error) => void }[] = [];
  const batcher = new Batcher<number, number>({
    width: 1,
    maxWeight: 100,
    ...options,
    run: (entries) =>
      new Promise((resolve, reject) => {
        batches.push({ entries, finish: () => resolve(entries.map((entry) => entry * 10)), fail: reject });
      }),
  });
  return { batcher, batches };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Batcher', () => {
  it('sends a call at once when none is under way', () => {
    const { batcher, batches } = controlled();
    void batcher.submit([1, 2], {});
    expect(batches.map(({ entries }) => entries)).toEqual([[1, 2]]);
  });

  it('merges what arrives meanwhile, and gives each caller its own answers', async () => {
    const { batcher, batches } = controlled();
    const calls = [batcher.submit([1], {}), batcher.submit([2, 3], {}), batcher.submit([4], {})];
    batches[0]?.finish();
    await settled();
    expect(batches[1]?.entries).toEqual([2, 3, 4]);
    batches[1]?.finish();
    expect(await Promise.all(calls)).toEqual([[10], [20, 30], [40]]);
  });

  it('can send small calls before large ones, those of one size in order', async () => {
    const { batcher, batches } = controlled({ maxWeight: 4, smallFirst: true });
    for (const entries of [[1], [2, 3, 4], [5, 6, 7], [8], [9, 10], [11]]) void batcher.submit(entries, {});
    for (let i = 0; i < 4; i++) {
      batches[i]?.finish();
      await settled();
    }
    expect(batches.map(({ entries }) => entries)).toEqual([[1], [8, 11, 9, 10], [2, 3, 4], [5, 6, 7]]);
  });

  describe('with several tenants or callers', () => {
    const owner = (tenant: string | null, account: string) => ({ tenant, account });
    const [a1, a2, b, c] = [owner('a', 'a//1'), owner('a', 'a//2'), owner('b', 'b//1'), owner(null, '::1')];
    const sent = ({ entries }: { entries: number[] }) => entries;

    it('gives a lone caller every slot, and a second one the next free slot', () => {
      const { batcher, batches } = controlled({ width: 2 });
      for (let i = 0; i < 4; i++) void batcher.submit([i], a1);
      for (let i = 10; i < 14; i++) void batcher.submit([i], b);
      expect(batches.map(sent)).toEqual([[0], [1], [10]]);
    });

    it('then leaves each one slot; half-full batches are split into fifths and never merged with those of others', async () => {
      const { batcher, batches } = controlled({ width: 2, maxWeight: 10 });
      for (let i = 0; i < 20; i++) void batcher.submit([i], a1);
      for (let i = 50; i < 53; i++) void batcher.submit([i], b);
      batches[0]?.finish();
      await settled();
      // One of its batches is still under way.
      expect(batches.map(sent)).toEqual([[0], [1], [50]]);
      batches[2]?.finish();
      await settled();
      batches[1]?.finish();
      await settled();
      expect(batches.slice(3).map(sent)).toEqual([
        [51, 52],
        [2, 3],
      ]);
    });

    it('merges small calls of many, by turns', async () => {
      const { batcher, batches } = controlled({ maxWeight: 8 });
      void batcher.submit([0], {});
      void batcher.submit([0], { account: 'other' });
      void batcher.submit([1], a1);
      void batcher.submit([2], a1);
      void batcher.submit([3], a2);
      void batcher.submit([20], b);
      void batcher.submit([21], b);
      void batcher.submit([30], c);
      batches[1]?.finish();
      await settled();
      expect(batches[2]?.entries).toEqual([1, 20, 30, 3, 21, 2]);
    });
  });

  it('sends a fifth of a batch at a time while several callers send, and whole ones again when one is left', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    const { batcher, batches } = controlled({ maxWeight: 10 });
    const send = (account: string, times: number) => {
      for (let i = 0; i < times; i++) void batcher.submit([1], { account });
    };
    send('a', 1);
    send('b', 1);
    send('a', 18);
    for (let i = 0; i < 3; i++) {
      batches[i]?.finish();
      await settled();
    }
    expect(batches.slice(0, 5).map(({ entries }) => entries.length)).toEqual([1, 1, 2, 2]);
    now.mockReturnValue(1_000);
    batches[3]?.finish();
    await settled();
    expect(batches[4]?.entries).toHaveLength(10);
    now.mockRestore();
  });

  it('respects its width and the greatest weight', async () => {
    const { batcher, batches } = controlled({ width: 2, maxWeight: 3 });
    for (const entries of [[1], [2], [3, 4], [5], [6]]) void batcher.submit(entries, {});
    expect(batches).toHaveLength(2);
    batches[0]?.finish();
    await settled();
    expect(batches[2]?.entries).toEqual([3, 4, 5]);
  });

  it('keeps an error of one caller from the others', async () => {
    const { batcher, batches } = controlled();
    void batcher.submit([0], {});
    const calls = Promise.allSettled([batcher.submit([1], {}), batcher.submit([2], {})]);
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

  it('does not repeat what may have been carried out', async () => {
    const { batcher, batches } = controlled();
    void batcher.submit([0], {});
    const calls = Promise.allSettled([batcher.submit([1], {}), batcher.submit([2], {})]);
    batches[0]?.finish();
    await settled();
    batches[1]?.fail(new Error('Connection terminated'));
    expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(2);
  });

  it('reports when it is idle', async () => {
    let idle = 0;
    const { batcher, batches } = controlled({ onIdle: () => idle++ });
    void batcher.submit([1], {});
    void batcher.submit([2], {});
    batches[0]?.finish();
    await settled();
    expect(idle).toBe(0);
    batches[1]?.finish();
    await settled();
    expect(idle).toBe(1);
  });
});

describe('what waits', () => {
  it('is bounded by calls and by bytes over all batchers; one that leaves makes room', async () => {
    const backlog = new Backlog({ maxCalls: 3, maxBytes: 100 });
    const bounded = { backlog, bytesOf: (entry: number) => entry };
    const [one, other] = [controlled(bounded), controlled(bounded)];
    // What is sent at once does not wait.
    void one.batcher.submit([1_000], {});
    void other.batcher.submit([1_000], {});
    void one.batcher.submit([60], {});
    await expect(other.batcher.submit([50], {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    void other.batcher.submit([40], {});
    void other.batcher.submit([0], {});
    await expect(one.batcher.submit([0], {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    one.batches[0]?.finish();
    await settled();
    void one.batcher.submit([50], {});
    expect(other.batches).toHaveLength(1);
  });

  it('has limits a tenth lower for one caller and for one tenant', () => {
    const backlog = new Backlog({ maxCalls: 10, maxBytes: 1_000 });
    const [first, second, other] = [
      { tenant: 'a', account: 'a//1' },
      { tenant: 'a', account: 'a//2' },
      { tenant: 'b', account: 'b//1' },
    ];
    for (let i = 0; i < 9; i++) backlog.enter(i < 5 ? first : second, 1);
    expect(() => backlog.enter(second, 1)).toThrow('More calls wait');
    backlog.enter(other, 1);
    expect(() => backlog.enter(other, 1)).toThrow('More calls wait');
    backlog.leave(first, 1);
    backlog.enter(second, 1);
  });

  it('is dropped at its turn if its client has gone', async () => {
    const { batcher, batches } = controlled();
    void batcher.submit([1], {});
    const gone = batcher.submit([2], {}, () => true);
    const stays = batcher.submit([3], {}, () => false);
    batches[0]?.finish();
    await expect(gone).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(batches[1]?.entries).toEqual([3]);
    batches[1]?.finish();
    expect(await stays).toEqual([30]);
  });
});
