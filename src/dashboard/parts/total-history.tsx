/** The history of all types that match. */
import { useNavigate } from '@tanstack/react-router';
import { LiveTotalHistory } from '../../generated/dashboard.ts';
import { type RangeName, ranges } from '../data/history.ts';
import { useAnswer } from '../data/live-answers.ts';
import { History } from './history.tsx';

export default function TotalHistory({ find, range }: { find: string | null; range: RangeName }) {
  const navigate = useNavigate({ from: '/queues' });
  const live = useAnswer(LiveTotalHistory, { find, ...ranges[range] });
  return (
    <History
      live={live}
      stepsOf={({ queueTotal }) => queueTotal?.history ?? []}
      range={range}
      onRange={(next) => void navigate({ search: { find: find ?? undefined, range: next } })}
    />
  );
}
