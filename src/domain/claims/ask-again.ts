/**
 * A claim that got nothing asks again for a moment if there may be something for it very soon: another claim that is deciding about its type
 * will soon end, or a rate allows the next item. Reports that came in the same call wait for their answer meanwhile.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { BusyError, UnavailableError } from '../../errors.ts';
import type { ClaimRequest, Given } from '../engine/batchers.ts';
import type { Engine } from '../engine/engine.ts';

const patienceMs = 40;
/** One that is starved asks again for longer: each turn gives somebody all that one answer may weigh. */
const starvedPatienceMs = 2_000;
const soonMs = 10;
const turnMs = 2;
const afterPatienceMs = 20;

export async function askAgain(
  engine: Engine,
  requests: ClaimRequest[],
  first: readonly Given[],
): Promise<readonly Given[]> {
  let given = first;
  const beganAt = performance.now();
  while (given.every(({ assignments }) => assignments.length === 0) && !engine.isGone?.()) {
    const isStarved = given.some((one) => one.isStarved);
    const waits = given.flatMap(({ limit, againInMs }) => (limit === undefined ? [] : againInMs));
    const ms = isStarved ? turnMs : Math.max(turnMs, Math.min(...waits));
    const until = beganAt + (isStarved ? starvedPatienceMs : patienceMs);
    if (ms > soonMs || performance.now() + ms > until) break;
    await delay(ms);
    try {
      given = await engine.batchers.claims.submit(requests, engine, engine.isGone);
    } catch (error) {
      // Nothing was claimed, but whatever the call did before, such as reports, still counts.
      if (error instanceof UnavailableError || error instanceof BusyError) break;
      throw error;
    }
  }
  const taken = new Set(requests.flatMap(({ type }, i) => (isTaken(given[i]) ? type : [])));
  for (const type of taken) engine.effects.limited(type, afterPatienceMs);
  return given;
}

const isTaken = (given: Given | undefined) => given?.limit === 'TAKEN';
