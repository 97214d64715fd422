/** What holds all items of a type back, or limits them, and how to change it. */
import { useState } from 'react';
import { type QueueStateFragment, SetQueue } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { quoted } from './copy.tsx';
import { reverse } from './undo.tsx';

export function QueueSettings({ queue }: { queue: QueueStateFragment }) {
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
          reverse(SetQueue, { input: { type, concurrency: queue.concurrency ?? null, rate: rateOf(queue) } })
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

const rateOf = ({ rate }: QueueStateFragment) =>
  rate == null ? null : { limit: rate.limit, intervalMs: rate.intervalMs };
const textOf = (value: number | null | undefined) => (value == null ? '' : String(value));
const numberOf = (text: string) => (text.trim() === '' ? null : Number(text));
