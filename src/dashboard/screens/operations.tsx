/** Replays, discards, cancellations and promotions of many items: how far they are. */
import { type OperationStateFragment, Operations } from '../../generated/dashboard.ts';
import { OperationProgress } from '../parts/action.tsx';
import { Answer } from '../parts/ask.tsx';
import { More, nodesOf, usePages } from '../parts/pages.tsx';
import { State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/texts.ts';

export function OperationsScreen() {
  const t = useTexts();
  const pages = usePages(Operations, {}, (data) => data.operations);
  const columns: readonly Column<OperationStateFragment>[] = [
    {
      title: t.operation.kindTitle,
      grow: 4,
      cell: (operation) => <OperationProgress operation={operation} />,
    },
    { title: t.trees.outcome, cell: ({ status }) => <State state={status} /> },
    { title: t.operation.requested, cell: ({ requestedAt }) => <Time at={requestedAt} /> },
    { title: t.operation.finished, cell: ({ finishedAt }) => <Time at={finishedAt} /> },
  ];
  return (
    <>
      <h1>{t.operation.title}</h1>
      <Answer query={pages}>
        {() => (
          <Table
            label={t.operation.title}
            rows={nodesOf(pages)}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.none}
            more={<More pages={pages} />}
          />
        )}
      </Answer>
    </>
  );
}
