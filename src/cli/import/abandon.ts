/** An import that ends before its time: it leaves nothing half done as far as that is its own, and says what is known. */
import { type Client, JobtreeError } from '../../client/index.ts';
import { CommandError, describeError } from '../command-error.ts';
import { counted } from '../figures.ts';
import type { AddedCounts } from './add-rows.ts';
import type { Target } from './target.ts';

export interface Abandoned {
  readonly type: string | undefined;
  /** Undefined if it is not known to exist. */
  readonly target: Target | undefined;
  /** What the server has acknowledged. */
  readonly counts: AddedCounts;
  /** Whether it was about to seal the job. */
  readonly sealing: boolean;
  /** Why it ends. */
  readonly error: unknown;
}

export const mayBeMade = (type: string) =>
  `Whether the job was made is not known: see jobtree jobs --type ${type}`;

/** Cancels a job that the import made. Returns what came of it, as sentences; undefined if nothing was made. */
export async function abandon(
  client: Client,
  { type, target, counts, sealing, error }: Abandoned,
): Promise<string | undefined> {
  const unsure = mayBeDone(error);
  if (target === undefined) {
    const made = error instanceof JobtreeError || isAbort(error);
    if (!made || !unsure || type === undefined) return undefined;
    return mayBeMade(type);
  }
  const { jobId, isOurs } = target;
  const added = `${counted(counts.added, 'item')} had been added`;
  const least = counts.added === 0 ? 'items may have been added' : `at least ${added}`;
  const soFar = unsure && !sealing ? least : added;
  if (!isOurs) {
    if (counts.added === 0 && !unsure) return 'Nothing was added.';
    const state = unsure && sealing ? 'which may be sealed now' : 'which is as open as it was';
    return `${capital(soFar)} to ${jobId}, ${state}.`;
  }
  try {
    await client.cancelJob(jobId);
    return `The job was cancelled (${jobId}); ${soFar}.`;
  } catch (failure) {
    const { text } = describeError(failure);
    const sealed = unsure && sealing ? 'whether it is sealed is not known' : 'it is not sealed';
    const cancelled = mayBeDone(failure) ? 'may not have been cancelled' : 'could not be cancelled';
    return `The job ${cancelled} (${text}); ${soFar}, and ${sealed}. To cancel it: jobtree cancel ${jobId}`;
  }
}

/** Whether the server may have done what it was asked last. Only what a command says itself is said when nothing is under way. */
function mayBeDone(error: unknown): boolean {
  if (error instanceof JobtreeError) return error.outcome === 'UNKNOWN';
  return !(error instanceof CommandError);
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
