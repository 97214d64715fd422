/** The payload of an item as text that can be changed, in a dialog: it is read when the dialog is open. */
import { useQuery } from '@tanstack/react-query';
import { type RefObject, useRef } from 'react';
import { ItemPayload } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useTexts } from '../texts/all.ts';
import { Answer } from './ask.tsx';
import { parseJson, stringify } from './json.ts';
import { PayloadSchema } from './payload-schema.tsx';

/** What was entered, and of which payload. It is no state of whatever shows the button, which may go while somebody writes. */
interface Draft {
  readonly before: string;
  text?: string;
}

/** The editor, and what it changes: only what was changed is sent. */
export function usePayload(itemId: string) {
  const t = useTexts();
  const draft = useRef<Draft>(undefined);
  return {
    editor: <Editor itemId={itemId} draft={draft} />,
    /** @throws Error if what was entered is not JSON */
    changed: (): { readonly payload?: unknown } => {
      const { before, text } = draft.current ?? {};
      if (text === undefined) return {};
      const payload = parseJson(text, t.item.notJson);
      return stringify(payload) === before ? {} : { payload };
    },
  };
}

const rows = 10;

function Editor({ itemId, draft }: { itemId: string; draft: RefObject<Draft | undefined> }) {
  const t = useTexts();
  const query = useQuery({
    queryKey: ['payload', itemId],
    queryFn: ({ signal }) => ask(ItemPayload, { id: itemId }, signal),
    // What is being written stays.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return (
    <>
      {/* As high as what comes, so that no button moves when somebody is about to press it. */}
      {query.isPending ? (
        <label>
          {t.item.changePayload}
          <textarea rows={rows} disabled placeholder={t.loading} />
        </label>
      ) : (
        <Answer query={query}>{({ item }) => <Text payload={item?.payload ?? null} draft={draft} />}</Answer>
      )}
      {/* One and the same before and after: what somebody has unfolded by then stays so. */}
      <PayloadSchema type={query.data?.item?.job.type} />
    </>
  );
}

function Text({ payload, draft }: { payload: unknown; draft: RefObject<Draft | undefined> }) {
  const t = useTexts();
  const before = stringify(payload);
  if (draft.current?.before !== before) draft.current = { before };
  return (
    <label>
      {t.item.changePayload}
      <textarea
        key={before}
        rows={rows}
        spellCheck={false}
        defaultValue={draft.current.text ?? stringify(payload, 2)}
        onChange={({ target }) => {
          if (draft.current !== undefined) draft.current.text = target.value;
        }}
      />
    </label>
  );
}
