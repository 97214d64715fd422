/** An item that waits gets another payload or priority, or is due at another time. */
import { UpdateItem, type UpdateItemInput } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { asPayload } from './copy.tsx';
import { useDraft } from './draft.ts';
import { toLocal } from './local-time.ts';
import { usePayload } from './payload-editor.tsx';
import { reverse } from './undo.tsx';

interface Waiting {
  readonly id: string;
  readonly priority: number;
  readonly payload?: unknown;
  readonly runAt?: string | null;
  readonly retryAt?: string | null;
}

export function ChangeItem({ item }: { item: Waiting }) {
  const t = useTexts();
  const { editor, changed } = usePayload(item.id);
  // Of one that waits for its next attempt, it is the end of that wait.
  const dueAt = item.retryAt ?? item.runAt ?? null;
  const due = dueAt === null ? '' : toLocal(dueAt);
  const draft = useDraft({ priority: String(item.priority), due });
  const postponed = (): Pick<UpdateItemInput, 'runAt'> => {
    const text = draft.textOf('due');
    if (text === due) return {};
    return { runAt: text === '' ? null : new Date(text).toISOString() };
  };
  const asRunAt = ({ runAt }: Pick<UpdateItemInput, 'runAt'>) =>
    runAt === undefined ? '' : ` --run-at ${runAt ?? 'now'}`;
  return (
    <Action
      label={t.item.change}
      shortcut="e"
      needs="CHANGE"
      mutation={UpdateItem}
      variables={() => ({
        input: {
          itemId: item.id,
          priority: Number(draft.textOf('priority')),
          ...postponed(),
          ...changed(),
        },
      })}
      undo={() =>
        reverse(UpdateItem, {
          input: {
            itemId: item.id,
            priority: item.priority,
            ...('runAt' in postponed() && { runAt: dueAt }),
            ...('payload' in changed() && { payload: item.payload }),
          },
        })
      }
      question={null}
      command={() =>
        `jobtree update-item ${item.id} --priority ${Number(draft.textOf('priority'))}${asRunAt(postponed())}${asPayload(changed())}`
      }
      onDone={draft.forget}
      fields={
        <>
          {editor}
          <label>
            {t.item.changePriority}
            <input type="number" {...draft.field('priority')} />
          </label>
          <label>
            {t.item.changeRunAt}
            <input type="datetime-local" step={1} {...draft.field('due')} />
          </label>
        </>
      }
    />
  );
}
