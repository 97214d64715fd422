/** What was told to whom, and what they answered. */
import {
  CallbackDeliveries,
  type CallbackDeliveryRowFragment,
  LiveCallbackDeliveries,
  RetryDelivery,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { Action } from '../parts/action.tsx';
import { LivePages } from '../parts/live-list.tsx';
import { State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

export default function CallbacksScreen() {
  const t = useTexts();
  const live = useAnswer(LiveCallbackDeliveries, { filter: {} });
  const columns: readonly Column<CallbackDeliveryRowFragment>[] = [
    { title: t.callbacks.endpoint, grow: 2, cell: ({ endpoint }) => endpoint },
    { title: t.callbacks.event, cell: ({ event }) => event },
    { title: t.callbacks.status, cell: ({ status }) => <State state={status} /> },
    { title: t.callbacks.attempts, isNumber: true, cell: ({ attemptCount }) => attemptCount },
    {
      title: t.callbacks.last,
      grow: 3,
      cell: ({ attempts }) => {
        const last = attempts.at(-1);
        return last === undefined ? '' : (last.error ?? last.statusCode);
      },
    },
    { title: t.callbacks.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: t.actions,
      cell: ({ id, endpoint }) => (
        <Action
          label={t.callbacks.retry}
          shortcut="r"
          needs="ADMINISTER"
          mutation={RetryDelivery}
          variables={() => ({ input: { deliveryId: id } })}
          question={t.callbacks.retryAsk(endpoint)}
          command={() => `jobtree callback retry ${id}`}
        />
      ),
    },
  ];
  return (
    <>
      <h1>{t.callbacks.title}</h1>
      <LivePages
        live={live}
        edgesOf={({ callbackDeliveries }) => callbackDeliveries?.edges}
        read={async (after) =>
          (await ask(CallbackDeliveries, { filter: {}, after })).callbackDeliveries?.edges
        }
      >
        {(rows, more) => (
          <Table
            label={t.callbacks.title}
            rows={rows}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.callbacks.empty}
            more={more}
          />
        )}
      </LivePages>
    </>
  );
}
