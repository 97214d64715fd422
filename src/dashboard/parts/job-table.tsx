/** The jobs of a tree, each below its parent, with their progress: one of them is chosen. */
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Seal } from '../../generated/dashboard.ts';
import { messageOf } from '../data/message-of.ts';
import { useImport } from '../data/use-import.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { byParent, type JobRow } from './flow.tsx';
import { ProgressBar, State } from './progress.tsx';
import { type Column, Table } from './table.tsx';

export function JobTable({
  rows,
  shownId,
  onChange,
}: {
  rows: readonly JobRow[];
  shownId: string | undefined;
  onChange: () => void;
}) {
  const t = useTexts();
  const navigate = useNavigate({ from: '/trees/$id' });
  const mayChange = useMay()('CHANGE');
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const shown = inOrder(rows, folded);
  const parents = new Set(rows.map(({ job }) => job.parent?.id));
  const fold = (id: string, isFolded: boolean) => {
    const next = new Set(folded);
    if (isFolded) next.add(id);
    else next.delete(id);
    setFolded(next);
  };
  const columns: readonly Column<JobRow>[] = [
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
          <Note job={job} />
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
      only: (row) => mayChange && isSealable(row),
      cell: ({ job, progress }) =>
        isSealable({ job, progress }) && (
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

const isSealable = ({ job, progress }: JobRow) => !progress.sealed && job.feed == null;

/** Each job after its parent, without those below a folded one. */
function inOrder(rows: readonly JobRow[], folded: ReadonlySet<string>): JobRow[] {
  const below = byParent(rows);
  const listed: JobRow[] = [];
  const ids = new Set(rows.map(({ job }) => job.id));
  // Also those whose parents the reader may not see.
  const stack = rows.filter(({ job }) => job.parent == null || !ids.has(job.parent.id)).reverse();
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    listed.push(row);
    if (!folded.has(row.job.id)) stack.push(...(below.get(row.job.id) ?? []).toReversed());
  }
  return listed;
}

/** What its items come from, and what it waits for. */
function Note({ job }: { job: JobRow['job'] }) {
  const t = useTexts();
  const file = useImport(job);
  const parts = [
    job.feed == null ? undefined : t.tree.flow,
    job.waitsForJobs ? t.tree.waitsFor(job.after.map(({ type }) => type).join(', ')) : undefined,
    file == null ? undefined : t.tree.import(file.status, file.badLines),
    file?.error && messageOf(file.error),
  ];
  return <span className="quiet">{parts.filter((part) => part != null).join(', ')}</span>;
}
