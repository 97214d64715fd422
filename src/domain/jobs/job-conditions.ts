/**
 * Which jobs a list shows, as SQL. A list is read in *streams*: ranges of an index, each in the order of the ids. What the index does not answer is
 * checked for each job afterwards, so a list with such conditions looks at a bounded number of jobs at a time and says how far it has come.
 */
import { type JobOutcome, type JobStatus, jobOutcomes } from '../items/item-state.ts';
import { latestProgress } from '../progress/progress.ts';

export interface JobConditions {
  /** Of one of these types; null for all. */
  readonly types: readonly string[] | null;
  /** The types are all that the caller may see: reading rows of others is the last resort. */
  readonly isScoped?: boolean;
  readonly statuses?: readonly JobStatus[] | null;
  /** The outcome of complete jobs. */
  readonly outcomes?: readonly JobOutcome[] | null;
  readonly createdFrom?: Date | null;
  /** Exclusive, as all ends are. */
  readonly createdUntil?: Date | null;
  readonly completedFrom?: Date | null;
  readonly completedUntil?: Date | null;
  readonly dedupeKeyPrefix?: string | null;
  readonly hasFailures?: boolean | null;
  /** The schedule that made them. */
  readonly schedule?: string | null;
  /** Only roots of trees that have been idle since then, or longer. */
  readonly idleSince?: Date | null;
  readonly rootsOnly: boolean;
  /** Whether statuses, outcomes, times of completion and failures are those of whole trees. Only of roots. */
  readonly wholeTrees?: boolean;
}

export type Direction = 'asc' | 'desc';

/** What a job or a tree is, of which statuses and outcomes are parts. */
type State = 'WAITING' | 'RUNNING' | JobOutcome;
const states: readonly State[] = ['WAITING', 'RUNNING', ...jobOutcomes];

const ownState = `case when p.completed_at is not null then p.outcome when p.started_at is null then 'WAITING' else 'RUNNING' end`;
const treeState = `case when p.completed_at is null then case when p.started_at is null then 'WAITING' else 'RUNNING' end
             when p.open_jobs > 0 then 'RUNNING' else p.tree_outcome end`;
/** A tree whose root is complete, but that is not itself, or has another outcome: few, with an index of their own. */
const rootDiffers =
  '(p.is_root and p.completed_at is not null and (p.open_jobs > 0 or p.tree_outcome <> p.outcome))';

function conditionOf(state: State): string {
  if (state === 'WAITING') return 'p.started_at is null and p.completed_at is null';
  if (state === 'RUNNING') return 'p.started_at is not null and p.completed_at is null';
  return `p.outcome = '${state}'`;
}

const statusOf = (state: State): JobStatus =>
  state === 'WAITING' || state === 'RUNNING' || state === 'CANCELLED' ? state : 'COMPLETED';

/** Null for all of them. */
export function statesOf({ statuses, outcomes }: JobConditions): readonly State[] | null {
  if (statuses == null && outcomes == null) return null;
  return states.filter(
    (state) =>
      (statuses?.includes(statusOf(state)) ?? true) &&
      (outcomes == null || outcomes.some((outcome) => outcome === state)),
  );
}

/** The values of a statement, in the order in which it names them. */
export class Parameters {
  readonly values: unknown[] = [];
  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }
}

/** A way to read a list. */
export interface Source {
  /** How many ranges it reads. */
  readonly streams: number;
  /** The conditions that it answers; what it does not answer is checked for each job. */
  readonly answers: ReadonlySet<keyof JobConditions | 'states'>;
  /** Whether it gives the jobs in no order, so that it is of use only if it gives all of them. */
  readonly isUnordered?: true;
  /** Selects `id`, up to so many of each stream between the bounds, with its number `n` in the stream. */
  text(parameters: Parameters, span: Span): string;
}

export interface Span {
  readonly after: string;
  readonly before: string;
  readonly direction: Direction;
  /** Of each stream. */
  readonly most: string;
}

/** Selects from a table whose ids are in `id`. */
const stream = (from: string, id: string, condition: string, { after, before, direction, most }: Span) => `
           (select k.id, row_number() over (order by k.id ${direction}) as n
            from (select ${id} as id from ${from} where ${id} > ${after} and ${id} < ${before}${condition}
                  order by ${id} ${direction} limit ${most}) k)`;

function ofProgress(
  names: readonly (keyof JobConditions | 'states')[],
  parts: readonly string[],
  also: (parameters: Parameters) => readonly string[] = () => [],
): Source {
  return {
    streams: parts.length + also(new Parameters()).length,
    answers: new Set(['rootsOnly', ...names]),
    text: (parameters, span) =>
      [...parts, ...also(parameters)]
        .map((part) => stream('jobtree.job_progress p', 'p.job_id', ` and ${part}`, span))
        .join(' union all '),
  };
}

function byStates(wanted: readonly State[], { rootsOnly, wholeTrees }: JobConditions): Source {
  const own = wanted.map(conditionOf);
  // Most roots say what their trees do. The others are read on their own.
  if (wholeTrees === true)
    return ofProgress(
      ['states'],
      own.map((each) => `p.is_root and ${each} and not ${rootDiffers}`),
      (parameters) => [`${rootDiffers} and ${treeState} = any (${parameters.add(wanted)}::text[])`],
    );
  const roots = own.map((each) => `p.is_root and ${each}`);
  return ofProgress(
    ['states'],
    rootsOnly ? roots : [...roots, ...own.map((each) => `not p.is_root and ${each}`)],
  );
}

const byFailures = ofProgress(['hasFailures'], ['p.is_root and p.tree_failed > 0']);

function byTypes(types: readonly string[], { rootsOnly }: JobConditions): Source {
  return {
    streams: types.length,
    answers: new Set(['types', 'rootsOnly']),
    // Rows are compared, since of an equal type, whose frequency it does not know, Postgres might rather read all jobs in their order.
    text: (parameters, { after, before, direction, most }) => `
           select k.id, k.n from unnest(${parameters.add(types)}::text[]) s(type) cross join lateral (
             select t.id, row_number() over (order by t.id ${direction}) as n
             from (select j.id from jobtree.job j
                   where (j.type, j.id) > (s.type, ${after}) and (j.type, j.id) < (s.type, ${before})${rootsOnly ? ' and j.parent_id is null' : ''}
                   order by j.type ${direction}, j.id ${direction} limit ${most}) t
           ) k`,
  };
}

function byAge({ rootsOnly }: JobConditions): Source {
  return {
    streams: 1,
    answers: new Set(['rootsOnly']),
    text: (_, span) =>
      rootsOnly ? stream('jobtree.tree t', 't.root_id', '', span) : stream('jobtree.job j', 'j.id', '', span),
  };
}

function bySchedule(schedule: string): Source {
  return {
    streams: 1,
    // Only roots are made by schedules.
    answers: new Set(['schedule', 'rootsOnly']),
    text: (parameters, span) =>
      stream('jobtree.job j', 'j.id', ` and j.schedule_name = ${parameters.add(schedule)}`, span),
  };
}

/** Idle trees are rare. */
function byIdleness(since: Date): Source {
  return {
    streams: 1,
    answers: new Set(['rootsOnly']),
    text: (parameters, span) =>
      stream('jobtree.tree t', 't.root_id', ` and t.idle_since <= ${parameters.add(since)}`, span),
  };
}

/** In the order of bytes, everything that begins with a text lies between it and the text with the last character behind it. */
function byDedupeKey(prefix: string, types: readonly string[] | null): Source {
  return {
    streams: 1,
    isUnordered: true,
    answers: new Set(types === null ? ['dedupeKeyPrefix'] : ['dedupeKeyPrefix', 'types']),
    text: (parameters, { most }) => {
      const [from, until] = [prefix, `${prefix}\u{10ffff}`].map((bound) => parameters.add(bound));
      const all =
        types === null
          ? `select j.id from jobtree.job j where j.dedupe_key >= ${from} and j.dedupe_key < ${until} order by j.dedupe_key limit ${most}`
          : `select t.id from unnest(${parameters.add(types)}::text[]) s(type) cross join lateral (
               select j.id from jobtree.job j
               where j.type = s.type and j.dedupe_key >= ${from} and j.dedupe_key < ${until}
               order by j.dedupe_key limit ${most}
             ) t limit ${most}`;
      return `select k.id, row_number() over () as n from (${all}) k`;
    },
  };
}

/**
 * The ways to read a list, the best one first: the next one is for when that finds too little. How far a list came when all find too little is what
 * `base` says: of some types, it reads nothing but jobs of these types, so a caller with a scope is told nothing of others.
 */
export function sourcesOf(conditions: JobConditions): { base: Source; sources: Source[] } {
  const { types, isScoped, schedule, idleSince, dedupeKeyPrefix, hasFailures, wholeTrees } = conditions;
  const wanted = statesOf(conditions);
  const base = types === null ? byAge(conditions) : byTypes(types, conditions);
  if (dedupeKeyPrefix != null) return { base, sources: [byDedupeKey(dedupeKeyPrefix, types), base] };
  // Successful jobs are the majority.
  const isFew = wanted !== null && (types === null || !wanted.includes('SUCCEEDED'));
  const best =
    idleSince != null
      ? byIdleness(idleSince)
      : schedule != null
        ? bySchedule(schedule)
        : hasFailures === true && wholeTrees === true
          ? byFailures
          : isFew
            ? byStates(wanted, conditions)
            : undefined;
  if (best === undefined) return { base, sources: [base] };
  if (types === null) return { base: best, sources: [best] };
  return { base, sources: isScoped === true ? [base, best] : [best, base] };
}

/** Everything that a source does not answer, of jobs `s`; empty if it answers all. */
export interface Rest {
  readonly joins: string;
  readonly conditions: string;
}

export function restOf(conditions: JobConditions, { answers }: Source, parameters: Parameters): Rest {
  const { types, schedule, idleSince, dedupeKeyPrefix, hasFailures, completedFrom, completedUntil } =
    conditions;
  const isTree = conditions.wholeTrees === true;
  const wanted = statesOf(conditions);
  const completedAt = isTree ? 't.completed_at' : 'p.completed_at';
  const failed = isTree ? 'p.tree_failed' : 'p.failed';
  const found: string[] = [];
  const check = (
    name: keyof JobConditions | 'states',
    value: unknown,
    condition: (value: string) => string,
  ) => {
    if (value != null && !answers.has(name)) found.push(condition(parameters.add(value)));
  };
  check('types', types, (value) => `j.type = any (${value}::text[])`);
  check('states', wanted, (value) => `${isTree ? treeState : ownState} = any (${value}::text[])`);
  check('completedFrom', completedFrom, (value) => `${completedAt} >= ${value}`);
  check('completedUntil', completedUntil, (value) => `${completedAt} < ${value}`);
  check('dedupeKeyPrefix', dedupeKeyPrefix, (value) => `starts_with(j.dedupe_key, ${value})`);
  check('schedule', schedule, (value) => `j.schedule_name = ${value}`);
  check(
    'idleSince',
    idleSince,
    (value) => `t.idle_since <= ${value} and jobtree.idle_since(s.id) <= ${value}`,
  );
  if (hasFailures != null && !answers.has('hasFailures'))
    found.push(`${failed} ${hasFailures ? '>' : '='} 0`);
  if (conditions.rootsOnly && !answers.has('rootsOnly')) found.push('j.parent_id is null');
  const all = found.join(' and ');
  const ofJob = /\bj\./.test(all)
    ? 'cross join lateral (select * from jobtree.job where id = s.id offset 0) j'
    : '';
  const ofTree = /\bt\./.test(all)
    ? 'cross join lateral (select * from jobtree.tree where root_id = s.id offset 0) t'
    : '';
  const ofProgress = /\bp\./.test(all) ? latestProgress.replace('j.id', 's.id') : '';
  return { joins: `${ofJob} ${ofTree} ${ofProgress}`, conditions: all };
}
