/** Runs operations, batch by batch. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../engine/engine.ts';

/** How long the call itself runs it. */
const atOnceMs = 500;
/** After each batch of an operation, a pause of this share of the time that it took leaves room for others. */
const restShare = 0.6;

/** The operation exists by now, so after an error the servers' background work continues it. */
export async function runForAMoment(engine: Engine, id: string, step: Step = runSome): Promise<void> {
  const endAt = performance.now() + atOnceMs;
  try {
    let state: Awaited<ReturnType<Step>>;
    do state = await step(engine, id);
    while (state === 'MORE' && performance.now() < endAt);
    if (state === 'FINISHED') return;
  } catch (error) {
    engine.logger.warn({ err: error, id }, 'running an operation failed; trying again');
  }
  engine.effects.unfinished();
}

/** Runs one batch. WAITING: another server is running it, or the rest is locked. */
export type Step = (engine: Engine, id: string) => Promise<'FINISHED' | 'MORE' | 'WAITING'>;

export const runSome: Step = (engine, id) => runBatch(engine, id);

/** `limits`: of how many dead letters, and which of them were checked, as `run_operation` takes them. */
export async function runBatch(
  engine: Engine,
  id: string,
  ...limits: readonly [limit?: number, checked?: string]
): ReturnType<Step> {
  const startedAt = performance.now();
  const [row] = await engine.database.call<{
    finished: boolean;
    more: boolean;
    root_ids: string[] | null;
    ready: Record<string, number> | null;
  }>('run_operation', id, ...limits);
  if (row === undefined) return 'WAITING';
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId);
  if (row.ready !== null) engine.effects.ready(new Map(Object.entries(row.ready)));
  return stateAfter(row, startedAt);
}

/** How an operation stands after a batch, once others have had their share of the time. */
export async function stateAfter(
  { finished, more }: { readonly finished: boolean; readonly more: boolean },
  startedAt: number,
): ReturnType<Step> {
  if (finished) return 'FINISHED';
  if (!more) return 'WAITING';
  await delay(restShare * (performance.now() - startedAt));
  return 'MORE';
}
