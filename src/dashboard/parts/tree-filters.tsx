/** Which trees the list shows, and how many these are: everything of it is in the address. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { TreeCount } from '../../generated/dashboard.ts';
import type { JobFilter, JobOrder } from '../../generated/dashboard-first.ts';
import { ask } from '../data/connection.ts';
import { useFreshness } from '../data/live.ts';
import { messageOf } from '../data/message-of.ts';
import { orders, outcomes, statuses, type TreesSearch, toFilter } from '../data/tree-search.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { readerZone } from '../texts/day-formats.ts';
import { formatTime } from '../texts/formats.ts';
import { AllTrees } from './all-trees.tsx';
import { TimeBrush, TimeInput } from './time-brush.tsx';

/** Counting may look at everything. */
const countEveryMs = 60_000;
const bars = 60;

type Change = (changed: Partial<TreesSearch>) => void;

export default function TreeFilters() {
  const may = useMay();
  const search = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const change: Change = (changed) =>
    void navigate({ search: (now) => ({ ...now, ...changed }), resetScroll: false });
  return (
    <section className="tree-filters">
      <Chips search={search} change={change} />
      <Editor search={search} change={change} />
      {may('LIST') && <Counts search={search} change={change} />}
      <AllTrees filter={toFilter(search)} />
    </section>
  );
}

interface Part {
  readonly search: TreesSearch;
  readonly change: Change;
}

const titles = {
  from: 'createdFrom',
  until: 'createdUntil',
  completedFrom: 'completedFrom',
  completedUntil: 'completedUntil',
} as const;
const ends = Object.keys(titles) as (keyof typeof titles)[];

function EndOf({ end, search, change }: Part & { end: keyof typeof titles }) {
  const t = useTexts();
  return (
    <TimeInput label={t.treeFilters[titles[end]]} at={search[end]} onChange={(at) => change({ [end]: at })} />
  );
}

type Chip = [name: string, changed: Partial<TreesSearch>];

/** Undefined if none is left: nothing of it is in the address then. */
function without<T>(all: readonly T[] = [], one: T): T[] | undefined {
  const left = all.filter((each) => each !== one);
  return left.length === 0 ? undefined : left;
}

/** Each condition, with a button that removes it. */
function Chips({ search, change }: Part) {
  const t = useTexts();
  const each = (name: 'types' | 'statuses' | 'outcomes', title: string): Chip[] =>
    (search[name] ?? []).map((one: string) => [
      t.treeFilters.is(title, name === 'types' ? one : (t.state[one] ?? one)),
      { [name]: without<string>(search[name], one) },
    ]);
  const chips: Chip[] = [
    ...each('types', t.trees.type),
    ...each('statuses', t.tree.status),
    ...each('outcomes', t.treeFilters.outcomeOf),
    ...ends.flatMap((end): Chip[] => {
      const at = search[end];
      return at === undefined
        ? []
        : [[t.treeFilters.is(t.treeFilters[titles[end]], formatTime(at)), { [end]: undefined }]];
    }),
  ];
  if (search.key !== undefined)
    chips.push([t.treeFilters.is(t.treeFilters.key, search.key), { key: undefined }]);
  if (search.schedule !== undefined)
    chips.push([t.treeFilters.is(t.treeFilters.schedule, search.schedule), { schedule: undefined }]);
  if (search.failures !== undefined)
    chips.push([
      search.failures ? t.treeFilters.withFailures : t.treeFilters.withoutFailures,
      { failures: undefined },
    ]);
  if (chips.length === 0) return null;
  return (
    <ul className="chips" aria-label={t.treeFilters.filters}>
      {chips.map(([name, changed]) => (
        <li key={name}>
          <button type="button" aria-label={t.treeFilters.remove(name)} onClick={() => change(changed)}>
            {name} <span aria-hidden="true">✕</span>
          </button>
        </li>
      ))}
      <li>
        <button
          type="button"
          className="quiet"
          onClick={() => change(Object.assign({}, ...chips.map(([, changed]) => emptied(changed))))}
        >
          {t.clear}
        </button>
      </li>
    </ul>
  );
}

const emptied = (changed: Partial<TreesSearch>) =>
  Object.fromEntries(Object.keys(changed).map((name) => [name, undefined]));

function Editor({ search, change }: Part) {
  const t = useTexts();
  return (
    <div className="filters">
      <label>
        {t.treeFilters.order}
        <select
          value={search.order ?? 'NEWEST_FIRST'}
          onChange={({ target }) => {
            const order = target.value as JobOrder;
            change({ order: order === 'NEWEST_FIRST' ? undefined : order });
          }}
        >
          {orders.map((order) => (
            <option key={order} value={order}>
              {t.treeFilters.orders[order]}
            </option>
          ))}
        </select>
      </label>
      <details>
        <summary>{t.filter}</summary>
        <div className="filters">
          <Entry
            label={t.trees.type}
            onEnter={(type) => change({ types: [...new Set([...(search.types ?? []), type])] })}
          />
          <Checks
            title={t.tree.status}
            all={statuses}
            chosen={search.statuses}
            onChange={(statuses) => change({ statuses })}
          />
          <Checks
            title={t.treeFilters.outcomeOf}
            all={outcomes}
            chosen={search.outcomes}
            onChange={(outcomes) => change({ outcomes })}
          />
          <Failures search={search} change={change} />
          <Entry label={t.treeFilters.key} onEnter={(key) => change({ key })} />
          <Entry label={t.treeFilters.schedule} onEnter={(schedule) => change({ schedule })} />
          {ends.map((end) => (
            <EndOf key={end} end={end} search={search} change={change} />
          ))}
        </div>
      </details>
    </div>
  );
}

function Failures({ search, change }: Part) {
  const t = useTexts();
  return (
    <label>
      {t.treeFilters.failures}
      <select
        value={String(search.failures ?? '')}
        onChange={({ target }) =>
          change({ failures: target.value === '' ? undefined : target.value === 'true' })
        }
      >
        <option value="">{t.treeFilters.any}</option>
        <option value="true">{t.treeFilters.withFailures}</option>
        <option value="false">{t.treeFilters.withoutFailures}</option>
      </select>
    </label>
  );
}

function Checks<T extends string>(props: {
  readonly title: string;
  readonly all: readonly T[];
  readonly chosen: readonly T[] | undefined;
  readonly onChange: (chosen: T[] | undefined) => void;
}) {
  const t = useTexts();
  const { title, all, chosen = [], onChange } = props;
  return (
    <fieldset>
      <legend>{title}</legend>
      {all.map((one) => (
        <label key={one}>
          <input
            type="checkbox"
            checked={chosen.includes(one)}
            onChange={({ target }) => onChange(target.checked ? [...chosen, one] : without(chosen, one))}
          />
          {t.state[one]}
        </label>
      ))}
    </fieldset>
  );
}

/** Like all other filters it acts at once: with Enter, or when it is left. */
function Entry({ label, onEnter }: { label: string; onEnter: (text: string) => void }) {
  const enter = (input: HTMLInputElement) => {
    const text = input.value.trim();
    input.value = '';
    if (text !== '') onEnter(text);
  };
  return (
    <label>
      {label}
      <input
        enterKeyHint="done"
        onBlur={({ currentTarget }) => enter(currentTarget)}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && enter(currentTarget)}
      />
    </label>
  );
}

/** The bars show all that match at any time, so that what was not chosen can be chosen next. */
function Counts({ search, change }: Part) {
  const t = useTexts();
  const { from, until } = search;
  const filter = toFilter(search);
  const atAnyTime = useCount({ ...filter, createdFrom: null, createdUntil: null }, bars, true);
  const isChosen = from !== undefined || until !== undefined;
  const ofChosen = useCount(filter, 0, isChosen);
  const { data: shown, error } = isChosen ? ofChosen : atAnyTime;
  const buckets = atAnyTime.data?.jobCount?.buckets ?? [];
  const all = shown?.jobCount;
  return (
    <figure className="histogram">
      <figcaption>
        <span role="status">
          {error !== null
            ? messageOf(error)
            : all == null
              ? t.loading
              : all.since == null
                ? t.treeFilters.match(all.count)
                : t.treeFilters.atLeast(all.count, formatTime(all.since))}
        </span>
        {buckets.length > 0 && <span className="axis">{t.treeFilters.histogram(readerZone())}</span>}
      </figcaption>
      <TimeBrush buckets={buckets} range={{ from, until }} onChange={change} />
    </figure>
  );
}

function useCount(filter: JobFilter, buckets: number, isAsked: boolean) {
  const { isPaused } = useFreshness();
  return useQuery({
    queryKey: ['tree count', filter, buckets],
    queryFn: ({ signal }) => ask(TreeCount, { filter, buckets }, signal),
    enabled: isAsked,
    placeholderData: keepPreviousData,
    refetchInterval: isPaused ? false : countEveryMs,
  });
}
