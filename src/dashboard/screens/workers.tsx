/** Who is connected, what they hold, and for how long. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { HeldItems, type HeldItemsQuery, Workers, type WorkersQuery } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { Answer } from '../parts/ask.tsx';
import { shortId } from '../parts/items.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { formatDuration } from '../texts/formats.ts';
import { useTexts } from '../texts/texts.ts';

type WorkerRow = NonNullable<WorkersQuery['workers']>[number];
type HeldRow = NonNullable<HeldItemsQuery['heldItems']>[number];

export function WorkersScreen() {
  const t = useTexts();
  const { slow = false } = useSearch({ from: '/workers' });
  const navigate = useNavigate({ from: '/workers' });
  const workers = useQuery({
    queryKey: ['workers'],
    queryFn: ({ signal }) => ask(Workers, {}, signal),
    refetchInterval: 10_000,
  });
  const held = useQuery({
    queryKey: ['held items', slow],
    queryFn: ({ signal }) => ask(HeldItems, { slowOnly: slow, types: null }, signal),
    refetchInterval: 10_000,
  });
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
    { title: t.workers.heldFor, isNumber: true, cell: ({ heldMs }) => formatDuration(heldMs) },
    { title: t.workers.heartbeat, cell: ({ heartbeatAt }) => <Time at={heartbeatAt} /> },
  ];
  return (
    <>
      <h1>{t.workers.title}</h1>
      <Answer query={workers}>
        {(data) => (
          <Table
            label={t.workers.title}
            rows={data.workers ?? []}
            columns={workerColumns}
            keyOf={({ name }) => name}
            empty={t.workers.empty}
          />
        )}
      </Answer>
      <h2>{t.workers.held}</h2>
      <label className="check">
        <input
          type="checkbox"
          checked={slow}
          onChange={({ target }) => navigate({ search: target.checked ? { slow: true } : {} })}
        />{' '}
        {t.workers.slowOnly}
      </label>
      <Answer query={held}>
        {({ heldItems }) => (
          <Table
            label={t.workers.held}
            rows={heldItems ?? []}
            columns={heldColumns}
            keyOf={({ itemId }) => itemId}
            empty={t.workers.emptyHeld}
          />
        )}
      </Answer>
    </>
  );
}
