/** Who is connected, what they hold, and for how long. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import {
  LiveHeldItems,
  type LiveHeldItemsSubscription,
  LiveWorkers,
  type LiveWorkersSubscription,
} from '../../generated/dashboard.ts';
import { useAnswer } from '../data/live-answers.ts';
import { shortId } from '../parts/items.tsx';
import { LiveAnswer } from '../parts/live-list.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

type WorkerRow = NonNullable<LiveWorkersSubscription['live']['workers']>[number];
type HeldRow = NonNullable<LiveHeldItemsSubscription['live']['heldItems']>[number];

export default function WorkersScreen() {
  const t = useTexts();
  const search = useSearch({ from: '/workers' });
  const { slow = false, worker, type } = search;
  const navigate = useNavigate({ from: '/workers' });
  const workers = useAnswer(LiveWorkers, {});
  const items = useAnswer(LiveHeldItems, {
    slowOnly: slow,
    types: type === undefined ? null : [type],
    workers: worker === undefined ? null : [worker],
  });
  const held = (what: { readonly worker: string; readonly type?: string }, children: ReactNode) => (
    <Link key={what.type} to="/workers" search={{ ...(slow && { slow }), ...what }}>
      {children}
    </Link>
  );
  const workerColumns: readonly Column<WorkerRow>[] = [
    { title: t.workers.name, grow: 2, cell: ({ name }) => held({ worker: name }, name) },
    {
      title: t.workers.types,
      grow: 3,
      cell: ({ name, types }) => (
        <span className="list">
          {types.map(({ type, holds, concurrency }) =>
            held({ worker: name, type }, `${type} ${holds}${concurrency == null ? '' : `/${concurrency}`}`),
          )}
        </span>
      ),
    },
    { title: t.workers.version, cell: ({ version }) => version },
    { title: t.workers.since, isTime: true, cell: ({ connectedAt }) => <Time at={connectedAt} /> },
  ];
  const heldColumns: readonly Column<HeldRow>[] = [
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
      cell: ({ claimedAt, slow }) => (
        <>
          <Time at={claimedAt} /> {slow && <span className="quiet">⏱ {t.workers.slow}</span>}
        </>
      ),
    },
    { title: t.workers.heartbeat, isTime: true, cell: ({ heartbeatAt }) => <Time at={heartbeatAt} /> },
  ];
  return (
    <>
      <h1>{t.workers.title}</h1>
      <LiveAnswer live={workers}>
        {(data) => {
          const rows = data.workers ?? [];
          return (
            <>
              <Versions workers={rows} />
              <Table
                label={t.workers.title}
                rows={rows}
                columns={workerColumns}
                keyOf={({ name }) => name}
                empty={t.workers.empty}
              />
            </>
          );
        }}
      </LiveAnswer>
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
          <Table
            label={t.workers.held}
            rows={heldItems ?? []}
            columns={heldColumns}
            keyOf={({ itemId }) => itemId}
            empty={t.workers.emptyHeld}
          />
        )}
      </LiveAnswer>
    </>
  );
}

/** How many workers have each version, if they differ. */
function Versions({ workers }: { workers: readonly WorkerRow[] }) {
  const t = useTexts();
  const counts = new Map<string, number>();
  for (const { version } of workers) if (version != null) counts.set(version, (counts.get(version) ?? 0) + 1);
  if (counts.size < 2) return null;
  return <p>{[...counts].map(([version, count]) => t.workers.versions(version, count)).join('; ')}</p>;
}
