/** Goes to a page, a type, an id or a dedupe key: a combobox with a list of choices. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type RefObject, useId, useState } from 'react';
import { Find, FindKey, type FindKeyQuery } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { messageOf } from '../data/message-of.ts';
import { useSettled, useTypes } from '../data/types.ts';
import { useMay } from '../data/viewer.ts';
import { type Texts, useTexts } from '../texts/all.ts';
import { useModal } from './modal.ts';
import './palette.css';

export type KnownPage = readonly [to: string, name: Exclude<keyof Texts['nav'], 'label'>, ...unknown[]];

interface Choice {
  readonly text: string;
  /** Where it leads; undefined if there is nothing. */
  readonly lead: () => Promise<Place | undefined> | Place;
}

interface Place {
  readonly to: string;
  readonly params?: { readonly id: string } | { readonly type: string };
  readonly search?: { readonly types: readonly string[] };
}

const mostTypes = 8;
/** Of serialize keys. */
const maxKeyLength = 255;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const places: Readonly<Record<string, string>> = {
  Job: '/trees/$id',
  JobItem: '/items/$id',
  DeadLetterGroup: '/dead-letters/$id',
};

export function Palette({ pages, onClose }: { pages: readonly KnownPage[]; onClose: () => void }) {
  const t = useTexts();
  const dialog = useModal();
  const list = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { choose, problem, setProblem } = useChoosing(dialog);
  // Whoever may see no page may not see the types either.
  const types = useTypes(text.trim(), pages.length > 0);
  const key = useKey(text.trim());
  const choices = choicesFor(text.trim(), { pages, types, key }, t);
  const current = Math.min(chosen, choices.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const index = nextOf(event.key, current, choices.length - 1);
    if (index === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (index === undefined) return void choose(choices[current]);
    setChosen(index);
    document.getElementById(`${list}${index}`)?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <dialog ref={dialog} className="palette" aria-label={t.palette.title} onClose={onClose}>
      <label>
        {t.palette.input}
        <input
          role="combobox"
          aria-expanded={choices.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={choices.length > 0 ? `${list}${current}` : undefined}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setChosen(0);
            setProblem(undefined);
          }}
          onKeyDown={onKeyDown}
        />
      </label>
      <Choices list={list} choices={choices} current={current} onChoose={(choice) => void choose(choice)} />
      <p role="status" className="quiet">
        {problem ?? (choices.length === 0 ? t.palette.none : t.palette.found(choices.length))}
      </p>
      <button type="button" onClick={() => dialog.current?.close()}>
        {t.close}
      </button>
    </dialog>
  );
}

function useChoosing(dialog: RefObject<HTMLDialogElement | null>) {
  const t = useTexts();
  const navigate = useNavigate();
  const [problem, setProblem] = useState<string>();
  const choose = async (choice: Choice | undefined) => {
    if (choice === undefined) return;
    try {
      const place = await choice.lead();
      if (place === undefined) return setProblem(t.palette.none);
      // Before the next screen, whose heading gets the focus.
      dialog.current?.close();
      await navigate(place as never);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return { choose, problem, setProblem };
}

/** Which choice the key leads to. */
function nextOf(key: string, current: number, last: number): number | undefined {
  if (key === 'ArrowDown') return current === last ? 0 : current + 1;
  if (key === 'ArrowUp') return current <= 0 ? last : current - 1;
  return undefined;
}

interface ChoicesProps {
  readonly list: string;
  readonly choices: readonly Choice[];
  readonly current: number;
  readonly onChoose: (choice: Choice) => void;
}

function Choices({ list, choices, current, onChoose }: ChoicesProps) {
  const t = useTexts();
  return (
    <div role="listbox" id={list} aria-label={t.palette.title} hidden={choices.length === 0}>
      {choices.map((choice, index) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the option (aria-activedescendant)
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
        <div
          role="option"
          id={`${list}${index}`}
          key={choice.text}
          aria-selected={index === current}
          onClick={() => onChoose(choice)}
        >
          {choice.text}
        </div>
      ))}
    </div>
  );
}

type Key = NonNullable<FindKeyQuery['serializeKeys']>[number];

interface Known {
  readonly pages: readonly KnownPage[];
  readonly types: readonly string[];
  readonly key: Key | undefined;
}

/** The serialize key of this name, if it is in use: asked for when nothing more is typed. */
function useKey(text: string): Key | undefined {
  const maySurvey = useMay()('SURVEY');
  const settled = useSettled(text);
  const name = settled.length > maxKeyLength ? '' : settled;
  const { data } = useQuery({
    queryKey: ['serialize key', name],
    queryFn: ({ signal }) => ask(FindKey, { key: name }, signal),
    enabled: maySurvey && name !== '',
  });
  const [found] = data?.serializeKeys ?? [];
  return name === text ? found : undefined;
}

/** What leads to the item that has the key, or else to the list. */
const ofKey = ({ key, blocked, head }: Key, t: Texts): Choice => ({
  text: t.palette.serializeKey(key, blocked),
  lead: () => (head == null ? { to: '/keys' } : { to: '/items/$id', params: { id: head.id } }),
});

function choicesFor(text: string, { pages, types, key }: Known, t: Texts): Choice[] {
  const has = (name: string) => name.toLowerCase().includes(text.toLowerCase());
  const id = uuid.test(text) ? `Job:${text}` : text;
  const place = places[id.split(':', 1)[0] ?? ''];
  const begins = types.filter((type) => text.startsWith(`${type} `));
  return [
    ...(place !== undefined && id.includes(':')
      ? [{ text: t.palette.id(id), lead: () => ({ to: place, params: { id } }) }]
      : []),
    ...begins.map((type) => {
      const dedupeKey = text.slice(type.length + 1).trim();
      return { text: t.palette.dedupeKey(type, dedupeKey), lead: () => find(type, dedupeKey) };
    }),
    ...pages
      .filter(([, name]) => has(t.nav[name]))
      .map(([to, name]) => ({ text: t.nav[name], lead: () => ({ to }) })),
    ...(key === undefined ? [] : [ofKey(key, t)]),
    ...types
      .filter((type) => text !== '' && has(type))
      .slice(0, mostTypes)
      .flatMap((type) => [
        { text: t.palette.trees(type), lead: () => ({ to: '/', search: { types: [type] } }) },
        { text: t.palette.queue(type), lead: () => ({ to: '/queues/$type', params: { type } }) },
      ]),
  ];
}

async function find(type: string, dedupeKey: string): Promise<Place | undefined> {
  const { jobByDedupeKey: job } = await ask(Find, { type, dedupeKey });
  return job == null ? undefined : { to: '/trees/$id', params: { id: job.id } };
}
