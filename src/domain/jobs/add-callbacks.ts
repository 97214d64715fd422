import type { Engine } from '../engine/engine.ts';
import { toCheckedText } from '../values/checks.ts';
import type { NewCallback } from './create-job.ts';

/** Adds endpoints to call when a tree that exists, or a job of it, is complete. Refused for a tree that is complete: nothing would be sent. */
export async function addCallbacks(
  { database }: Engine,
  rootId: string,
  callbacks: readonly NewCallback[],
): Promise<void> {
  await database.call('call_when_complete', rootId, toCheckedText(callbacks));
}
