/** What holds all items of a type back, or limits them, and how to change it. */
import { type QueueStateFragment, SetQueue } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { quoted } from './copy.tsx';
import { useDraft } from './draft.ts';
import { reverse } from './undo.tsx';

export function QueueSettings({ queue }: { queue: QueueStateFragment }) {
  const t = useTexts();
  const { type, paused, ready, running } = queue;
  const draft = useDraft({
    concurrency: textOf(queue.concurrency),
    limit: textOf(queue.rate?.limit),
    seconds: String((queue.rate?.intervalMs ?? 1_000) / 1_000),
  });
  const settings = () => {
    const [concurrency, limit] = [numberOf(draft.textOf('concurrency')), numberOf(draft.textOf('limit'))];
    const intervalMs = Math.round(Number(draft.textOf('seconds')) * 1_000);
    return { concurrency, rate: limit === null ? null : { limit, intervalMs } };
  };
  const command = `jobtree queue ${quoted(type)}`;
  const labelled = (label: string, name: Parameters<typeof draft.field>[0]) => (
    <label>
      {label}
      <input type="number" min={0} step="any" {...draft.field(name)} />
    </label>
  );
  return (
    <div className="buttons">
      <Action
        key={`paused ${paused}`}
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
        variables={() => ({ input: { type, ...settings() } })}
        undo={() =>
          reverse(SetQueue, { input: { type, concurrency: queue.concurrency ?? null, rate: rateOf(queue) } })
        }
        question={type}
        command={() => {
          const { concurrency, rate } = settings();
          return `${command} --concurrency ${concurrency ?? 'none'} --rate ${rate === null ? 'none' : `${rate.limit}/${rate.intervalMs}ms`}`;
        }}
        onDone={draft.forget}
        fields={
          <>
            {labelled(t.queues.concurrency, 'concurrency')}
            {labelled(t.queues.rateLimit, 'limit')}
            {labelled(t.queues.rateSeconds, 'seconds')}
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
