/** How long a tree is kept once it is complete. */
import { useState } from 'react';
import { SetRetention } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
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
  const [days, setDays] = useState(seconds == null ? '' : String(seconds / daySeconds));
  const chosen = days.trim() === '' ? null : Math.round(Number(days) * daySeconds);
  return (
    <Action
      label={t.tree.retention}
      needs="CHANGE"
      mutation={SetRetention}
      variables={() => ({ input: { jobId: rootId, retentionSeconds: chosen } })}
      undo={() => reverse(SetRetention, { input: { jobId: rootId, retentionSeconds: seconds ?? null } })}
      question={t.tree.retentionAsk}
      command={() => `jobtree retention ${rootId} --keep ${chosen === null ? 'never' : `${chosen}s`}`}
      onDone={onDone}
      fields={
        <label>
          {t.tree.retentionDays}
          <input
            type="number"
            min={0}
            step="any"
            value={days}
            onChange={({ target }) => setDays(target.value)}
          />
        </label>
      }
    />
  );
}
