/**
 * Large work (parsing a body, running an operation with its variables, writing an answer) gets the event loop alone, and then leaves it to
 * everybody else for as long as it took. Without this, many large requests at once would block it for seconds.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FairQueue, type Owner, pathOf } from '../../db/fair-queue.ts';
import { measured } from '../../schema/answer-size.ts';
import type { Services } from '../../schema/services.ts';

/** Anything smaller takes no more than about ten milliseconds. */
export const largeBytes = 1_000_000;

/**
 * V8 collects garbage when the heap has grown by more than half since the last collection. While an answer of 60 MB is made the heap is mostly
 * that answer, so 120 MB of garbage stayed for 15 s. A collection takes about 40 ms; making what is as large as this takes several times that.
 */
const garbageBytes = 10_000_000;

interface Large {
  readonly bytes: number;
  readonly begin: () => void;
}

const waiting = new FairQueue<Large>({ turn: largeBytes, costOf: ({ bytes }) => bytes });
let isUnderWay = false;
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
    await delay(performance.now() - startedAt);
    if (next.bytes >= garbageBytes) collectGarbage();
  }
  isUnderWay = false;
}

/** The turn for limiting and writing an answer; undefined if the answer is not large. */
export function turnToWrite(context: Services): Promise<void> | undefined {
  const { bytes } = measured(context);
  return bytes > largeBytes ? largeTurn(bytes, context.engine) : undefined;
}

function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('globalThis.gc') as typeof collect;
  }
  collect?.();
}
