/** How many items of a job have each status, how fast they end, and how long the rest may take: also the legend of the strip. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type ItemStatus, type JobStateFragment, PendingCounts } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useFollowing } from '../data/follow.ts';
import { pushedOf } from '../data/sources.ts';
import { useTexts } from '../texts/all.ts';
import { ProblemOf } from './ask.tsx';
import { Count, State } from './progress.tsx';
import { Swatch } from './strip.tsx';

export const pendingOf = (jobId: string) =>
  queryOptions({
    queryKey: ['pending counts', jobId],
    queryFn: ({ signal }) => ask(PendingCounts, { jobId }, signal),
  });

/** Ended ones are pushed; what the others wait for is read. */
export function JobCounts({ jobId, progress }: { jobId: string; progress: JobStateFragment }) {
  const t = useTexts();
  const query = useQuery(pendingOf(jobId));
  const pushed = pushedOf(progress);
  useFollowing(query, pushed);
  const pending = pushed.isOpen ? query.data?.job?.pendingCounts : undefined;
  const counts: [ItemStatus, number][] = [
    ['SUCCEEDED', progress.succeeded],
    ['FAILED', progress.failed],
    ['CANCELLED', progress.cancelled],
    ['RUNNING', pending?.running ?? 0],
    ['READY', pending?.ready ?? 0],
    ['RETRYING', pending?.retrying ?? 0],
    ['SCHEDULED', pending?.scheduled ?? 0],
    ['BLOCKED', pending?.blocked ?? 0],
    ['WAITING', pending?.waiting ?? 0],
  ];
  const { perSecond, secondsLeft } = pending ?? {};
  return (
    <>
      <ul className="legend">
        {counts
          .filter(([, count]) => count > 0)
          .map(([status, count]) => (
            <li key={status}>
              <Swatch status={status} />
              <State state={status} /> <Count count={count} />
            </li>
          ))}
        {perSecond != null && <li>{t.strip.perSecond(perSecond)}</li>}
        {secondsLeft != null && secondsLeft > 0 && <li>{t.strip.timeLeft(secondsLeft)}</li>}
      </ul>
      <ProblemOf query={query} />
    </>
  );
}
