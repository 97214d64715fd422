/** Replays, discards, cancellations and promotions of many items: how far they are. */
import {
  CancelOperation,
  LiveOperations,
  type OperationStateFragment,
  Operations,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useMay } from '../data/viewer.ts';
import { Action } from '../parts/action.tsx';
import { LivePages } from '../parts/live-list.tsx';
import { Asked, OperationProgress } from '../parts/operation.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

export default function OperationsScreen() {
  const t = useTexts();
  const live = useAnswer(LiveOperations, {});
  const maySweep = useMay()('SWEEP');
  const columns: readonly Column<OperationStateFragment>[] = [
    {
      title: t.operation.kindTitle,
      grow: 3,
      cell: (operation) => <Asked operation={operation} />,
    },
    {
      title: t.operation.progress,
      grow: 4,
      cell: (operation) => <OperationProgress operation={operation} />,
    },
    { title: t.operation.requestedBy, grow: 2, cell: ({ requestedBy }) => requestedBy },
    { title: t.operation.requested, isTime: true, cell: ({ requestedAt }) => <Time at={requestedAt} /> },
    { title: t.operation.finished, isTime: true, cell: ({ finishedAt }) => <Time at={finishedAt} /> },
    {
      title: t.actions,
      only: ({ status }) => status === 'RUNNING' && maySweep,
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
            empty={t.operation.empty}
            more={more}
          />
        )}
      </LivePages>
    </>
  );
}
