/** Who is connected, what they hold, and for how long. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
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
  const { slow = false } = useSearch({ from: '/workers' });
  const navigate = useNavigate({ from: '/workers' });
  const workers = useAnswer(LiveWorkers, {});
  const held = useAnswer(LiveHeldItems, { slowOnly: slow, types: null });
  const workerColumns: readonly Column<WorkerRow>[] = [
    { title: t.workers.name, grow: 2, cell: ({ name }) => name },
    {
      title: t.workers.types,
      grow: 3,
      cell: ({ types }) =>
        types
          .map(
            ({ type, holds, concurrency }) =>
              `${type} ${holds}${concurrency == null ? '' : `/${concurrency}`}`,
          )
          .join(', '),
    },
    { title: t.workers.version, cell: ({ version }) => version },
    { title: t.workers.since, cell: ({ connectedAt }) => <Time at={connectedAt} /> },
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
    { title: t.workers.heldSince, cell: ({ claimedAt }) => <Time at={claimedAt} /> },
    { title: t.workers.heartbeat, cell: ({ heartbeatAt }) => <Time at={heartbeatAt} /> },
  ];
  return (
    <>
      <h1>{t.workers.title}</h1>
      <LiveAnswer live={workers}>
        {(data) => (
          <Table
            label={t.workers.title}
            rows={data.workers ?? []}
            columns={workerColumns}
            keyOf={({ name }) => name}
            empty={t.workers.empty}
          />
        )}
      </LiveAnswer>
      <h2>{t.workers.held}</h2>
      <label className="check">
        <input
          type="checkbox"
          checked={slow}
          onChange={({ target }) => navigate({ search: target.checked ? { slow: true } : {} })}
        />{' '}
        {t.workers.slowOnly}
      </label>
      <LiveAnswer live={held}>
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
