/** What was told to whom, and what they answered. */
import {
  CallbackDeliveries,
  type CallbackDeliveriesQuery,
  RetryDelivery,
} from '../../generated/dashboard.ts';
import { Action } from '../parts/action.tsx';
import { Answer } from '../parts/ask.tsx';
import { More, nodesOf, usePages } from '../parts/pages.tsx';
import { State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/texts.ts';

type Delivery = NonNullable<CallbackDeliveriesQuery['callbackDeliveries']>['nodes'][number];

export function CallbacksScreen() {
  const t = useTexts();
  const pages = usePages(CallbackDeliveries, { filter: {} }, (data) => data.callbackDeliveries);
  const columns: readonly Column<Delivery>[] = [
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
        />
      ),
    },
  ];
  return (
    <>
      <h1>{t.callbacks.title}</h1>
      <Answer query={pages}>
        {() => (
          <Table
            label={t.callbacks.title}
            rows={nodesOf(pages)}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.callbacks.empty}
            more={<More pages={pages} />}
          />
        )}
      </Answer>
    </>
  );
}
