/** What failed in a tree is tried again, with corrected payloads if need be. */
import { Replay } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { useCorrection } from './correction.tsx';
import { CountDeadLetters } from './counts.tsx';
import type { JobRow } from './flow.tsx';

export function ReplayFailures({ rootId, rows }: { rootId: string; rows: readonly JobRow[] }) {
  const t = useTexts();
  const jobIds = rows.flatMap(({ job, progress }) => (progress.failed > 0 ? [job.id] : []));
  const { field, correction, option, forget } = useCorrection({ jobIds });
  const filter = { jobId: rootId };
  return (
    <Action
      label={t.tree.replay}
      shortcut="r"
      needs="SETTLE"
      mutation={Replay}
      variables={() => ({ input: { filter, ...correction() } })}
      question={<CountDeadLetters filter={filter} ask={t.deadLetters.replayAsk} isReplay />}
      fields={field}
      onDone={forget}
      command={() => `jobtree replay --job ${rootId}${option()}`}
    />
  );
}
