/** One tree: its jobs with their counts, and the items of one of them. */
import {
  queryOptions,
  type UseQueryResult,
  usePrefetchInfiniteQuery,
  usePrefetchQuery,
  useQuery,
} from '@tanstack/react-query';
import { useParams, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { CancelJob, DeleteJob, LiveCompletion, Tree, type TreeQuery } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useFollowing } from '../data/follow.ts';
import { askAgain, goOn, type Live, useLive } from '../data/live.ts';
import { useAnswer } from '../data/live-answers.ts';
import { jobsOf, type TreeLive } from '../data/sources.ts';
import { useMay } from '../data/viewer.ts';
import { Action } from '../parts/action.tsx';
import { Answer, Missing, Problem } from '../parts/ask.tsx';
import { AddCallback, Deliveries } from '../parts/callbacks.tsx';
import { Causes } from '../parts/causes.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { Facts } from '../parts/facts.tsx';
import { Flow } from '../parts/flow.tsx';
import { pendingOf } from '../parts/job-counts.tsx';
import { itemsOf, JobItems } from '../parts/job-items.tsx';
import { JobTable } from '../parts/job-table.tsx';
import { ProgressBar, State } from '../parts/progress.tsx';
import { ReplayFailures } from '../parts/replay-failures.tsx';
import { Retention } from '../parts/retention.tsx';
import { Share } from '../parts/share.tsx';
import { standstillsOf, TreeStandstills } from '../parts/standstills.tsx';
import { stripOf } from '../parts/strip.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

type Root = NonNullable<TreeQuery['job']>['root'];
const treeOf = (id: string) =>
  queryOptions({ queryKey: ['tree', id], queryFn: ({ signal }) => ask(Tree, { id }, signal) });

export default function TreeScreen() {
  const t = useTexts();
  const { id } = useParams({ from: '/trees/$id' });
  const search = useSearch({ from: '/trees/$id' });
  const jobId = search.job ?? id;
  usePrefetchQuery(treeOf(id));
  const query = useQuery(treeOf(id));
  // Nothing waits until the tree is there: mostly this is its root.
  const rootId = query.data?.job?.root.id ?? id;
  const { value, error, isGone } = useTree(rootId);
  const { refetch } = query;
  const isDeleted = isGone && query.data !== undefined;
  useEffect(() => {
    if (isDeleted) void refetch();
  }, [isDeleted, refetch]);
  usePrefetchQuery(standstillsOf(rootId));
  usePrefetchQuery(pendingOf(jobId));
  usePrefetchQuery(stripOf(jobId, search));
  usePrefetchInfiniteQuery(itemsOf(jobId, search.status));
  const missing = <Missing words={t.tree.gone} />;
  return (
    <Answer query={query} missing={missing}>
      {({ job }) =>
        job == null ? (
          missing
        ) : (
          <>
            {error !== undefined && !isGone && <Problem error={error} onRetry={askAgain} />}
            {/* What is entered for one tree is not for another. */}
            <Shown key={job.root.id} root={job.root} value={value} id={id} query={query} />
          </>
        )
      }
    </Answer>
  );
}

/** What is told of a tree ends when it is complete. From then on it is asked for whether it still is, until somebody reopens or deletes it. */
function useTree(rootId: string): Live<TreeLive> & { readonly isGone: boolean } {
  const key = `jobs ${rootId}`;
  const live = useLive(key, jobsOf(rootId));
  const completion = useAnswer(LiveCompletion, live.value?.complete ? { id: rootId } : undefined);
  const isReopened = completion.value?.job?.treeProgress?.complete === false;
  useEffect(() => {
    if (isReopened) goOn(key);
  }, [isReopened, key]);
  const error = live.error ?? completion.error;
  return { ...live, ...(error && { error }), isGone: error?.code === 'NOT_FOUND' };
}

function Shown({
  root,
  value,
  id,
  query,
}: {
  root: Root;
  value: TreeLive | undefined;
  id: string;
  query: UseQueryResult<TreeQuery>;
}) {
  const t = useTexts();
  const search = useSearch({ from: '/trees/$id' });
  const rows = root.tree.map((job) => ({ job, progress: value?.jobs.get(job.id) ?? job.progress }));
  const shown = rows.find(({ job }) => job.id === (search.job ?? id)) ?? rows[0];
  const isBelow = rows.some(({ job }) => job.type === shown?.job.type && job !== shown.job);
  const failed = value?.failed ?? rows.reduce((sum, { progress }) => sum + progress.failed, 0);
  const isComplete = value?.complete ?? rows.every(({ progress }) => progress.completedAt != null);
  const isOpen = !isComplete;
  // Of the tree itself, only these are not told of: what it is once it is complete, and jobs that are added to it.
  useFollowing(query, { mark: `${isComplete} ${value?.jobs.size ?? rows.length}`, isOpen: false });
  const onChange = () => void query.refetch();
  const mayAdminister = useMay()('ADMINISTER');
  return (
    <>
      <h1>{t.tree.of(root.type)}</h1>
      {value !== undefined && (
        <div className="tree-bar large">
          <State state={value.outcome ?? (value.itemProgress > 0 ? 'RUNNING' : 'WAITING')} />
          <ProgressBar counts={value} isOpen={value.unsealedJobs > 0} label={t.trees.progress} />
        </div>
      )}
      <div className="buttons">
        {failed > 0 && <ReplayFailures rootId={root.id} rows={rows} />}
        {isOpen && (
          <Action
            label={t.tree.cancel}
            shortcut="x"
            danger
            needs="CHANGE"
            mutation={CancelJob}
            variables={() => ({ input: { jobId: root.id } })}
            question={t.tree.cancelAsk(root.type)}
            command={() => `jobtree cancel ${root.id}`}
            onDone={onChange}
          />
        )}
        <Action
          label={t.tree.remove}
          danger
          needs="CHANGE"
          mutation={DeleteJob}
          variables={() => ({ input: { jobId: root.id } })}
          question={t.tree.removeAsk}
          command={() => `jobtree delete ${root.id}`}
          onDone={onChange}
        />
        <Retention rootId={root.id} seconds={root.retentionSeconds} onDone={onChange} />
        {isOpen && <AddCallback rootId={root.id} onDone={onChange} />}
        <Share rootId={root.id} type={root.type} />
        <CopyButton label={t.copy.id} text={() => root.id} />
        <CopyButton label={t.copy.command} text={() => `jobtree watch ${root.id}`} />
      </div>
      {isOpen && <TreeStandstills id={root.id} pushed={{ mark: value?.revision, isOpen }} />}
      {failed > 0 && <Causes rootId={root.id} failed={failed} />}
      <Facts
        facts={[
          [t.tree.created, <Time key="created" at={root.createdAt} />],
          [t.item.dedupeKey, root.dedupeKey],
          [t.tree.schedule, root.occurrence?.schedule],
          [t.tree.callbacks, root.callbacks.map(({ endpoint }) => endpoint).join(', ')],
          [t.tree.reaped, root.reapAt == null ? undefined : <Time key="reaped" at={root.reapAt} />],
        ]}
      />
      <h2>{t.tree.jobs}</h2>
      <JobTable rows={rows} shownId={shown?.job.id} onChange={onChange} />
      <Flow rows={rows} />
      {shown !== undefined && (
        <JobItems key={shown.job.id} row={shown} isBelow={isBelow} onChange={onChange} />
      )}
      {root.callbacks.length > 0 && mayAdminister && (
        <section aria-label={t.callbacks.title}>
          <h2>{t.callbacks.title}</h2>
          <Deliveries filter={{ rootId: root.id }} />
        </section>
      )}
    </>
  );
}
