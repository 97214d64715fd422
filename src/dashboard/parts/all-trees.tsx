/** What can be done to all trees that the filters in force select. */
import { useQuery } from '@tanstack/react-query';
import { CancelTrees, DeleteTrees, TreeCount } from '../../generated/dashboard.ts';
import type { JobFilter } from '../../generated/dashboard-first.ts';
import { ask } from '../data/connection.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { Answer } from './ask.tsx';
import { asOption } from './copy.tsx';

/** `filter` is that of the list. Without a condition, it would be about everything. */
export function AllTrees({ filter }: { filter: JobFilter }) {
  const t = useTexts();
  const all = Object.fromEntries(Object.entries(filter).filter(([, value]) => value != null)) as JobFilter;
  const { wholeTrees: _, ...conditions } = all;
  if (Object.keys(conditions).length === 0) return null;
  const statuses = (['WAITING', 'RUNNING'] as const).filter((one) => all.statuses?.includes(one) ?? true);
  const isAnyOpen = statuses.length > 0 && all.outcomes == null;
  return (
    <div className="buttons">
      {isAnyOpen && (
        <Action
          label={t.allTrees.cancel}
          danger
          needs="CLEAR"
          mutation={CancelTrees}
          variables={() => ({ input: { filter: all } })}
          question={<CountTrees filter={{ ...all, statuses: [...statuses] }} ask={t.allTrees.cancelAsk} />}
          command={() => `jobtree cancel${asOptions({ ...all, statuses: all.statuses && [...statuses] })}`}
        />
      )}
      <Action
        label={t.allTrees.remove}
        danger
        needs="CLEAR"
        mutation={DeleteTrees}
        variables={() => ({ input: { filter: all } })}
        question={<CountTrees filter={all} ask={t.allTrees.removeAsk} />}
        command={() => `jobtree delete${asOptions(all)}`}
      />
    </div>
  );
}

function CountTrees({ filter, ask: text }: { filter: JobFilter; ask: (count: number) => string }) {
  const t = useTexts();
  const query = useQuery({
    queryKey: ['tree count', filter, 'all'],
    queryFn: ({ signal }) => ask(TreeCount, { filter, buckets: 0 }, signal),
    staleTime: 0,
  });
  return (
    <Answer query={query}>
      {({ jobCount }) => (
        <>
          <p>{text(jobCount?.count ?? 0)}</p>
          {jobCount?.since != null && <p>{t.allTrees.more}</p>}
          <p className="quiet">{t.allTrees.late}</p>
        </>
      )}
    </Answer>
  );
}

/** The filter on the command line. */
function asOptions(filter: JobFilter): string {
  const lower = (values: readonly string[] | null | undefined) => values?.map((value) => value.toLowerCase());
  const one = (name: string, value: string | null | undefined) =>
    asOption(name, value == null ? null : [value]);
  const { hasFailures } = filter;
  return [
    asOption('--type', filter.types),
    asOption('--status', lower(filter.statuses)),
    asOption('--outcome', lower(filter.outcomes)),
    one('--since', filter.createdFrom),
    one('--until', filter.createdUntil),
    one('--completed-since', filter.completedFrom),
    one('--completed-until', filter.completedUntil),
    one('--dedupe-key', filter.dedupeKeyPrefix),
    hasFailures == null ? '' : hasFailures ? ' --failures' : ' --no-failures',
    one('--schedule', filter.schedule),
  ].join('');
}
