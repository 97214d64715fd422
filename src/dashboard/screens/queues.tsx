/** What waits and runs of each type, live, and its limits beside what they do. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { QueueFigures, type QueueFiguresQuery, SetQueue } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useLive } from '../data/live.ts';
import { type QueueRow, queues } from '../data/sources.ts';
import { Action } from '../parts/action.tsx';
import { Problem } from '../parts/ask.tsx';
import { quoted } from '../parts/copy.tsx';
import { Count } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { reverse } from '../parts/undo.tsx';
import { useTexts } from '../texts/all.ts';
import { formatDuration, formatTenths } from '../texts/formats.ts';

type Figures = NonNullable<QueueFiguresQuery['queues']>[number];

export default function QueuesScreen() {
  const t = useTexts();
  const { value, error } = useLive('queues', queues);
  // How long items wait and take changes all the time; that is read now and then.
  const figures = useQuery({
    queryKey: ['queue figures'],
    queryFn: ({ signal }) => ask(QueueFigures, { types: null }, signal),
    refetchInterval: 10_000,
  });
  const figuresOf = new Map(figures.data?.queues?.map((queue) => [queue.type, queue]));
  const count = (title: string, of: (row: QueueRow) => number): Column<QueueRow> => ({
    title,
    isNumber: true,
    cell: (row) => <Count count={of(row)} />,
  });
  const figure = (title: string, of: (row: Figures) => string): Column<QueueRow> => ({
    title,
    isNumber: true,
    cell: ({ type }) => {
      const found = figuresOf.get(type);
      return found === undefined ? '' : of(found);
    },
  });
  const columns: readonly Column<QueueRow>[] = [
    {
      title: t.queues.type,
      grow: 2,
      cell: ({ type, paused }) => (
        <>
          {type} {paused && <span className="quiet">‖ {t.queues.paused}</span>}
          <Why type={type} standstills={figuresOf.get(type)?.standstills ?? []} />
        </>
      ),
    },
    count(t.queues.ready, ({ ready }) => ready),
    count(t.queues.running, ({ running }) => running),
    count(t.queues.scheduled, ({ scheduled }) => scheduled),
    count(t.queues.retrying, ({ retrying }) => retrying),
    count(t.queues.blocked, ({ blocked }) => blocked),
    figure(t.queues.rate, ({ figures: { perSecond } }) => formatTenths(perSecond)),
    figure(t.queues.wait, ({ figures: { wait } }) => percentiles(wait)),
    figure(t.queues.processing, ({ figures: { processing } }) => percentiles(processing)),
    {
      title: t.queues.limit,
      cell: ({ concurrency, rate }) =>
        t.queues.limits(
          concurrency,
          rate == null ? undefined : t.queues.ratePer(rate.limit, rate.intervalMs),
        ),
    },
    { title: t.queues.settings, grow: 2, cell: (row) => <Settings queue={row} /> },
  ];
  if (error !== undefined) return <Problem error={error} />;
  return (
    <>
      <h1>{t.queues.title}</h1>
      {value === undefined ? (
        <p className="quiet">{t.loading}</p>
      ) : (
        <Table
          label={t.queues.title}
          rows={value}
          columns={columns}
          keyOf={({ type }) => type}
          empty={t.queues.empty}
        />
      )}
    </>
  );
}

/** What most needs somebody to do something, if that is more than to wait. The pause and limits are shown beside it. */
function Why({ type, standstills: [first] }: { type: string; standstills: Figures['standstills'] }) {
  const t = useTexts();
  if (first === undefined || first.reason === 'QUEUED' || first.reason === 'PAUSED') return null;
  return <div className="quiet why">{t.standstill.of[first.reason]({ ...first, type, awaited: '' })}</div>;
}

const percentiles = ({ p50Ms, p95Ms }: { p50Ms?: number | null; p95Ms?: number | null }) =>
  p50Ms == null || p95Ms == null ? '' : `${formatDuration(p50Ms)} / ${formatDuration(p95Ms)}`;

function Settings({ queue }: { queue: QueueRow }) {
  const t = useTexts();
  const { type, paused, ready, running } = queue;
  const [concurrency, setConcurrency] = useState(textOf(queue.concurrency));
  const [limit, setLimit] = useState(textOf(queue.rate?.limit));
  const [seconds, setSeconds] = useState(String((queue.rate?.intervalMs ?? 1_000) / 1_000));
  const most = numberOf(concurrency);
  const rateLimit = numberOf(limit);
  const intervalMs = Math.round(Number(seconds) * 1_000);
  const command = `jobtree queue ${quoted(type)}`;
  const field = (label: string, value: string, set: (value: string) => void) => (
    <label>
      {label}
      <input type="number" min={0} step="any" value={value} onChange={({ target }) => set(target.value)} />
    </label>
  );
  return (
    <div className="buttons">
      <Action
        label={paused ? t.queues.resume : t.queues.pause}
        needs="ADMINISTER"
        mutation={SetQueue}
        variables={() => ({ input: { type, paused: !paused } })}
        undo={() => reverse(SetQueue, { input: { type, paused } })}
        question={paused ? t.queues.resumeAsk(type, ready) : t.queues.pauseAsk(type, ready, running)}
        command={() => `${command} ${paused ? '--resume' : '--pause'}`}
      />
      <Action
        label={t.queues.limit}
        shortcut="e"
        needs="ADMINISTER"
        mutation={SetQueue}
        variables={() => ({
          input: {
            type,
            concurrency: most,
            rate: rateLimit === null ? null : { limit: rateLimit, intervalMs },
          },
        })}
        undo={() =>
          reverse(SetQueue, {
            input: {
              type,
              concurrency: queue.concurrency ?? null,
              rate:
                queue.rate == null ? null : { limit: queue.rate.limit, intervalMs: queue.rate.intervalMs },
            },
          })
        }
        question={type}
        command={() =>
          `${command} --concurrency ${most ?? 'none'} --rate ${rateLimit === null ? 'none' : `${rateLimit}/${intervalMs}ms`}`
        }
        fields={
          <>
            {field(t.queues.concurrency, concurrency, setConcurrency)}
            {field(t.queues.rateLimit, limit, setLimit)}
            {field(t.queues.rateSeconds, seconds, setSeconds)}
          </>
        }
      />
    </div>
  );
}

const textOf = (value: number | null | undefined) => (value == null ? '' : String(value));
const numberOf = (text: string) => (text.trim() === '' ? null : Number(text));
