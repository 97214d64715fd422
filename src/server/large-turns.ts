/**
 * What is large (a body to be parsed, an operation with its variables, an answer to be written) takes the event loop alone, and
 * leaves everybody else as much of it afterwards as it took. Without this, many that arrive together would be one block of seconds.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FairQueue, type Owner, pathOf } from '../db/fair-queue.ts';
import { measured } from '../schema/answer-size.ts';
import type { Services } from '../schema/services.ts';

/** What is smaller takes no more than some ten milliseconds. */
export const largeBytes = 1_000_000;

/**
 * V8 looks for garbage when there is more than half as much again as was in use when it last looked. While an answer of 60 MB is made
 * that is all of it, so 120 MB of garbage were there for 15 s. Looking takes some 40 ms, what is as large as this several times that.
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
 * Resolves when it is the turn of an owner who has so many bytes, which lasts until the owner waits for something. Tenants and callers
 * take turns.
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

/** Before an answer is bounded and written; nothing if it is not large. */
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
