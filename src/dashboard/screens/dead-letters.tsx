/** Items that failed for good, in groups of the same cause. */
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { DeadLetterGroups, type DeadLetterGroupsQuery } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { Answer } from '../parts/ask.tsx';
import { Count } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/texts.ts';

type Group = NonNullable<DeadLetterGroupsQuery['deadLetterGroups']>[number];

export function DeadLettersScreen() {
  const t = useTexts();
  const { type } = useSearch({ from: '/dead-letters' });
  const query = useQuery({
    queryKey: ['dead letter groups', type],
    queryFn: ({ signal }) => ask(DeadLetterGroups, { types: type === undefined ? null : [type] }, signal),
    refetchInterval: 10_000,
  });
  const columns: readonly Column<Group>[] = [
    {
      title: t.deadLetters.pattern,
      grow: 5,
      cell: (group) => (
        <Link to="/dead-letters/$id" params={{ id: group.id }}>
          {group.pattern}
        </Link>
      ),
    },
    { title: t.deadLetters.count, isNumber: true, cell: ({ count }) => <Count count={count} /> },
    { title: t.deadLetters.type, grow: 2, cell: (group) => group.type },
    { title: t.deadLetters.code, grow: 2, cell: (group) => group.code },
    { title: t.deadLetters.note, grow: 2, cell: (group) => group.note },
    { title: t.deadLetters.last, cell: (group) => <Time at={group.lastAt} /> },
  ];
  return (
    <>
      <h1>{t.deadLetters.title}</h1>
      <p>{t.deadLetters.intro}</p>
      <Answer query={query}>
        {({ deadLetterGroups }) => (
          <Table
            label={t.deadLetters.title}
            rows={deadLetterGroups ?? []}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.deadLetters.empty}
          />
        )}
      </Answer>
    </>
  );
}
