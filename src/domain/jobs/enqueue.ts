/** One piece of work: a sealed job with a single item. */
import { InvalidInputError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { NewItem } from '../items/new-items.ts';
import { createJob, type NewJob } from './create-job.ts';

export interface Work
  extends Omit<NewJob, 'items' | 'sealed' | 'file' | 'feed' | 'children' | 'after' | 'name' | 'finalStage'>,
    Pick<NewItem, 'payload' | 'serializeKey'> {}

const ofItem = 'items[0].';

export async function enqueue(
  engine: Engine,
  { payload, serializeKey, ...job }: Work,
): Promise<{ jobId: string; created: boolean }> {
  try {
    return await createJob(engine, { ...job, sealed: true, items: [{ payload, serializeKey }] });
  } catch (error) {
    // The caller has given no list of items.
    if (!(error instanceof InvalidInputError && error.field?.startsWith(ofItem))) throw error;
    throw new InvalidInputError(error.message.replace(ofItem, ''), error.field.slice(ofItem.length));
  }
}
