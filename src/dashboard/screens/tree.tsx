/** One tree: its jobs with their counts, and the items of one of them. */
import {
  queryOptions,
  useInfiniteQuery,
  usePrefetchInfiniteQuery,
  usePrefetchQuery,
  useQuery,
} from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import {
  CancelJob,
  DeleteJob,
  type ItemStatus,
  Items,
  Replay,
  Seal,
  Tree,
  type TreeQuery,
  TreeStandstills as TreeStandstillsQuery,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useLive } from '../data/live.ts';
import { jobsOf, type TreeLive } from '../data/sources.ts';
import { useMay } from '../data/viewer.ts';
import { Action } from '../parts/action.tsx';
import { AddItems } from '../parts/add-items.tsx';
import { Answer } from '../parts/ask.tsx';
import { AddCallback, Deliveries } from '../parts/callbacks.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { CountDeadLetters } from '../parts/counts.tsx';
import { Facts } from '../parts/facts.tsx';
import { byParent, Flow, type JobRow as Row } from '../parts/flow.tsx';
import { FoundItems, ItemSearchForm } from '../parts/item-search.tsx';
import { ItemTable } from '../parts/items.tsx';
import { JobCounts, pendingOf } from '../parts/job-counts.tsx';
import { More, nodesOf, pagesOf } from '../parts/pages.tsx';
import { ProgressBar, State } from '../parts/progress.tsx';
import { Retention } from '../parts/retention.tsx';
import { Share } from '../parts/share.tsx';
import { Standstills } from '../parts/standstills.tsx';
import { ItemStrip, stripOf } from '../parts/strip.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

type Root = NonNullable<TreeQuery['job']>['root'];
type Job = Row['job'];
const itemStatuses = [
  'WAITING',
  'BLOCKED',
  'SCHEDULED',
  'RETRYING',
  'READY',
  'RUNNING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
] as const satisfies readonly ItemStatus[];

const whole = { from: undefined, to: undefined };

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
  const { value } = useLive(`jobs ${rootId}`, jobsOf(rootId));
  usePrefetchQuery(standstillsOf(rootId));
  usePrefetchQuery(pendingOf(jobId));
  usePrefetchQuery(stripOf(jobId, search));
  usePrefetchInfiniteQuery(itemsOf(jobId, search.status));
  return (
    <Answer query={query}>
      {({ job }) =>
        job == null ? (
          <p>{t.tree.gone}</p>
        ) : (
          <Shown root={job.root} value={value} id={id} onChange={() => void query.refetch()} />
        )
      }
    </Answer>
  );
}

function Shown({
  root,
  value,
  id,
  onChange,
}: {
  root: Root;
  value: TreeLive | undefined;
  id: string;
  onChange: () => void;
}) {
  const t = useTexts();
  const search = useSearch({ from: '/trees/$id' });
  const rows = root.tree.map((job) => ({ job, progress: value?.jobs.get(job.id) ?? job.progress }));
  const shown = rows.find(({ job }) => job.id === (search.job ?? id)) ?? rows[0];
  const failed = value?.failed ?? rows.reduce((sum, { progress }) => sum + progress.failed, 0);
  const isOpen = value === undefined || !value.complete;
  const replayFilter = { jobId: root.id };
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
        {failed > 0 && (
          <Action
            label={t.tree.replay}
            shortcut="r"
            needs="SETTLE"
            mutation={Replay}
            variables={() => ({ input: { filter: replayFilter } })}
            question={<CountDeadLetters filter={replayFilter} ask={t.deadLetters.replayAsk} isReplay />}
            command={() => `jobtree replay --job ${root.id}`}
          />
        )}
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
      {isOpen && <TreeStandstills id={root.id} />}
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
      {shown !== undefined && <JobItems key={shown.job.id} row={shown} onChange={onChange} />}
      {root.callbacks.length > 0 && mayAdminister && (
        <section aria-label={t.callbacks.title}>
          <h2>{t.callbacks.title}</h2>
          <Deliveries filter={{ rootId: root.id }} />
        </section>
      )}
    </>
  );
}

const standstillsOf = (id: string) =>
  queryOptions({
    queryKey: ['standstills', id],
    queryFn: ({ signal }) => ask(TreeStandstillsQuery, { id }, signal),
  });

/** Read again now and then: what it depends on, such as workers, is not told of. */
function TreeStandstills({ id }: { id: string }) {
  const query = useQuery({ ...standstillsOf(id), refetchInterval: 10_000 });
  return <Standstills standstills={query.data?.job?.treeStandstills ?? []} treeId={id} />;
}

function JobTable({
  rows,
  shownId,
  onChange,
}: {
  rows: readonly Row[];
  shownId: string | undefined;
  onChange: () => void;
}) {
  const t = useTexts();
  const navigate = useNavigate({ from: '/trees/$id' });
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const shown = inOrder(rows, folded);
  const parents = new Set(rows.map(({ job }) => job.parent?.id));
  const fold = (id: string, isFolded: boolean) => {
    const next = new Set(folded);
    if (isFolded) next.add(id);
    else next.delete(id);
    setFolded(next);
  };
  const columns: readonly Column<Row>[] = [
    {
      title: t.tree.job,
      grow: 3,
      cell: ({ job }) => (
        <span style={{ paddingInlineStart: `${job.depth * 1.25}rem` }}>
          <Link
            to="."
            search={{ job: job.id }}
            aria-current={job.id === shownId ? 'true' : undefined}
            className={job.id === shownId ? 'chosen' : undefined}
          >
            {job.type}
          </Link>{' '}
          <span className="quiet">{describe(job, t)}</span>
        </span>
      ),
    },
    {
      title: t.trees.progress,
      grow: 4,
      cell: ({ job, progress }) => (
        <div className="tree-bar">
          <State state={progress.outcome ?? progress.status} />
          <ProgressBar counts={progress} isOpen={!progress.sealed} label={job.type} />
        </div>
      ),
    },
    {
      title: t.actions,
      cell: ({ job, progress }) =>
        !progress.sealed &&
        job.feed == null && (
          <Action
            label={t.tree.seal}
            needs="CHANGE"
            mutation={Seal}
            variables={() => ({ input: { jobId: job.id } })}
            question={t.tree.sealAsk(job.type)}
            command={() => `jobtree seal ${job.id}`}
            onDone={onChange}
          />
        ),
    },
  ];
  return (
    <Table
      label={t.tree.jobs}
      rows={shown}
      columns={columns}
      keyOf={({ job }) => job.id}
      tree={{
        levelOf: ({ job }) => job.depth + 1,
        isOpen: ({ job }) => (parents.has(job.id) ? !folded.has(job.id) : undefined),
        onFold: ({ job }, isFolded) => fold(job.id, isFolded),
        onEnter: ({ job }) => navigate({ search: { job: job.id } }),
      }}
      empty={t.none}
    />
  );
}

/** Each job after its parent, without those below a folded one. */
function inOrder(rows: readonly Row[], folded: ReadonlySet<string>): Row[] {
  const below = byParent(rows);
  const listed: Row[] = [];
  const ids = new Set(rows.map(({ job }) => job.id));
  // Also those whose parents the reader may not see.
  const stack = rows.filter(({ job }) => job.parent == null || !ids.has(job.parent.id)).reverse();
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    listed.push(row);
    if (!folded.has(row.job.id)) stack.push(...(below.get(row.job.id) ?? []).toReversed());
  }
  return listed;
}

function describe(job: Job, t: ReturnType<typeof useTexts>): string {
  const parts = [
    job.feed == null ? undefined : t.tree.flow,
    job.waitsForJobs ? t.tree.waitsFor(job.after.map(({ type }) => type).join(', ')) : undefined,
    job.import == null ? undefined : t.tree.import(job.import.status, job.import.badLines),
    job.import?.error?.message,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

const statusOf = (name: string | undefined) => itemStatuses.find((one) => one === name);

function itemsOf(jobId: string, status: string | undefined) {
  const known = statusOf(status);
  const statuses = known === undefined ? null : [known];
  return pagesOf(Items, { jobId, statuses }, (data) => data.job?.items);
}

function JobItems({ row: { job, progress }, onChange }: { row: Row; onChange: () => void }) {
  const t = useTexts();
  const search = useSearch({ from: '/trees/$id' });
  const navigate = useNavigate({ from: '/trees/$id' });
  const status = statusOf(search.status);
  const { find, path } = search;
  return (
    <section aria-label={t.tree.openItems}>
      <h2>
        {t.tree.openItems}: {job.type} <span className="quiet">{t.items(progress.itemCount)}</span>
      </h2>
      <JobCounts jobId={job.id} progress={progress} />
      {!progress.sealed && job.feed == null && (
        <AddItems job={job} hasFile={job.import != null} onDone={onChange} />
      )}
      <ItemStrip
        jobId={job.id}
        itemCount={progress.itemCount}
        isOpen={progress.completedAt == null}
        view={{ from: search.from, to: search.to }}
        onView={(view) =>
          navigate({ search: (now) => ({ ...now, job: job.id, ...whole, ...view }), replace: true })
        }
        onOpen={(itemId) => void navigate({ to: '/items/$id', params: { id: itemId } })}
      />
      <ItemSearchForm jobId={job.id} find={find} path={path} />
      {find !== undefined ? (
        <FoundItems
          key={`${find} ${path}`}
          jobId={job.id}
          itemCount={progress.itemCount}
          find={find}
          path={path}
        />
      ) : (
        <ListedItems jobId={job.id} status={status} />
      )}
    </section>
  );
}

function ListedItems({ jobId, status }: { jobId: string; status: ItemStatus | undefined }) {
  const t = useTexts();
  const navigate = useNavigate({ from: '/trees/$id' });
  const pages = useInfiniteQuery(itemsOf(jobId, status));
  return (
    <>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          {t.trees.status}
          <select
            value={status ?? ''}
            onChange={({ target }) =>
              navigate({
                search: (now) => ({ ...now, job: jobId, status: target.value || undefined }),
                replace: true,
              })
            }
          >
            <option value="">{t.treeFilters.any}</option>
            {itemStatuses.map((one) => (
              <option key={one} value={one}>
                {t.state[one]}
              </option>
            ))}
          </select>
        </label>
      </form>
      <Answer query={pages}>
        {() => <ItemTable items={nodesOf(pages)} more={<More pages={pages} />} />}
      </Answer>
    </>
  );
}
