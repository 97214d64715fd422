/** What is done with all pending items of a job that match what its list shows: they are cancelled, or ready now. Their number is asked first. */
import { CancelItems, type ItemStatus, type PendingItemFilter, Promote } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { asOption } from './copy.tsx';
import { CountPending } from './counts.tsx';
import { isSought, type Sought } from './item-search.tsx';

const promotable: readonly ItemStatus[] = ['RETRYING', 'SCHEDULED'];
const ended: readonly (ItemStatus | undefined)[] = ['SUCCEEDED', 'FAILED', 'CANCELLED'];

interface MatchingProps {
  readonly job: { readonly id: string; readonly type: string };
  /** Whether jobs below it may have items of its type, which match, too. */
  readonly isBelow: boolean;
  readonly status: ItemStatus | undefined;
  readonly sought: Sought;
}

export function MatchingItems({ job, isBelow, status: chosen, sought }: MatchingProps) {
  const t = useTexts();
  // What is found has any status, and operations know nothing of payloads.
  const status = isSought(sought) ? undefined : chosen;
  if (sought.find !== undefined || ended.includes(status)) return null;
  const { code, key } = sought;
  const filterOf = (statuses: readonly ItemStatus[] | undefined): PendingItemFilter => ({
    jobId: job.id,
    types: [job.type],
    ...(statuses && { statuses: [...statuses] }),
    ...(code !== undefined && { codes: [code] }),
    ...(key !== undefined && { dedupeKeys: [key] }),
  });
  const all = filterOf(status && [status]);
  const waiting = filterOf(status === undefined ? promotable : [status]);
  return (
    <div className="buttons">
      <Action
        label={t.matching.cancel}
        danger
        needs="SWEEP"
        mutation={CancelItems}
        variables={() => ({ input: { filter: all } })}
        question={
          <CountPending filter={all} ask={(count) => t.matching.cancelAsk(count, job.type, isBelow)} />
        }
        command={() => `jobtree cancel-items${optionsOf(all)}`}
      />
      {(status === undefined || promotable.includes(status)) && (
        <Action
          label={t.matching.promote}
          needs="SWEEP"
          mutation={Promote}
          variables={() => ({ input: { filter: waiting } })}
          question={
            <CountPending filter={waiting} ask={(count) => t.matching.promoteAsk(count, job.type, isBelow)} />
          }
          command={() => `jobtree promote-items${optionsOf(waiting)}`}
        />
      )}
    </div>
  );
}

/** The filter, as the options of a command. */
function optionsOf({ jobId, types, statuses, codes, dedupeKeys }: PendingItemFilter): string {
  const named = statuses?.map((status) => status.toLowerCase());
  return [
    ` --job ${jobId}`,
    asOption('--type', types),
    asOption('--status', named),
    asOption('--code', codes),
    asOption('--dedupe-key', dedupeKeys),
  ].join('');
}
