import type { Engine } from '../engine/engine.ts';

/**
 * Looks for ready entries before the cursors of claims, and moves the cursors back to them: see `low-water.ts`. Workers whose
 * claims may have missed such entries, or met a lock, get a hint.
 */
export async function findMissedEntries(engine: Engine): Promise<void> {
  const locked = engine.lowWater.takeLocked();
  if (locked.size > 0) engine.effects.ready(new Map([...locked].map((type) => [type, 1])));
  const cursors = engine.lowWater.claimed();
  if (cursors.length === 0) return;
  const call = engine.database.call<{ type: string; priority: number; place: number }>(
    'missed_entries',
    cursors.map(({ type }) => type),
    cursors.map(({ priority }) => priority),
    cursors.map(({ place }) => place),
  );
  const missed = await call.catch((error) => {
    engine.lowWater.notSeen(cursors);
    throw error;
  });
  for (const cursor of missed) engine.lowWater.goBack(cursor);
  if (missed.length > 0) engine.effects.ready(new Map(missed.map(({ type }) => [type, 1])));
}
