/** Who is connected, what they hold, and for how long. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useRef } from 'react';
import {
  HeldItems as HeldItemsQuery,
  type HeldItemsQueryVariables,
  type HeldRowFragment as HeldRow,
  LiveHeldItems,
  LiveWorkerNames,
  LiveWorkers,
  type LiveWorkersSubscription,
  WorkerNames,
  type WorkerNameFragment as WorkerRow,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useOnScreen } from '../data/on-screen.ts';
import { shortId } from '../parts/items.tsx';
import { LiveAnswer, LiveProblem, useContinued } from '../parts/live-list.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

type Types = NonNullable<LiveWorkersSubscription['live']['workers']>[number]['types'];

export default function WorkersScreen() {
  const t = useTexts();
  const search = useSearch({ from: '/workers' });
  const { slow = false, worker, type } = search;
  const navigate = useNavigate({ from: '/workers' });
  const workers = useAnswer(LiveWorkerNames, {});
  const wanted: Held = {
    slowOnly: slow,
    types: type === undefined ? null : [type],
    workers: worker === undefined ? null : [worker],
  };
  const items = useAnswer(LiveHeldItems, wanted);
  return (
    <>
      <h1>{t.workers.title}</h1>
      <LiveAnswer live={workers}>{(data) => <Connected workers={data.workers ?? none} />}</LiveAnswer>
      <h2>{t.workers.held}</h2>
      <label>
        <input
          type="checkbox"
          checked={slow}
          onChange={({ target }) => navigate({ search: { ...search, slow: target.checked || undefined } })}
        />{' '}
        {t.workers.slowOnly}
      </label>
      {(worker ?? type) !== undefined && (
        <p>
          {t.workers.filter([worker, type].filter((part) => part !== undefined).join(', '))}{' '}
          <Link to="/workers" search={slow ? { slow } : {}}>
            {t.clear}
          </Link>
        </p>
      )}
      <LiveAnswer live={items}>
        {({ heldItems }) => (
          <HeldItems key={JSON.stringify(wanted)} items={heldItems ?? none} wanted={wanted} />
        )}
      </LiveAnswer>
    </>
  );
}

type Held = Omit<HeldItemsQueryVariables, 'after'>;

const itemOf = ({ itemId }: HeldRow) => itemId;

function HeldItems({ items, wanted }: { items: readonly HeldRow[]; wanted: Held }) {
  const t = useTexts();
  const isAll = !wanted.slowOnly && wanted.types == null && wanted.workers == null;
  const { rows, more } = useContinued(items, {
    keyOf: itemOf,
    pageSize: 200,
    read: async ({ claimedAt, itemId }) =>
      (await ask(HeldItemsQuery, { ...wanted, after: { claimedAt, itemId } })).heldItems ?? none,
  });
  const columns: readonly Column<HeldRow>[] = [
    {
      title: t.workers.item,
      grow: 2,
      cell: ({ itemId }) => (
        <Link to="/items/$id" params={{ id: itemId }}>
          {shortId(itemId)}
        </Link>
      ),
    },
    { title: t.workers.type, grow: 2, cell: ({ type }) => type },
    { title: t.workers.name, grow: 2, cell: ({ worker }) => worker },
    { title: t.item.attempt, isNumber: true, cell: ({ attempt }) => attempt },
    {
      title: t.workers.heldSince,
      isTime: true,
      cell: ({ claimedAt, slow }) => (
        <>
          <Time at={claimedAt} /> {slow && <span className="quiet">⏱ {t.workers.slow}</span>}
        </>
      ),
    },
    { title: t.workers.heartbeat, isTime: true, cell: ({ heartbeatAt }) => <Time at={heartbeatAt} /> },
  ];
  return (
    <Table
      label={t.workers.held}
      rows={rows}
      columns={columns}
      keyOf={itemOf}
      empty={isAll ? t.workers.emptyHeld : t.workers.noMatch}
      more={more}
    />
  );
}

const none: readonly never[] = [];
const pageSize = 1_000;
const nameOf = ({ name }: WorkerRow) => name;

function Connected({ workers }: { workers: readonly WorkerRow[] }) {
  const t = useTexts();
  const slow = useSearch({ from: '/workers', select: (search) => search.slow });
  const { rows, more } = useContinued(workers, {
    keyOf: nameOf,
    pageSize,
    read: async ({ name }) => (await ask(WorkerNames, { after: name })).workers ?? [],
  });
  const { known, live, onShown } = useShown(rows);
  const held = (what: { readonly worker: string; readonly type?: string }, children: ReactNode) => (
    <Link key={what.type} to="/workers" search={{ ...(slow && { slow }), ...what }}>
      {children}
    </Link>
  );
  const columns: readonly Column<WorkerRow>[] = [
    { title: t.workers.name, grow: 2, cell: ({ name }) => held({ worker: name }, name) },
    {
      title: t.workers.types,
      grow: 3,
      cell: ({ name }) => (
        <span className="list">
          {known
            .get(name)
            ?.map(({ type, holds, concurrency }) =>
              held({ worker: name, type }, `${type} ${holds}${concurrency == null ? '' : `/${concurrency}`}`),
            )}
        </span>
      ),
    },
    { title: t.workers.version, cell: ({ version }) => version },
    { title: t.workers.since, isTime: true, cell: ({ connectedAt }) => <Time at={connectedAt} /> },
  ];
  return (
    <>
      {/* Of some of them the counts would mean nothing. */}
      {!more && <Versions workers={rows} />}
      <LiveProblem live={live} />
      <Table
        label={t.workers.title}
        rows={rows}
        columns={columns}
        keyOf={nameOf}
        empty={t.workers.empty}
        more={more}
        onShown={onShown}
      />
    </>
  );
}

/** What the workers on the screen have, which stand one after the other by name; of others what they had when they were. */
function useShown(rows: readonly WorkerRow[]) {
  const [names, onShown] = useOnScreen(nameOf);
  const known = useRef(new Map<string, Types>());
  const before = rows[rows.findIndex(({ name }) => name === names?.[0]) - 1];
  const live = useAnswer(LiveWorkers, names && { after: before?.name ?? null, first: names.length });
  for (const { name, types } of live.value?.workers ?? none) known.current.set(name, types);
  return { known: known.current, live, onShown };
}

/** How many workers have each version, if they differ. */
function Versions({ workers }: { workers: readonly WorkerRow[] }) {
  const t = useTexts();
  const counts = new Map<string, number>();
  for (const { version } of workers) if (version != null) counts.set(version, (counts.get(version) ?? 0) + 1);
  if (counts.size < 2) return null;
  return <p>{[...counts].map(([version, count]) => t.workers.versions(version, count)).join('; ')}</p>;
}
