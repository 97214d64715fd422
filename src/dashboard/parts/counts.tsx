/** How many are meant, asked when an action is about to be confirmed. */
import { useQuery } from '@tanstack/react-query';
import {
  DeadLetterCount,
  type DeadLetterFilter,
  PendingItemCount,
  type PendingItemFilter,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useTexts } from '../texts/all.ts';
import { Answer } from './ask.tsx';

export function CountDeadLetters(props: {
  filter: DeadLetterFilter;
  ask: (count: number) => string;
  /** Whether those that can't be replayed are left out. */
  isReplay?: boolean;
}) {
  const { filter, isReplay = false } = props;
  const t = useTexts();
  const query = useQuery({
    queryKey: ['dead letter count', filter],
    queryFn: ({ signal }) => ask(DeadLetterCount, { filter }, signal),
    staleTime: 0,
  });
  return (
    <Answer query={query}>
      {({ all, replayable }) => {
        const skipped = (all ?? 0) - (replayable ?? 0);
        return (
          <>
            <p>{props.ask((isReplay ? replayable : all) ?? 0)}</p>
            {isReplay && skipped > 0 && <p>{t.deadLetters.skipped(skipped)}</p>}
          </>
        );
      }}
    </Answer>
  );
}

export function CountPending(props: { filter: PendingItemFilter; ask: (count: number) => string }) {
  const { filter } = props;
  const query = useQuery({
    queryKey: ['pending item count', filter],
    queryFn: ({ signal }) => ask(PendingItemCount, { filter }, signal),
    staleTime: 0,
  });
  return <Answer query={query}>{({ pendingItemCount }) => <p>{props.ask(pendingItemCount ?? 0)}</p>}</Answer>;
}
