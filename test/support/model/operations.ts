/** What commands do that takes more than a few lines: to the system, and to the model, which must agree. */
import { expect } from 'vitest';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { type PendingStatus, pendingStatuses } from '../../../src/domain/items/item-state.ts';
import { type ItemChanges, updateItem } from '../../../src/domain/items/update-item.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import {
  type OperationKind,
  readOperations,
  startOperation,
} from '../../../src/domain/operations/operations.ts';
import { foldProgress } from '../../../src/domain/progress/fold-progress.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { assignmentIdOf, itemIdOf } from '../../../src/domain/values/ids.ts';
import { splitTexts } from '../../../src/domain/values/json-text.ts';
import {
  ItemNotClaimableError,
  ItemNotUpdatableError,
  JobSealedError,
  JobtreeError,
  NotFoundError,
} from '../../../src/errors.ts';
import { type Batch, jobOf, pick, toItems, treeOf } from './inputs.ts';
import { isFinished, isOpen, type Model, type ModelItem, statusOf, subtree } from './model.ts';
import type { System } from './system.ts';

/** What the operation throws, if the model says so. */
export async function refused(
  operation: Promise<unknown>,
  error: abstract new (...args: never[]) => JobtreeError,
): Promise<void> {
  await expect(operation).rejects.toBeInstanceOf(error);
}

export async function add(
  model: Model,
  system: System,
  at: number,
  from: number,
  items: Batch,
  seal: boolean,
): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  const job = jobOf(model, from);
  if (job === undefined) return;
  const specs = toItems(items);
  if (job.sealed)
    return refused(addItems(engine, job.id, specs, { seal: seal && job.feed === undefined }), JobSealedError);
  const answers = await addItems(engine, job.id, specs, { seal: seal && job.feed === undefined });
  system.learnAdded(model, job, specs, answers);
  if (seal && job.feed === undefined) job.sealed = true;
}

export async function claimByName(
  model: Model,
  system: System,
  at: number,
  item: ModelItem | undefined,
): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  if (item === undefined) return;
  const key = { jobId: item.job.id, position: item.position };
  const status = statusOf(item);
  const isDue = item.state === 'DUE' && status !== 'CANCELLED';
  if (status !== 'READY' && !isDue) {
    const error = await claimItem(engine, key, 'named').catch((caught: unknown) => caught);
    expect(error, itemIdOf(key)).toBeInstanceOf(ItemNotClaimableError);
    expect((error as ItemNotClaimableError).reason).toBe(status);
    return;
  }
  if (model.room(item.job.type) === 0) {
    const error = await claimItem(engine, key, 'named').catch((caught: unknown) => caught);
    expect((error as ItemNotClaimableError).reason).toBe(
      model.queues.get(item.job.type)?.paused ? 'PAUSED' : 'LIMITED',
    );
    return;
  }
  const assignment = await claimItem(engine, key, 'named');
  expect(assignment.itemId).toBe(itemIdOf(key));
  system.hold(model, assignment, 'named', ['READY', 'DUE']);
  if (isDue) await learnRest(system, item);
  await refused(claimItem(engine, { ...key, position: 5 }, 'named'), NotFoundError);
}

/** What is left of an entry that was due is ready, promoted or not. */
async function learnRest(system: System, { job, position: claimed }: ModelItem): Promise<void> {
  const rows = await system.db.query<{ position: string; count: number }>(
    `select position, count from jobtree.queue_entry
     where job_id = $1 and run_at is null and (position + count = $2 or position = $2 + 1)`,
    [job.id, claimed],
  );
  for (const { position, count } of rows) {
    for (let at = Number(position); at < Number(position) + count; at++) {
      const item = job.items.get(at);
      if (item?.state === 'DUE') item.state = 'READY';
    }
  }
}

/** The same claim once more: what of it is open, and nothing new. */
export async function repeat(model: Model, system: System, at: number, from: number): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  const claim = pick(
    model.claims.filter(({ assignments }) => assignments.length > 0),
    from,
  );
  if (claim === undefined) return;
  const again = await claimItems(engine, claim.worker, claim.requests, claim.id);
  const open = claim.assignments.filter((assignment) => isOpen(assignment) && !assignment.item.job.cancelled);
  expect(again.map(({ id }) => id).sort()).toEqual(open.map(({ id }) => id).sort());
  for (const { id, payload } of again) expect(payload.value).toEqual(model.assignments.get(id)?.item.payload);
  for (const assignment of open) assignment.overdue = false;
  await refused(claimItems(engine, 'another', claim.requests, claim.id), JobtreeError);
}

/** A claim by plain SQL, which remembers nothing: it gets exactly what there is, the highest priority first. */
export async function claimBySql(model: Model, system: System, type: string, count: number): Promise<void> {
  const most = Math.min(count, model.ready(type).length, model.room(type));
  const rows = await system.db.query<{
    lease_id: string;
    job_id: string;
    first_position: string;
    payloads: string;
    priority: number;
  }>('select * from jobtree.claim_items($1, $2, $3)', [['sql'], [type], [count]]);
  const leases = rows.filter(({ lease_id }) => lease_id !== null);
  const held = leases.flatMap((row) =>
    splitTexts(row.payloads).map((text, i) => {
      const item = model.jobs.get(row.job_id)?.items.get(Number(row.first_position) + i) as ModelItem;
      expect([item.state, item.job.cancelled, item.priority]).toEqual(['READY', false, row.priority]);
      expect(JSON.parse(text)).toEqual(item.payload);
      const id = assignmentIdOf(row.lease_id, i + 1);
      return model.hold(item, { id, leaseId: row.lease_id, worker: 'sql' });
    }),
  );
  expect(held.length).toBe(most);
  const priorities = held.map(({ item }) => item.priority);
  expect(priorities).toEqual([...priorities].sort((x, y) => y - x));
  for (const { priority } of model.ready(type))
    expect(priority).toBeLessThanOrEqual(priorities.at(-1) ?? priority);
}

export async function lose(model: Model, system: System, from: number, half: boolean): Promise<void> {
  const leases = model.leases().filter((each) => !each[0]?.item.job.cancelled && (!half || each.length > 1));
  const lease = pick(leases, from);
  if (lease?.[0] === undefined) return;
  const past = `clock_timestamp() - interval '1 s'`;
  const deadlines = `array(select case when n % 2 = 1 then ${past} else clock_timestamp() + interval '1 h' end from generate_series(1, count) n)`;
  await system.db.query(
    `update jobtree.lease set check_at = ${past}, heartbeat_at = to_timestamp(0), deadlines = ${half ? deadlines : 'null'} where id = $1`,
    [lease[0].leaseId],
  );
  for (const assignment of lease)
    assignment.overdue = !half || Number.parseInt(assignment.id.slice(-2), 16) % 2 === 1;
}

export async function foldSome(
  model: Model,
  system: System,
  at: number,
  from: number,
  all: boolean,
): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  const tree = treeOf(model, from);
  if (tree === undefined) return;
  if (all) return system.fold(model, engine, tree);
  // From a mark in the middle: what is counted then may be more than what is known to be there.
  const rows = await system.db.query<{ id: string }>(
    'select id from jobtree.progress_delta where root_id = $1',
    [tree.root.id],
  );
  const fold = await foldProgress(engine, tree.root.id, Number(pick(rows, from)?.id ?? 1));
  expect(fold).toBeDefined();
  await system.readProgress(model, tree);
}

export async function cancel(model: Model, system: System, at: number, from: number): Promise<void> {
  const job = jobOf(model, from);
  if (job === undefined) return;
  await cancelJob(system.engines[at] as System['engines'][0], job.id);
  for (const each of subtree(job)) {
    if (model.completed.has(each.id)) continue;
    each.cancelled = true;
    each.sealed = true;
    each.waits = false;
  }
}

/** Which items an operation is about: some of them by id, those below a job, or those of a type. */
export type Choice = 'ITEMS' | 'JOB' | 'TYPE';

function choose(model: Model, from: number, choice: Choice) {
  if (choice === 'ITEMS') {
    const items = model.items().filter((_, i) => (i + from) % 7 === 0);
    const some = items.slice(0, 50);
    const filter = { items: some.map(({ job, position }) => ({ jobId: job.id, position })) };
    return some.length === 0 ? undefined : { filter, items: some };
  }
  const job = jobOf(model, from);
  if (job === undefined) return undefined;
  const jobs =
    choice === 'JOB' ? subtree(job) : [...model.jobs.values()].filter(({ type }) => type === job.type);
  const items = jobs.flatMap((each) => [...each.items.values()]);
  return { filter: choice === 'JOB' ? { jobId: job.id } : { types: [job.type] }, items };
}

/** An operation to its end: it finds and does as many items as the model says. */
async function operate<Kind extends OperationKind>(
  system: System,
  at: number,
  kind: Kind,
  filter: Parameters<typeof startOperation<Kind>>[2],
  counts: { readonly total: number; readonly done: number },
): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  const id = await startOperation(engine, kind, filter);
  await system.finish();
  expect(await readOperations(engine.database, [id])).toMatchObject([
    { ...counts, finishedAt: expect.any(Date) },
  ]);
}

export async function cancelSome(
  model: Model,
  system: System,
  at: number,
  from: number,
  choice: Choice,
  statuses: readonly PendingStatus[] | null,
): Promise<void> {
  const chosen = choose(model, from, choice);
  if (chosen === undefined) return;
  const items = new Set(
    chosen.items.filter((item) => (statuses ?? pendingStatuses).includes(statusOf(item) as PendingStatus)),
  );
  const filter = { ...chosen.filter, ...(statuses && { statuses }) };
  await operate(system, at, 'CANCEL', filter, { total: items.size, done: items.size });
  for (const item of items) model.cancel(item);
  // An operation that names statuses leaves it for later, or what it lets go would have one of them.
  if (statuses === null) await system.learnKeys(model, true);
}

/** Makes scheduled items ready; without statuses, those that have failed. */
export async function promoteSome(
  model: Model,
  system: System,
  at: number,
  from: number,
  choice: Choice,
  statuses: readonly PendingStatus[] | null,
): Promise<void> {
  const chosen = choose(model, from, choice);
  if (chosen === undefined) return;
  const items = new Set(
    chosen.items.filter((item) => (statuses ?? ['RETRYING']).includes(statusOf(item) as PendingStatus)),
  );
  const filter = { ...chosen.filter, ...(statuses && { statuses }) };
  await operate(system, at, 'PROMOTE', filter, { total: items.size, done: items.size });
  for (const item of items) item.state = 'READY';
}

/** Replays or discards dead letters. */
export async function settleSome(
  model: Model,
  system: System,
  at: number,
  from: number,
  choice: Choice,
  kind: 'REPLAY' | 'DISCARD',
): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  // A replay folds first, and a fold may complete a job, or fail it.
  for (const tree of model.trees.values()) await system.fold(model, engine, tree);
  const chosen = choose(model, from, choice);
  if (chosen === undefined) return;
  const dead = chosen.items.filter((item) => item.dead);
  const done = kind === 'DISCARD' ? dead : dead.filter(({ job }) => !job.cancelled);
  await operate(system, at, kind, chosen.filter, { total: done.length, done: done.length });
  // In the order in which the operation goes through them.
  const order = ({ job, position }: ModelItem) => `${job.id}:${String(position).padStart(20, '0')}`;
  for (const item of done.sort((x, y) => (order(x) < order(y) ? -1 : 1))) {
    if (kind === 'REPLAY') model.replay(item);
    else item.dead = false;
  }
}

/** Changes an item, or is told why it can't. */
export async function change(
  system: System,
  at: number,
  item: ModelItem | undefined,
  changes: ItemChanges,
): Promise<void> {
  if (item === undefined) return;
  const key = { jobId: item.job.id, position: item.position };
  const engine = system.engines[at] as System['engines'][0];
  const answer = await updateItem(engine, key, changes).catch((error: unknown) => error);
  const status = statusOf(item);
  if (status === 'RUNNING' || status === 'CANCELLED' || isFinished(item)) {
    expect(answer).toBeInstanceOf(ItemNotUpdatableError);
    expect((answer as ItemNotUpdatableError).reason).toBe(status);
    return;
  }
  expect(answer).toBeUndefined();
  if (changes.payload !== undefined) item.payload = changes.payload;
  if (changes.priority !== undefined) item.priority = changes.priority ?? item.job.priority;
  if (changes.runAt === undefined) return;
  item.released = changes.runAt === null ? 'READY' : 'SCHEDULED';
  if (item.state !== 'WAITING' && item.state !== 'BLOCKED') item.state = item.released;
}

export async function remove(model: Model, system: System, at: number, from: number): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  const tree = treeOf(model, from);
  if (tree === undefined) return;
  if (from % 3 === 0 && tree.jobs.length > 1)
    return refused(deleteJob(engine, tree.jobs[1]?.id ?? ''), JobtreeError);
  expect(await deleteJob(engine, tree.root.id)).toEqual({ deleted: true });
  model.removeTree(tree);
  await refused(cancelJob(engine, tree.root.id), NotFoundError);
}

export async function comeDue(model: Model, system: System, from: number): Promise<void> {
  const job = jobOf(model, from);
  if (job === undefined || job.cancelled) return;
  await system.db.query(
    `update jobtree.queue_entry set run_at = clock_timestamp() - interval '1 s' where job_id = $1 and run_at < 'infinity'`,
    [job.id],
  );
  await system.db.query(
    `update jobtree.blocked_item set run_at = clock_timestamp() - interval '1 s' where job_id = $1 and run_at is not null`,
    [job.id],
  );
  for (const item of job.items.values()) {
    if (item.state === 'SCHEDULED') item.state = 'DUE';
    if (item.state === 'BLOCKED') item.released = 'READY';
  }
}
