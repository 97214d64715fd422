/** What commands do that takes more than a few lines: to the system, and to the model, which must agree. */
import { expect } from 'vitest';
import { addItems } from '../../../src/domain/add-items.ts';
import { cancelJob } from '../../../src/domain/cancel-job.ts';
import { claimItem } from '../../../src/domain/claim-item.ts';
import { claimItems } from '../../../src/domain/claim-items.ts';
import { deleteJob } from '../../../src/domain/delete-job.ts';
import { foldProgress } from '../../../src/domain/fold-progress.ts';
import { assignmentIdOf, itemIdOf } from '../../../src/domain/item-state.ts';
import { splitTexts } from '../../../src/domain/json-text.ts';
import { ItemNotClaimableError, JobSealedError, JobtreeError, NotFoundError } from '../../../src/errors.ts';
import { type Batch, jobOf, pick, toItems, treeOf } from './inputs.ts';
import { isOpen, type Model, type ModelItem, shownState, subtree } from './model.ts';
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
  const state = shownState(item);
  if (state !== 'READY') {
    const error = await claimItem(engine, key, 'named').catch((caught: unknown) => caught);
    expect(error, itemIdOf(key)).toBeInstanceOf(ItemNotClaimableError);
    expect((error as ItemNotClaimableError).reason).toBe(state);
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
  const wasDue = item.state === 'DUE';
  system.hold(model, assignment, 'named', ['READY', 'DUE']);
  if (wasDue) await learnRest(system, item);
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
    `update jobtree.lease set deadline_at = ${past}, deadlines = ${half ? deadlines : 'null'} where id = $1`,
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
  for (const item of job.items.values()) if (item.state === 'SCHEDULED') item.state = 'DUE';
}
