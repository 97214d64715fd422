/**
 * Creates many trees. Each entry is judged separately, as `createJob` would: a refused one changes nothing of the others. Plain jobs, of this and
 * of other callers, are inserted together (`insertJobs`); the other entries one after the other, in their order.
 */
import { isRolledBack } from '../../db/sqlstate.ts';
import {
  BusyError,
  ForbiddenError,
  InvalidInputError,
  JobtreeError,
  NotFoundError,
  StorageLimitError,
} from '../../errors.ts';
import type { CreationAnswer, PlainJob } from '../engine/batchers.ts';
import { checkRoom, countTypes, type Engine } from '../engine/engine.ts';
import { checkBatch } from '../values/checks.ts';
import { joinTexts } from '../values/json-text.ts';
import { maxCreatedItems, maxCreatedJobs } from '../values/limits.ts';
import {
  type CreatedJob,
  createAlone,
  type NewJob,
  type PreparedJob,
  prepareJob,
  sizeOfJob,
} from './create-job.ts';

/** How long entries that are created one by one may take before the rest is BUSY, so that the caller learns what became of all. */
const longestMs = 10_000;

/** A job, or why it was refused. */
type Answer = CreatedJob | JobtreeError;

/** `jobs`: an error stands for an entry that was refused before. `create`: creates the entry `i`, which is not inserted with others. */
export async function createJobs(
  engine: Engine,
  jobs: readonly (NewJob | JobtreeError)[],
  create: (prepared: PreparedJob, i: number) => Promise<CreatedJob> = (prepared) =>
    createAlone(engine, prepared),
): Promise<Answer[]> {
  checkBatch(jobs.length, 'inputs');
  const answers = new Map<number, Answer>();
  const prepared = new Map<number, PreparedJob>();
  const refuse = (i: number, error: unknown) => {
    if (!(error instanceof JobtreeError)) throw error;
    prepared.delete(i);
    answers.set(i, atEntry(i, error));
  };
  for (const [i, job] of jobs.entries()) {
    try {
      if (job instanceof JobtreeError) refuse(i, job);
      else prepared.set(i, prepareJob(job, `inputs[${i}].`, engine.limits));
    } catch (error) {
      refuse(i, error);
    }
  }
  checkTotal([...prepared.values()]);
  await judgePayloads(engine, prepared, refuse);
  await judgeRoom(engine, prepared, refuse);

  const alone = findAlone(prepared);
  const insert = async (kind: 'keyed' | 'unkeyed') => {
    const entries = [...prepared].flatMap(([i, { plain, keys }]) =>
      plain !== undefined && !alone.has(i) && keys.length > 0 === (kind === 'keyed') ? [{ i, plain }] : [],
    );
    if (entries.length === 0) return;
    const created = await engine.batchers.creations[kind]
      .submit(
        entries.map(({ plain }) => plain),
        engine,
        engine.isGone,
      )
      // The other half may have been carried out.
      .catch((error: unknown) => entries.map(() => error as JobtreeError));
    for (const [k, { i }] of entries.entries()) {
      const answer = created[k];
      if (answer === undefined) alone.add(i);
      else if (answer instanceof Error) refuse(i, answer);
      else answers.set(i, answer);
    }
  };
  await Promise.all([insert('unkeyed'), insert('keyed')]);
  const until = performance.now() + longestMs;
  for (const i of [...alone].toSorted((one, other) => one - other)) {
    try {
      if (performance.now() > until)
        throw new BusyError('The entries before it took too long. Nothing of it was done: try again.');
      answers.set(i, await create(prepared.get(i) as PreparedJob, i));
    } catch (error) {
      refuse(i, error);
    }
  }
  return checkOutage(jobs.map((_, i) => answers.get(i) as Answer));
}

/** Entries that are not plain, and later ones with their dedupe keys, which come after them and so get their jobs. */
function findAlone(prepared: ReadonlyMap<number, PreparedJob>): Set<number> {
  const alone = new Set<number>();
  const taken = new Set<string>();
  for (const [i, { plain, keys }] of prepared) {
    if (plain !== undefined && !keys.some((key) => taken.has(key))) continue;
    alone.add(i);
    for (const key of keys) taken.add(key);
  }
  return alone;
}

/** If nothing was done for the same reason, that is the answer to the whole call. */
function checkOutage(answers: Answer[]): Answer[] {
  const [first] = answers;
  const isRefusal =
    first instanceof InvalidInputError ||
    first instanceof NotFoundError ||
    first instanceof ForbiddenError ||
    first instanceof StorageLimitError;
  const areAlike = answers.every(
    (answer) => answer instanceof JobtreeError && answer.code === (first as JobtreeError).code,
  );
  if (areAlike && !isRefusal) throw first;
  return answers;
}

function checkTotal(prepared: readonly PreparedJob[]): void {
  for (const [what, count, limit] of [
    ['jobs', prepared.reduce((sum, { jobs }) => sum + jobs, 0), maxCreatedJobs],
    ['items', prepared.reduce((sum, { payloads }) => sum + payloads.length, 0), maxCreatedItems],
  ] as const)
    if (count > limit)
      throw new InvalidInputError(
        `inputs has ${count} ${what} in total; the limit is ${limit}. Send several calls.`,
        'inputs',
      );
}

type Refuse = (i: number, error: unknown) => void;

async function judgePayloads(
  engine: Engine,
  prepared: ReadonlyMap<number, PreparedJob>,
  refuse: Refuse,
): Promise<void> {
  const entries = [...prepared].flatMap(([i, { payloads }]) => payloads.map((payload) => ({ i, payload })));
  if (entries.length === 0 || !(await engine.schemas.any('payload'))) return;
  const problems = await engine.schemas.check(
    'payload',
    entries.map(({ payload }) => payload),
  );
  // The first problem of each entry.
  for (const [k, { i }] of entries.entries())
    if (problems[k] !== undefined && prepared.has(i)) refuse(i, problems[k]);
}

/** Refuses the entries for which there is no more room, after those before them. */
async function judgeRoom(
  engine: Engine,
  prepared: ReadonlyMap<number, PreparedJob>,
  refuse: Refuse,
): Promise<void> {
  let taken = { items: 0, bytes: 0 };
  for (const [i, job] of prepared) {
    const { items, bytes } = sizeOfJob(job);
    const more = { items: taken.items + items, bytes: taken.bytes + bytes };
    try {
      const room = checkRoom(engine, more);
      if (room !== undefined) await room;
      taken = more;
    } catch (error) {
      refuse(i, error);
    }
  }
}

/** The same refusal, with the entry before the field. */
function atEntry(i: number, error: JobtreeError): JobtreeError {
  const { field, message } = error;
  const Kind = [InvalidInputError, NotFoundError, ForbiddenError].find((kind) => error instanceof kind);
  if (Kind === undefined || field === undefined || field.startsWith('inputs[')) return error;
  const entry = `inputs[${i}].`;
  return new Kind(message.startsWith(field) ? entry + message : message, entry + field);
}

/** How long a batch may take that has to be divided, while others wait for it. */
const dividingMs = 100;

/** The database call, for plain jobs that may come from several callers. */
export function insertJobs(
  engine: Engine,
  jobs: readonly PlainJob[],
  until = performance.now() + dividingMs,
): Promise<CreationAnswer[]> {
  return insert(engine, jobs).catch(async (error: unknown) => {
    if (isRolledBack(error)) {
      // One of them is to blame, such as for a dedupe key that an open transaction has.
      if (jobs.length === 1 || performance.now() > until) return jobs.map(() => undefined);
      const half = jobs.length >> 1;
      const first = await insertJobs(engine, jobs.slice(0, half), until);
      return [...first, ...(await insertJobs(engine, jobs.slice(half), until))];
    }
    if (!(error instanceof JobtreeError)) throw error;
    return jobs.map(() => error);
  });
}

async function insert(engine: Engine, jobs: readonly PlainJob[]): Promise<CreationAnswer[]> {
  const heads = `[${jobs.map(({ head }) => head).join(',')}]`;
  const payloads = joinTexts(jobs.flatMap(({ payloads }) => payloads));
  const owners = jobs.flatMap(({ payloads }, i) => payloads.map(() => i + 1));
  const rows = await engine.database.call<{ job_id: string; created: boolean }>(
    'create_plain_jobs',
    heads,
    payloads,
    `{${owners.join(',')}}`,
  );
  const added = jobs.flatMap(({ type, payloads }, i) => (rows[i]?.created ? payloads.map(() => type) : []));
  if (added.length > 0) engine.effects.ready(countTypes(added));
  return rows.map(({ job_id: jobId, created }) => ({ jobId, created }));
}
