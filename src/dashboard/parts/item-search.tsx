/** Items of a job that are found by what they have: read after read, each of which looks at some thousands, until all were looked at or somebody stops it. */
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react';
import { LiveItemRows, SearchItems, type SearchItemsQueryVariables } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useOnScreen } from '../data/on-screen.ts';
import { useTexts } from '../texts/all.ts';
import { Problem } from './ask.tsx';
import { type ItemRow, ItemTable } from './items.tsx';
import { LiveProblem } from './live-list.tsx';

/** What is looked for. */
export interface Sought {
  /** In their payloads: a text, or what the path leads to. */
  readonly find?: string | undefined;
  readonly path?: string | undefined;
  /** Of their last failure. */
  readonly code?: string | undefined;
  /** The dedupe key of one. */
  readonly key?: string | undefined;
}

export const isSought = ({ find, code, key }: Sought) => (find ?? code ?? key) !== undefined;

/** After so many more items that match, it waits for somebody to go on. */
const mostAtOnce = 500;
/** As many as can be asked for by id. */
const mostFollowed = 100;

/** The form; what is entered goes into the address. */
export function ItemSearchForm({ jobId, sought }: { jobId: string; sought: Sought }) {
  const t = useTexts();
  const navigate = useNavigate({ from: '/trees/$id' });
  const search = (next: Sought) =>
    void navigate({ search: (now) => ({ ...now, job: jobId, ...nothing, ...next }), replace: true });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const textOf = (name: keyof Sought) => String(entered.get(name)).trim() || undefined;
    search({
      find: String(entered.get('find')) || undefined,
      path: textOf('path'),
      code: textOf('code'),
      key: textOf('key'),
    });
  };
  const { find, path, code, key } = sought;
  return (
    <form className="filters" onSubmit={submit} key={JSON.stringify(sought)}>
      <label>
        {t.itemSearch.find}
        <input type="search" name="find" maxLength={1_000} defaultValue={find} />
      </label>
      <label>
        {t.itemSearch.path}
        <input name="path" maxLength={1_000} defaultValue={path} placeholder="customer.id" />
      </label>
      <label>
        {t.itemSearch.code}
        <input name="code" maxLength={200} defaultValue={code} />
      </label>
      <label>
        {t.item.dedupeKey}
        <input name="key" maxLength={500} defaultValue={key} />
      </label>
      <button type="submit">{t.itemSearch.search}</button>
      {isSought(sought) && (
        <button type="button" className="quiet" onClick={() => search({})}>
          {t.clear}
        </button>
      )}
    </form>
  );
}

const nothing = { find: undefined, path: undefined, code: undefined, key: undefined };

interface Found {
  readonly items: readonly ItemRow[];
  readonly searched: number;
  /** Where to go on: null at first, undefined at the end. */
  readonly from: string | null | undefined;
}

/** What is found: of another search, another component, by its key. */
export function FoundItems(props: { jobId: string; itemCount: number; sought: Sought }) {
  const { jobId, itemCount, sought } = props;
  const t = useTexts();
  const { found, isOn, setIsOn, error } = useSearching(jobId, sought);
  const { items, searched, from } = found;
  const isRunning = isOn && from !== undefined;
  // With a dedupe key, others are not looked at.
  const all = from === undefined ? searched : Math.max(itemCount, searched);
  const { current, live, onShown } = useCurrent(items);
  const words = t.itemSearch.searched(searched, all, items.length);
  return (
    <>
      <p>
        <progress
          aria-label={t.itemSearch.progress}
          max={Math.max(all, 1)}
          value={from === undefined ? all : searched}
        />{' '}
        {/* What moves is not read aloud; where it stops is. */}
        {isRunning && <span className="words">{words}</span>}
        <span role="status" className="words">
          {!isRunning && words}
        </span>{' '}
        {from !== undefined && (
          <button type="button" onClick={() => setIsOn(!isOn)}>
            {isOn ? t.itemSearch.stop : t.itemSearch.goOn}
          </button>
        )}
      </p>
      {error !== undefined && <Problem error={error} />}
      <LiveProblem live={live} />
      <ItemTable items={current} onShown={onShown} />
    </>
  );
}

/** Searches one part after the other, until it is stopped, much is found, or all is searched. */
function useSearching(jobId: string, { find, path, code, key }: Sought) {
  const [found, setFound] = useState<Found>({ items: [], searched: 0, from: null });
  const [isOn, setIsOn] = useState(true);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    if (!isOn || found.from === undefined) return;
    const ending = new AbortController();
    const sought: Partial<SearchItemsQueryVariables> = {
      ...(path === undefined ? { text: find } : { path, equals: find }),
      codes: code === undefined ? null : [code],
      dedupeKeys: key === undefined ? null : [key],
    };
    setError(undefined);
    ask(SearchItems, { jobId, ...sought, from: found.from }, ending.signal)
      .then(({ job }) => {
        if (ending.signal.aborted) return;
        const more = job?.searchItems;
        const known = [...found.items, ...(more?.nodes ?? [])];
        if (Math.floor(known.length / mostAtOnce) > Math.floor(found.items.length / mostAtOnce))
          setIsOn(false);
        setFound({
          items: known,
          searched: found.searched + (more?.searched ?? 0),
          from: more?.nextFrom ?? undefined,
        });
      })
      .catch((problem) => {
        if (ending.signal.aborted) return;
        setError(problem);
        setIsOn(false);
      });
    return () => ending.abort();
  }, [jobId, find, path, code, key, isOn, found]);
  return { found, isOn, setIsOn, error };
}

const idOf = ({ id }: ItemRow) => id;

/** They are found once, and followed as long as they are on the screen; others are what they were when they were. */
function useCurrent(items: readonly ItemRow[]) {
  const [ids, onShown] = useOnScreen(idOf);
  const live = useAnswer(LiveItemRows, ids && { ids: ids.slice(0, mostFollowed) });
  const known = useRef(new Map<string, ItemRow>()).current;
  const { value } = live;
  const current = useMemo(() => {
    for (const node of value?.nodes ?? [])
      if (node != null && 'id' in node) known.set(node.id, node as ItemRow);
    return items.map((item) => known.get(item.id) ?? item);
  }, [items, value, known]);
  return { current, live, onShown };
}
