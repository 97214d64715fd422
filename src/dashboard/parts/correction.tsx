/** A correction of the payloads that are replayed: a JSON merge patch, the first of them, and what it makes of these. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DeadLetterExamples, GroupExamples, JobExamples } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { isObject, mergePatch } from '../data/merge-patch.ts';
import { useTexts } from '../texts/all.ts';
import { Answer } from './ask.tsx';
import { quoted } from './copy.tsx';
import { useDraft } from './draft.ts';
import { Json } from './facts.tsx';
import { shortId } from './items.tsx';
import { parseJson } from './json.ts';

/** Which dead letters: of one group, of jobs that have failures, or of all groups that match. */
type Scope =
  | { readonly groupId: string }
  | { readonly jobIds: readonly string[] }
  | { readonly types: string[] | null; readonly codes: string[] | null };

const mostExamples = 3;

interface Example {
  readonly id: string;
  readonly payload?: unknown;
}

/** The field, and what it adds to the replay. */
export function useCorrection(scope: Scope) {
  const t = useTexts();
  const { textOf, set, forget } = useDraft({ patch: '' });
  const patch = () => {
    const text = textOf('patch').trim();
    if (text === '') return undefined;
    const value = parseJson(text, t.item.notJson);
    if (!isObject(value)) throw new Error(t.correction.noObject);
    return value;
  };
  return {
    field: (
      <Correction
        scope={scope}
        initial={textOf('patch')}
        onChange={(text) => set('patch', text)}
        patch={patch}
      />
    ),
    /** @throws Error if what was entered is no patch */
    correction: (): { readonly payloadPatch?: object } => {
      const payloadPatch = patch();
      return payloadPatch === undefined ? {} : { payloadPatch };
    },
    option: () => {
      const text = textOf('patch').trim();
      return text === '' ? '' : ` --payload-patch ${quoted(text)}`;
    },
    forget,
  };
}

function Correction(props: {
  scope: Scope;
  initial: string;
  onChange: (text: string) => void;
  patch: () => object | undefined;
}) {
  const { scope, initial, onChange, patch } = props;
  const t = useTexts();
  const [text, setText] = useState(initial);
  return (
    <>
      <label>
        {t.correction.label}
        <textarea
          rows={3}
          spellCheck={false}
          defaultValue={text}
          onChange={({ target }) => {
            onChange(target.value);
            setText(target.value);
          }}
        />
      </label>
      <p className="quiet">{t.correction.hint}</p>
      <Preview scope={scope} patch={patch} />
    </>
  );
}

function Preview({ scope, patch }: { scope: Scope; patch: () => object | undefined }) {
  const t = useTexts();
  const query = useQuery({
    queryKey: ['examples', scope],
    queryFn: ({ signal }) => readExamples(scope, signal),
    refetchOnWindowFocus: false,
  });
  let now: object | undefined;
  try {
    now = patch();
  } catch {
    // It is not complete yet: the button says what is wrong with it.
  }
  return (
    <Answer query={query}>
      {(examples) => (
        <section aria-label={t.correction.preview} className="preview">
          {examples.length > 0 && <p className="quiet">{t.correction.preview}</p>}
          {examples.map(({ id, payload }) => (
            <div key={id}>
              <strong>{t.operation.item(shortId(id))}</strong>
              <Json
                value={payload ?? null}
                label={`${t.operation.item(shortId(id))}: ${t.correction.before}`}
              />
              {now === undefined ? null : payload == null || isObject(payload) ? (
                <Json
                  value={mergePatch(payload, now)}
                  label={`${t.operation.item(shortId(id))}: ${t.correction.after}`}
                />
              ) : (
                <p>{t.correction.stays}</p>
              )}
            </div>
          ))}
        </section>
      )}
    </Answer>
  );
}

async function readExamples(scope: Scope, signal: AbortSignal): Promise<readonly Example[]> {
  if ('groupId' in scope) {
    const { node } = await ask(GroupExamples, { id: scope.groupId }, signal);
    return node != null && 'items' in node ? node.items : [];
  }
  if ('jobIds' in scope) {
    const { nodes } = await ask(JobExamples, { ids: scope.jobIds.slice(0, mostExamples) }, signal);
    const items = (nodes ?? []).flatMap((node) => (node != null && 'items' in node ? node.items.nodes : []));
    // Those that were discarded have failed, too.
    return items.filter(({ deadLetterGroupId }) => deadLetterGroupId != null).slice(0, mostExamples);
  }
  const { deadLetterGroups } = await ask(DeadLetterExamples, scope, signal);
  return deadLetterGroups?.flatMap(({ example }) => example ?? []) ?? [];
}
