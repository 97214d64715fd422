/** One type: what waits and runs, how fast it goes, why it doesn't, what limits it, and how that was before. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import {
  DeadLettersOfType,
  LiveQueue,
  LiveQueueHistory,
  type LiveQueueSubscription,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { ranges, toRange } from '../data/history.ts';
import { useFreshness } from '../data/live.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useMay } from '../data/viewer.ts';
import { Facts } from '../parts/facts.tsx';
import { History } from '../parts/history.tsx';
import { LiveAnswer } from '../parts/live-list.tsx';
import { QueueSettings } from '../parts/queue-settings.tsx';
import { Standstills } from '../parts/standstills.tsx';
import { useTexts } from '../texts/all.ts';
import {
  formatCount,
  formatDuration,
  formatExactly,
  formatPercentiles,
  formatTenths,
} from '../texts/formats.ts';

type Answer = LiveQueueSubscription['live'];
type Queue = NonNullable<Answer['queue']>;

export default function QueueScreen() {
  const t = useTexts();
  const { type } = useParams({ from: '/queues/$type' });
  const range = toRange(useSearch({ from: '/queues/$type' }).range);
  const navigate = useNavigate({ from: '/queues/$type' });
  const live = useAnswer(LiveQueue, { type });
  const history = useAnswer(LiveQueueHistory, { type, ...ranges[range] });
  return (
    <>
      <h1>{t.queues.of(type)}</h1>
      <Links type={type} workers={live.value?.workers?.length} />
      <LiveAnswer live={live}>
        {({ queue }) =>
          queue != null && (
            <>
              <State queue={queue} />
              <Standstills standstills={queue.standstills} isQueue />
              <h2>{t.queues.settings}</h2>
              <Limits queue={queue} />
              <QueueSettings key={type} queue={queue} />
              <History
                live={history}
                stepsOf={(value) => value.queue?.history ?? []}
                range={range}
                onRange={(next) => void navigate({ search: { range: next } })}
              />
            </>
          )
        }
      </LiveAnswer>
    </>
  );
}

/** The most that one answer names. */
const mostWorkers = 1_000;

/** What else there is of the type. */
function Links({ type, workers }: { type: string; workers: number | undefined }) {
  const t = useTexts();
  const may = useMay();
  const { isPaused } = useFreshness();
  // Counting them reads all there are.
  const { data } = useQuery({
    queryKey: ['dead letters of', type],
    queryFn: ({ signal }) => ask(DeadLettersOfType, { type }, signal),
    refetchInterval: isPaused ? false : 30_000,
  });
  const dead = data?.deadLetterCount;
  return (
    <nav className="filters" aria-label={t.queues.links}>
      <Link to="/" search={{ types: [type] }}>
        {t.nav.trees}
      </Link>
      <Link to="/dead-letters" search={{ type }}>
        {t.nav.deadLetters}
        {dead != null && ` (${formatCount(dead)})`}
      </Link>
      <Link to="/workers">
        {t.nav.workers}
        {workers !== undefined && ` (${formatCount(workers)}${workers < mostWorkers ? '' : '+'})`}
      </Link>
      {may('SURVEY') && <Link to="/keys">{t.nav.keys}</Link>}
      {may('SURVEY') && <Link to="/schedules">{t.nav.schedules}</Link>}
    </nav>
  );
}

function State({ queue }: { queue: Queue }) {
  const t = useTexts();
  const { figures, oldestReadyMs, slow, slowAfterMs } = queue;
  const { claimedPerSecond, perSecond, deadRate, wait, processing } = figures;
  const counts = (['ready', 'running', 'scheduled', 'retrying', 'waiting', 'blocked'] as const).map(
    (status) => [t.queues[status], formatCount(queue[status])] as const,
  );
  return (
    <Facts
      facts={[
        ...counts,
        [t.queues.oldest, oldestReadyMs == null ? null : formatDuration(oldestReadyMs)],
        [t.queues.slow, slowAfterMs == null ? null : t.queues.slowOf(slow, slowAfterMs)],
        [t.queues.started, formatTenths(claimedPerSecond)],
        [t.queues.ended, formatTenths(perSecond)],
        [t.queues.deadRate, deadRate == null ? null : t.progress.percent(Math.round(deadRate * 1_000) / 10)],
        [t.queues.wait, formatPercentiles(wait)],
        [t.queues.processing, formatPercentiles(processing)],
      ]}
    />
  );
}

/** What is set, with what it does at this moment. */
function Limits({ queue }: { queue: Queue }) {
  const t = useTexts();
  const { paused, ready, running, concurrency, rate, lifetimeMs, figures } = queue;
  return (
    <Facts
      facts={[
        [t.queues.pause, paused ? t.queues.pauseDoes(ready) : t.queues.notPaused],
        [
          t.queues.atATime,
          concurrency == null ? t.queues.unlimited : t.queues.concurrencyDoes(running, concurrency),
        ],
        [
          t.queues.rateTitle,
          rate == null
            ? t.queues.unlimited
            : t.queues.rateDoes(t.queues.ratePer(rate.limit, rate.intervalMs), figures.claimedPerSecond),
        ],
        [t.queues.lifetime, lifetimeMs == null ? null : formatExactly(lifetimeMs)],
      ]}
    />
  );
}
