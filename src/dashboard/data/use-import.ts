import {
  ImportChanges,
  type ImportChangesSubscription,
  type ImportStateFragment,
} from '../../generated/dashboard.ts';
import { type LiveSource, useLive } from './live.ts';

/** The state of a job's import, subscribed to until it has ended: it changes together with the progress of its job. */
export function useImport(job: {
  readonly id: string;
  readonly import?: ImportStateFragment | null | undefined;
}): ImportStateFragment | null | undefined {
  const isOpen = job.import != null && job.import.finishedAt == null;
  const { value } = useLive(isOpen ? `import ${job.id}` : undefined, importOf(job.id));
  return value ?? job.import;
}

function importOf(
  jobId: string,
): LiveSource<ImportChangesSubscription, { jobId: string }, ImportStateFragment | undefined> {
  return {
    document: ImportChanges,
    variables: () => ({ jobId }),
    next: (known, { jobProgress: { job } }) => job?.import ?? known,
    isFinal: (state) => state?.finishedAt != null,
  };
}
