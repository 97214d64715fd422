/** What is done with one item that failed for good: it is tried again, with another payload if need be, or given up. */
import { Discard, Replay } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { asPayload } from './copy.tsx';
import { shortId } from './items.tsx';
import { usePayload } from './payload-editor.tsx';

export function ReplayItem({ itemId, label }: { itemId: string; label?: string }) {
  const t = useTexts();
  const { editor, changed } = usePayload(itemId);
  return (
    <Action
      label={label ?? t.item.replay}
      shortcut="r"
      needs="SETTLE"
      mutation={Replay}
      variables={() => ({ input: { filter: { itemIds: [itemId] }, ...changed() } })}
      question={<p>{t.item.replayAsk(shortId(itemId))}</p>}
      command={() => `jobtree replay --item ${itemId}${asPayload(changed())}`}
      fields={editor}
    />
  );
}

/** Of an item that keeps its serialize key. */
export function DiscardItem({ itemId, label }: { itemId: string; label?: string }) {
  const t = useTexts();
  return (
    <Action
      label={label ?? t.deadLetters.discard}
      shortcut="x"
      danger
      needs="SETTLE"
      mutation={Discard}
      variables={() => ({ input: { filter: { itemIds: [itemId] } } })}
      question={<p>{t.item.discardAsk(shortId(itemId))}</p>}
      command={() => `jobtree discard --item ${itemId}`}
    />
  );
}
