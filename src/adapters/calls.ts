/**
 * What the adapters have in common: the SQL calls that they make in the caller's transaction, and how they read the answers. Each
 * answer is a single text, so the type conversions of the libraries make no difference.
 */
import { type AddItemsResult, split } from '../client/add-items.ts';
import type { DefinedType } from '../client/define-type.ts';
import { type EnqueueOptions as ClientEnqueueOptions, jobOfOne } from '../client/enqueue.ts';
import { JobtreeError } from '../client/errors.ts';
import { type ItemSpec, type JobSpec, toJobInput } from '../client/job-spec.ts';
import { asRefusal } from './refusals.ts';

/** Options of one call of an adapter. */
export interface AdapterOptions {
  /**
   * Whether idle workers are woken when the transaction commits. This takes a NOTIFY, and Postgres lets only one notifying
   * transaction commit at a time: turn it off if hundreds commit in a second. Workers then find the items within a second, by
   * default. Default: true.
   */
  readonly wake?: boolean | undefined;
}

/** Options for adding items. */
export interface AddOptions extends AdapterOptions {
  /** Whether these are the last items: then the job is sealed in the same transaction. Default: false. */
  readonly seal?: boolean | undefined;
}

/** Options of `enqueue`: those of the client's, except its signal. */
export interface EnqueueOptions extends AdapterOptions, Omit<ClientEnqueueOptions, 'signal'> {}

/** A statement: its text around the values. */
export interface Statement {
  readonly strings: TemplateStringsArray;
  readonly values: readonly string[];
}

/** Runs a statement in the caller's transaction and returns its rows. */
export type Run = (statement: Statement) => PromiseLike<readonly unknown[]>;

/** Creates a whole tree of jobs. This is `createJob` of every adapter. */
export async function createJob(
  run: Run,
  job: JobSpec,
  { wake = true }: AdapterOptions = {},
): Promise<{ id: string; created: boolean }> {
  const input = toJobInput(job);
  const hints = wake ? [...readyItems(job)] : [];
  const { id, created } = await answerOf<{ id: string; created: boolean }>(
    run,
    statement`with made as materialized (select * from jobtree.create_job(${JSON.stringify(input)}::text::json)),
      woken as materialized (
        select jobtree.wake_workers(h ->> 0, (h ->> 1)::integer)
        from made, json_array_elements(${JSON.stringify(hints)}::text::json) h where made.created
      )
      select json_build_object('id', job_id, 'created', created, 'woken', (select count(*) from woken))::text as answer from made`,
  );
  return { id: `Job:${id}`, created };
}

/** Enqueues one piece of work. This is `enqueue` of every adapter. */
export async function enqueue(
  run: Run,
  type: DefinedType<unknown, unknown> | string,
  payload: unknown,
  { wake, ...options }: EnqueueOptions = {},
): Promise<{ id: string; created: boolean }> {
  return createJob(run, jobOfOne(type, payload, options), { wake });
}

/** Adds any number of items to a job, in their order. This is `addItems` of every adapter. */
export async function addItems(
  run: Run,
  jobId: string,
  items: readonly ItemSpec[],
  { seal = false, wake = true }: AddOptions = {},
): Promise<AddItemsResult> {
  const job = uuidOf(jobId);
  const batches = split(items);
  if (batches.length === 0) batches.push([]);
  const entries: AddItemsResult['entries'][number][] = [];
  for (const [i, batch] of batches.entries()) {
    const isLast = i === batches.length - 1;
    const { positions, added } = await answerOf<{ positions: number[]; added: boolean[] | null }>(
      run,
      statement`with made as materialized (
          select * from jobtree.add_items(
            ${job}::text::uuid, ${JSON.stringify(batch)}::text::json, ${String(seal && isLast)}::text::boolean
          )
        ),
        woken as materialized (
          select jobtree.wake_workers(type, ready) from made
          where ${String(wake)}::text::boolean and ready > 0
        )
        select json_build_object('positions', positions, 'added', added, 'woken', (select count(*) from woken))::text as answer
        from made`,
      entries.length,
    );
    for (const [n, position] of positions.entries()) {
      const status = (added?.[n] ?? true) ? 'ADDED' : 'DUPLICATE';
      entries.push({ index: entries.length, status, itemId: `JobItem:${job}:${position}`, error: null });
    }
  }
  const duplicates = entries.filter(({ status }) => status === 'DUPLICATE').length;
  return { added: entries.length - duplicates, duplicates, invalid: 0, entries };
}

function statement(strings: TemplateStringsArray, ...values: string[]): Statement {
  return { strings, values };
}

/** For libraries that take a text with numbered placeholders. */
export function numbered({ strings, values }: Statement): string {
  return strings.reduce((text, part, i) => text + (i <= values.length ? `$${i}` : '') + part);
}

async function answerOf<T>(run: Run, statement: Statement, before = 0): Promise<T> {
  let rows: readonly unknown[];
  try {
    rows = await run(statement);
  } catch (error) {
    throw asRefusal(error, before);
  }
  const [row] = rows as readonly { answer: string }[];
  if (row === undefined) throw new JobtreeError('BAD_RESPONSE', 'jobtree gave no answer.');
  return JSON.parse(row.answer);
}

/** How many items of each type may be claimable at once. */
function readyItems(job: JobSpec, counts = new Map<string, number>()): ReadonlyMap<string, number> {
  const count = job.items?.length ?? 0;
  if (count > 0) counts.set(job.type, (counts.get(job.type) ?? 0) + count);
  for (const child of job.children ?? []) readyItems(child, counts);
  return counts;
}

function uuidOf(jobId: string): string {
  const [, id] = /^Job:([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/.exec(jobId) ?? [];
  if (id === undefined)
    throw new JobtreeError('INVALID_INPUT', `jobId ${JSON.stringify(jobId)} is not the id of a job.`, {
      field: 'jobId',
    });
  return id;
}
