/**
 * What waits and runs of each type, live, and its limits beside what they do; and of all types that match together. However many types there are, only
 * those on the screen are subscribed to.
 */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, Suspense, useMemo, useRef } from 'react';
import {
  LiveQueueNames,
  type LiveQueueNamesSubscription,
  LiveQueues,
  type LiveQueuesSubscription,
  QueueNames,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { toRange } from '../data/history.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useOnScreen } from '../data/on-screen.ts';
import { lazily } from '../lazily.ts';
import { LiveAnswer, LiveProblem, useContinued } from '../parts/live-list.tsx';
import { Count } from '../parts/progress.tsx';
import { QueueSettings } from '../parts/queue-settings.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { type Texts, useTexts } from '../texts/all.ts';
import { formatPercentiles, formatTenths } from '../texts/formats.ts';

const TotalHistory = lazily(() => import('../parts/total-history.tsx'));

type Answer = LiveQueueNamesSubscription['live'];
type Total = NonNullable<Answer['queueTotal']>;
type Queue = NonNullable<LiveQueuesSubscription['live']['queues']>[number];
/** A type, of which more is known while it is on the screen, or all of them. */
type Row = { readonly type: string } | { readonly total: Total };

const pageSize = 1_000;
const typeOf = ({ type }: { readonly type: string }) => type;
const keyOf = (row: Row) => ('type' in row ? `type ${row.type}` : 'total');

export default function QueuesScreen() {
  const t = useTexts();
  const { find, range } = useSearch({ from: '/queues' });
  const navigate = useNavigate({ from: '/queues' });
  const live = useAnswer(LiveQueueNames, { find: find ?? null });
  return (
    <>
      <h1>{t.queues.title}</h1>
      <search>
        <form
          className="filters"
          onSubmit={(event) => {
            event.preventDefault();
            const text = String(new FormData(event.currentTarget).get('find')).trim();
            void navigate({ search: { find: text || undefined, range } });
          }}
        >
          <label>
            {t.queues.find}
            <input type="search" name="find" maxLength={200} key={find} defaultValue={find} />
          </label>
          <button type="submit">{t.filter}</button>
          <Link to="/queues" search={{ find, range: range === undefined ? '1h' : undefined }}>
            {range === undefined ? t.queues.showHistory : t.queues.hideHistory}
          </Link>
        </form>
      </search>
      <LiveAnswer live={live}>
        {(answer) => (
          <>
            {range !== undefined && (
              <Suspense fallback={t.loading}>
                <TotalHistory find={find ?? null} range={toRange(range)} />
              </Suspense>
            )}
            <Queues key={find} find={find} answer={answer} />
          </>
        )}
      </LiveAnswer>
    </>
  );
}

function Queues({ find, answer }: { find: string | undefined; answer: Answer }) {
  const t = useTexts();
  const { queues, queueTotal } = answer;
  const { rows, more } = useContinued(queues ?? none, {
    keyOf: typeOf,
    pageSize,
    read: async ({ type }) => (await ask(QueueNames, { find: find ?? null, after: type })).queues ?? [],
  });
  const { known, live, onShown } = useShown();
  const all = useMemo<readonly Row[]>(
    () => (queueTotal == null || rows.length === 0 ? rows : [{ total: queueTotal }, ...rows]),
    [queueTotal, rows],
  );
  const columns = columnsOf(known, t);
  return (
    <>
      <LiveProblem live={live} />
      <Table
        label={t.queues.title}
        rows={all}
        columns={columns}
        keyOf={keyOf}
        empty={find === undefined ? t.queues.empty : t.queues.noMatch}
        more={more}
        onShown={onShown}
      />
    </>
  );
}

function columnsOf(known: ReadonlyMap<string, Queue>, t: Texts): readonly Column<Row>[] {
  const stateOf = (row: Row): Queue | Total | undefined => ('type' in row ? known.get(row.type) : row.total);
  const column = (
    title: string,
    of: (state: Queue | Total) => ReactNode,
    more: Partial<Column<Row>> = {},
  ): Column<Row> => ({
    title,
    isNumber: true,
    ...more,
    cell: (row) => {
      const state = stateOf(row);
      return state === undefined ? '' : of(state);
    },
  });
  const ofType = (title: string, of: (queue: Queue) => ReactNode, grow?: number): Column<Row> => ({
    title,
    ...(grow !== undefined && { grow }),
    cell: (row) => {
      const queue = 'type' in row ? known.get(row.type) : undefined;
      return queue === undefined ? '' : of(queue);
    },
  });
  return [
    {
      title: t.queues.type,
      grow: 3,
      cell: (row) =>
        'total' in row ? (
          <strong>{t.queues.total(row.total.typeCount)}</strong>
        ) : (
          <TypeCell type={row.type} queue={known.get(row.type)} />
        ),
    },
    column(t.queues.ready, ({ ready }) => <Count count={ready} />),
    column(t.queues.running, ({ running }) => <Count count={running} />),
    column(t.queues.scheduled, ({ scheduled }) => <Count count={scheduled} />),
    column(t.queues.retrying, ({ retrying }) => <Count count={retrying} />),
    column(t.queues.waiting, ({ waiting }) => <Count count={waiting} />, {
      only: (row) => (stateOf(row)?.waiting ?? 0) > 0,
    }),
    column(t.queues.blocked, ({ blocked }) => <Count count={blocked} />),
    column(t.queues.rate, ({ figures: { perSecond } }) => formatTenths(perSecond)),
    column(t.queues.wait, ({ figures: { wait } }) => formatPercentiles(wait)),
    column(t.queues.processing, ({ figures: { processing } }) => formatPercentiles(processing)),
    ofType(t.queues.limit, ({ concurrency, rate }) =>
      t.queues.limits(concurrency, rate == null ? undefined : t.queues.ratePer(rate.limit, rate.intervalMs)),
    ),
    ofType(t.queues.settings, (queue) => <QueueSettings queue={queue} />, 2),
  ];
}

const none: readonly never[] = [];

const shownTypeOf = (row: Row) => ('type' in row ? row.type : undefined);

/** The state of the rows that are on the screen; of others what it was when they were. */
function useShown() {
  const [types, onShown] = useOnScreen(shownTypeOf);
  const known = useRef(new Map<string, Queue>());
  const live = useAnswer(LiveQueues, types && { types });
  for (const queue of live.value?.queues ?? none) known.current.set(queue.type, queue);
  return { known: known.current, live, onShown };
}

function TypeCell({ type, queue }: { type: string; queue: Queue | undefined }) {
  const t = useTexts();
  return (
    <>
      <Link to="/queues/$type" params={{ type }}>
        {type}
      </Link>{' '}
      {queue?.paused && <span className="quiet">‖ {t.queues.paused}</span>}
      <Why type={type} standstills={queue?.standstills ?? []} />
    </>
  );
}

/** What most needs somebody to do something, if that is more than to wait. The pause and limits are shown beside it. */
function Why({ type, standstills: [first] }: { type: string; standstills: Queue['standstills'] }) {
  const t = useTexts();
  if (first === undefined || first.reason === 'QUEUED' || first.reason === 'PAUSED') return null;
  return <div className="quiet why">{t.standstill.of[first.reason]({ ...first, type, awaited: '' })}</div>;
}
