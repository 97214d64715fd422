/**
 * Large work (parsing a body, running an operation with its variables, completing a long list, writing an answer) gets the event loop alone, and
 * then leaves it to everybody else for as long as it took. Without this, many large requests at once would block it for seconds.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FairQueue, type Owner, pathOf } from './fair-queue.ts';

/** Anything smaller takes no more than about ten milliseconds. */
export const largeBytes = 1_000_000;

/**
 * V8 may let hundreds of megabytes of garbage stay for many seconds while answers of 60 MB are made. So memory that has grown by this much is
 * collected at once. To do so after each of them would block everybody: a collection takes 40 ms, and on a busy machine 130.
 */
const garbageBytes = 100_000_000;

interface Large {
  readonly bytes: number;
  readonly begin: () => void;
}

const waiting = new FairQueue<Large>({ turn: largeBytes, costOf: ({ bytes }) => bytes });
let isUnderWay = false;
/** The least that was in use since the last collection here. */
let leastUsed = Number.POSITIVE_INFINITY;
let collect: (() => void) | undefined;

/**
 * Resolves when it is this owner's turn for so many bytes. The turn lasts until the owner awaits something else. Tenants and callers take turns.
 */
export function largeTurn(bytes: number, owner: Owner): Promise<void> {
  return new Promise((begin) => {
    waiting.push(pathOf(owner), { bytes, begin });
    if (!isUnderWay) void carryOutAll();
  });
}

async function carryOutAll(): Promise<void> {
  isUnderWay = true;
  for (let next = waiting.take(); next !== undefined; next = waiting.take()) {
    await nextTurn();
    const startedAt = performance.now();
    next.begin();
    await nextTurn();
    const used = usedBytes();
    leastUsed = Math.min(leastUsed, used);
    if (used - leastUsed > garbageBytes) {
      collectGarbage();
      leastUsed = usedBytes();
    }
    await delay(performance.now() - startedAt);
  }
  isUnderWay = false;
}

function usedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('globalThis.gc') as typeof collect;
  }
  collect?.();
}
