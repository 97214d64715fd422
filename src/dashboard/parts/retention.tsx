/** How long a tree is kept once it is complete. */
import { SetRetention } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { useDraft } from './draft.ts';
import { reverse } from './undo.tsx';

const daySeconds = 86_400;

export function Retention(props: {
  rootId: string;
  /** Null for ever. */
  seconds: number | null | undefined;
  onDone: () => void;
}) {
  const { rootId, seconds, onDone } = props;
  const t = useTexts();
  const draft = useDraft({ days: seconds == null ? '' : String(seconds / daySeconds) });
  const chosen = () => {
    const days = draft.textOf('days').trim();
    return days === '' ? null : Math.round(Number(days) * daySeconds);
  };
  return (
    <Action
      label={t.tree.retention}
      needs="CHANGE"
      mutation={SetRetention}
      variables={() => ({ input: { jobId: rootId, retentionSeconds: chosen() } })}
      undo={() => reverse(SetRetention, { input: { jobId: rootId, retentionSeconds: seconds ?? null } })}
      question={t.tree.retentionAsk}
      command={() => {
        const kept = chosen();
        return `jobtree retention ${rootId} --keep ${kept === null ? 'never' : `${kept}s`}`;
      }}
      onDone={() => {
        draft.forget();
        onDone();
      }}
      fields={
        <label>
          {t.tree.retentionDays}
          <input type="number" min={0} step="any" {...draft.field('days')} />
        </label>
      }
    />
  );
}
