/** Replays, discards, cancellations and promotions of many items: how far they are. */
import {
  CancelOperation,
  LiveOperations,
  type OperationStateFragment,
  Operations,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { Action, OperationProgress } from '../parts/action.tsx';
import { LivePages } from '../parts/live-list.tsx';
import { State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

export default function OperationsScreen() {
  const t = useTexts();
  const live = useAnswer(LiveOperations, {});
  const columns: readonly Column<OperationStateFragment>[] = [
    {
      title: t.operation.kindTitle,
      grow: 4,
      cell: (operation) => <OperationProgress operation={operation} />,
    },
    { title: t.trees.outcome, cell: ({ status }) => <State state={status} /> },
    { title: t.operation.requestedBy, grow: 2, cell: ({ requestedBy }) => requestedBy },
    { title: t.operation.requested, isTime: true, cell: ({ requestedAt }) => <Time at={requestedAt} /> },
    { title: t.operation.finished, isTime: true, cell: ({ finishedAt }) => <Time at={finishedAt} /> },
    {
      title: t.actions,
      cell: ({ id, status }) =>
        status === 'RUNNING' && (
          <Action
            label={t.operation.stop}
            danger
            needs="SWEEP"
            mutation={CancelOperation}
            variables={() => ({ input: { operationId: id } })}
            question={t.operation.stopAsk}
          />
        ),
    },
  ];
  return (
    <>
      <h1>{t.operation.title}</h1>
      <LivePages
        live={live}
        edgesOf={({ operations }) => operations?.edges}
        read={async (after) => (await ask(Operations, { after })).operations?.edges}
      >
        {(rows, more) => (
          <Table
            label={t.operation.title}
            rows={rows}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.none}
            more={more}
          />
        )}
      </LivePages>
    </>
  );
}
