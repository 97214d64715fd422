/** What the items of a tree failed of for good: its dead letters by cause. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { TreeDeadLetters, type TreeDeadLettersQuery } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useFollowing } from '../data/follow.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { ProblemOf } from './ask.tsx';
import { Count } from './progress.tsx';
import { type Column, Table } from './table.tsx';

type Cause = NonNullable<NonNullable<TreeDeadLettersQuery['job']>['treeDeadLetters']>['groups'][number];

/** Shown for a tree with failures, so a tree without any is not asked. `failed` is how many there are, as far as is known. */
export function Causes({ rootId, failed }: { rootId: string; failed: number }) {
  const t = useTexts();
  const mayList = useMay()('LIST');
  const query = useQuery({
    queryKey: ['causes', rootId],
    queryFn: ({ signal }) => ask(TreeDeadLetters, { id: rootId }, signal),
  });
  const { groups = [], hasMore = false } = query.data?.job?.treeDeadLetters ?? {};
  // Discarded items still count as failed, so that is told of by nobody.
  useFollowing(query, { mark: String(failed), isOpen: groups.length > 0 });
  if (groups.length === 0) return <ProblemOf query={query} />;
  const columns: readonly Column<Cause>[] = [
    {
      title: t.deadLetters.pattern,
      grow: 4,
      cell: ({ groupId, pattern }) => (mayList ? <CauseLink id={groupId}>{pattern}</CauseLink> : pattern),
    },
    { title: t.deadLetters.count, isNumber: true, cell: ({ count }) => <Count count={count} /> },
    { title: t.deadLetters.type, grow: 1, cell: ({ type }) => type },
    { title: t.deadLetters.code, grow: 1, cell: ({ code }) => code },
  ];
  return (
    <section aria-label={t.causes.title}>
      <h2>{t.causes.title}</h2>
      <ProblemOf query={query} />
      <Table
        label={t.causes.title}
        rows={groups}
        columns={columns}
        keyOf={({ groupId }) => groupId}
        empty={t.none}
        more={hasMore && <p className="quiet">{t.causes.more}</p>}
      />
    </section>
  );
}

export const CauseLink = ({ id, children }: { id: string; children: string }) => (
  <Link to="/dead-letters/$id" params={{ id }}>
    {children}
  </Link>
);
