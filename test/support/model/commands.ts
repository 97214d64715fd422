/** Every operation as a command of fast-check: numbers that choose, and what is done to the model and to the system. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { newClaimId } from '../../../src/client/claim-id.ts';
import { exchange } from '../../../src/domain/claims/exchange.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { promoteDue, sweepLeases } from '../../../src/domain/claims/sweep.ts';
import { pendingStatuses } from '../../../src/domain/items/item-state.ts';
import { createJob } from '../../../src/domain/jobs/create-job.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { setQueue } from '../../../src/domain/queues/queues.ts';
import type { Report } from '../../../src/domain/reports/report-outcomes.ts';
import { JobtreeError } from '../../../src/errors.ts';
import { beside, type CutKind, cutKind, toStatement } from './cut.ts';
import {
  batch,
  failure,
  hour,
  jobOf,
  limit,
  n,
  part,
  pick,
  server,
  some,
  success,
  toTree,
  treeSpec,
  type,
  types,
  withOthers,
} from './inputs.ts';
import { checkInvariants, compareWithModel } from './invariants.ts';
import type { Model, ModelJob } from './model.ts';
import {
  add,
  type Choice,
  cancel,
  cancelSome,
  change,
  claimByName,
  claimBySql,
  comeDue,
  foldSome,
  lose,
  promoteSome,
  refused,
  remove,
  repeat,
  settleSome,
} from './operations.ts';
import type { System } from './system.ts';

interface Counter {
  commands: number;
  /** After so many commands all invariants are checked. */
  readonly every: number;
}

class Step implements fc.AsyncCommand<Model, System> {
  readonly #text: string;
  readonly #act: (model: Model, system: System) => Promise<void>;
  readonly #counter: Counter;

  constructor(text: string, act: (model: Model, system: System) => Promise<void>, counter: Counter) {
    this.#text = text;
    this.#act = act;
    this.#counter = counter;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, system: System): Promise<void> {
    await this.#act(model, system);
    await system.learnKeys(model, false);
    if (++this.#counter.commands % this.#counter.every === 0) await checkAll(model, system);
  }

  toString(): string {
    return this.#text;
  }
}

export async function checkAll(model: Model, system: System): Promise<void> {
  await checkInvariants(system.db);
  await compareWithModel(system, model);
}

export function commandsOf(counter: Counter): fc.Arbitrary<fc.AsyncCommand<Model, System>>[] {
  const engineOf = (system: System, at: number) => system.engines[at] as System['engines'][0];
  const step = <Args extends object>(
    name: string,
    args: { [key in keyof Args]: fc.Arbitrary<Args[key]> },
    act: (model: Model, system: System, args: Args) => Promise<void>,
  ) =>
    (fc.record(args) as fc.Arbitrary<Args>).map(
      (given) =>
        new Step(`${name}(${JSON.stringify(given)})`, (model, system) => act(model, system, given), counter),
    );

  const create = step('create', { server, tree: treeSpec }, async (model, system, { server, tree }) => {
    const spec = toTree(tree);
    if (model.jobs.size > 60) return;
    const known = [...model.trees.values()].find(
      ({ root, key }) => key !== undefined && key === spec.dedupeKey && root.type === spec.type,
    );
    const { jobId, created } = await createJob(engineOf(system, server), spec);
    expect([created, jobId]).toEqual([known === undefined, known?.root.id ?? jobId]);
    if (!created) return;
    const jobs = await system.db.query<{ id: string; parent_id: string | null }>(
      'select id, parent_id from jobtree.job where root_id = $1 order by id',
      [jobId],
    );
    model.addTree(spec, jobs);
    const rows = await system.db.query<{
      job_id: string;
      position: string;
      payload: unknown;
      serialize_key: string | null;
    }>(
      'select job_id, position, payload, serialize_key from jobtree.job_item where job_id = any ($1) order by position',
      [jobs.map(({ id }) => id)],
    );
    const counts = [spec, ...(spec.children ?? [])].map(({ items }) => items?.length ?? 0);
    expect(rows.length).toBe(counts.reduce((sum, count) => sum + count, 0));
    for (const { job_id, position, payload, serialize_key: serializeKey } of rows) {
      model.addItem(model.jobs.get(job_id) as ModelJob, {
        position: Number(position),
        payload,
        serializeKey,
      });
    }
  });

  const addStep = step(
    'add',
    { server, n, batch, seal: fc.nat(9) },
    (model, system, { server, n, batch, seal }) => add(model, system, server, n, batch, seal === 0),
  );
  const seal = step('seal', { server, n }, async (model, system, { server, n }) => {
    const job = jobOf(model, n);
    if (job === undefined) return;
    if (job.feed !== undefined && !job.sealed)
      return refused(sealJob(engineOf(system, server), job.id), JobtreeError);
    await sealJob(engineOf(system, server), job.id);
    job.sealed = true;
  });
  const claim = step(
    'claim',
    {
      server,
      requests: fc.array(fc.record({ type, limit }), { minLength: 1, maxLength: 4 }),
      named: fc.boolean(),
    },
    async (model, system, { server, requests, named }) => {
      const asked = requests.map(({ type, limit }) => ({ type: types[type] as string, limit }));
      const id = named ? newClaimId() : undefined;
      await system.claim(model, engineOf(system, server), `w${server}`, asked, id);
    },
  );
  const repeatStep = step('repeat', { server, n }, (model, system, { server, n }) =>
    repeat(model, system, server, n),
  );
  const sqlClaim = step('claimBySql', { type, limit }, (model, system, { type, limit }) =>
    claimBySql(model, system, types[type] as string, limit),
  );
  const claimNamed = step('claimByName', { server, n }, (model, system, { server, n }) =>
    claimByName(model, system, server, pick(model.items(), n)),
  );
  const succeed = step(
    'succeed',
    { server, n, part, others: n, twice: fc.nat(3) },
    async (model, system, args) => {
      const ids = withOthers(model, some(model, args.n, args.part), args.others);
      const reports = ids.map((id, i) => success(model, id, i + (args.n % 7)));
      const engine = engineOf(system, args.server);
      await system.report(model, engine, reports);
      const others = reports.filter(({ newItems }) => newItems === undefined);
      if (args.twice === 0) await system.report(model, engine, others);
    },
  );
  const fail = step(
    'fail',
    { server, n, part, others: n, permanent: fc.boolean() },
    async (model, system, args) => {
      const ids = withOthers(model, some(model, args.n, args.part), args.others);
      const reports = ids.map((id, i) => failure(id, args.permanent && i % 2 === 0));
      await system.report(model, engineOf(system, args.server), reports);
      await system.report(model, engineOf(system, args.server), reports.slice(0, 5));
    },
  );
  const exchangeStep = step(
    'exchange',
    { server, n, part, type, limit, named: fc.boolean() },
    async (model, system, { server, n, part, type, limit, named }) => {
      const reports = some(model, n, part).map((id, i) =>
        i % 5 === 4 ? failure(id, false) : success(model, id, i),
      );
      if (reports.length === 0) return;
      const requests = [{ type: types[type] as string, limit }];
      const id = named ? newClaimId() : undefined;
      const engine = engineOf(system, server);
      const { answers, assignments } = await exchange(engine, reports as Report[], {
        worker: 'x',
        requests,
        claimId: id,
      });
      // The claim sees what the reports made.
      await system.learnReported(model, reports, answers);
      const room = model.room(requests[0]?.type ?? '');
      const held = assignments.map((assignment) => system.hold(model, assignment, 'x'));
      expect(held.length).toBeLessThanOrEqual(Math.min(limit, room));
      if (id !== undefined) model.claims.push({ id, worker: 'x', requests, assignments: held });
    },
  );
  const contradict = step('contradict', { server, n, first: fc.boolean() }, async (model, system, args) => {
    const [id] = some(model, args.n, 'ONE');
    if (id === undefined) return;
    const both = [success(model, id, 0), failure(id, false), success(model, id, 1)];
    await system.report(model, engineOf(system, args.server), args.first ? both : both.reverse());
  });
  const beat = step('heartbeat', { server, n, part, others: n }, async (model, system, args) => {
    const ids = withOthers(model, some(model, args.n, args.part), args.others);
    if (ids.length === 0) return;
    const statuses = await heartbeat(engineOf(system, args.server), ids);
    expect(statuses).toEqual(ids.map((id) => model.heartbeat(id)));
  });
  const release = step('release', { server, n, part, others: n }, async (model, system, args) => {
    const ids = withOthers(model, some(model, args.n, args.part), args.others);
    if (ids.length === 0) return;
    const statuses = await releaseAssignments(engineOf(system, args.server), ids);
    expect(statuses).toEqual(ids.map((id) => model.release(id)));
  });
  const loseStep = step('lose', { n, half: fc.boolean() }, (model, system, { n, half }) =>
    lose(model, system, n, half),
  );
  const sweep = step('sweep', { server }, async (model, system, { server }) => {
    let lost = 0;
    for (let more = true; more; ) {
      const swept = await sweepLeases(engineOf(system, server), new Date(0));
      lost += swept.lost;
      more = swept.more;
    }
    expect(lost).toBe(model.sweep());
    await system.learnKeys(model, true);
  });
  const due = step('comeDue', { n }, (model, system, { n }) => comeDue(model, system, n));
  const promote = step('promote', { server }, async (model, system, { server }) => {
    while ((await promoteDue(engineOf(system, server))).more);
    for (const item of model.items()) if (item.state === 'DUE') item.state = 'READY';
  });
  const promoteKeys = step('promoteBlocked', { server }, (model, system, { server }) =>
    system.promoteBlocked(model, engineOf(system, server)),
  );
  const fold = step('fold', { server, n, all: fc.boolean() }, (model, system, { server, n, all }) =>
    foldSome(model, system, server, n, all),
  );
  const cancelStep = step('cancel', { server, n }, (model, system, { server, n }) =>
    cancel(model, system, server, n),
  );
  const choice = fc.constantFrom('ITEMS', 'JOB', 'TYPE') as fc.Arbitrary<Choice>;
  const statuses = fc.option(fc.subarray([...pendingStatuses], { minLength: 1 }));
  const cancelItems = step('cancelItems', { server, n, choice, statuses }, (model, system, args) =>
    cancelSome(model, system, args.server, args.n, args.choice, args.statuses),
  );
  const times = fc.option(fc.subarray(['SCHEDULED' as const, 'RETRYING' as const], { minLength: 1 }));
  const promoteItems = step('promoteItems', { server, n, choice, statuses: times }, (model, system, args) =>
    promoteSome(model, system, args.server, args.n, args.choice, args.statuses),
  );
  const kind = fc.constantFrom('REPLAY', 'REPLAY', 'DISCARD') as fc.Arbitrary<'REPLAY' | 'DISCARD'>;
  const settleDead = step('settle', { server, n, choice, kind }, (model, system, args) =>
    settleSome(model, system, args.server, args.n, args.choice, args.kind),
  );
  const update = step(
    'update',
    {
      server,
      n,
      due: fc.constantFrom('NOW', 'LATER', null),
      priority: fc.option(fc.integer({ min: -2, max: 2 }), { nil: undefined }),
      own: fc.boolean(),
      correct: fc.boolean(),
    },
    (model, system, { server, n, due, priority, own, correct }) =>
      change(system, server, pick(model.items(), n), {
        ...(due !== null && { runAt: due === 'NOW' ? null : new Date(Date.now() + 2 * hour) }),
        priority: own ? priority : null,
        ...((correct || (due === null && own && priority === undefined)) && {
          payload: { n, text: 'x'.repeat(n % 30_000) },
        }),
      }),
  );
  const removeStep = step('delete', { server, n }, (model, system, { server, n }) =>
    remove(model, system, server, n),
  );
  const queueStep = step(
    'setQueue',
    {
      server,
      type,
      paused: fc.nat(5),
      concurrency: fc.option(fc.integer({ min: 1, max: 60 }), { freq: 1 }),
      rate: fc.option(fc.integer({ min: 20, max: 300 }), { freq: 1 }),
    },
    async (model, system, { server, type: at, paused, concurrency, rate }) => {
      const type = types[at] as string;
      const settings = { paused: paused === 0, concurrency };
      const limit = rate === null ? null : { limit: rate, intervalMs: 24 * hour };
      await setQueue(engineOf(system, server), type, { ...settings, rate: limit });
      model.setQueue(type, { ...settings, rate });
    },
  );
  const cut = step(
    'cut',
    {
      server,
      n,
      kinds: fc.array(cutKind as fc.Arbitrary<CutKind>, { minLength: 1, maxLength: 3 }),
      by: fc.constantFrom('TERMINATE', 'SOCKET') as fc.Arbitrary<'TERMINATE' | 'SOCKET'>,
      beside: fc.constantFrom('NOTHING', 'CLAIM', 'REPORT', 'FAIL', 'ADD', 'FOLD', 'PROMOTE_BLOCKED'),
    },
    (model, system, args) =>
      system.cutTransaction(
        model,
        args.kinds.map((kind, i) => toStatement(model, kind, args.n + i)),
        args.by,
        () => beside(model, system, args.server, args.beside, args.n),
      ),
  );

  const often = <T>(times: number, of: T) => Array.from({ length: times }, () => of);
  return [
    ...often(3, create),
    ...often(5, addStep),
    seal,
    ...often(6, claim),
    repeatStep,
    ...often(2, sqlClaim),
    ...often(2, claimNamed),
    ...often(6, succeed),
    ...often(3, fail),
    ...often(3, exchangeStep),
    contradict,
    ...often(2, beat),
    ...often(2, release),
    ...often(4, loseStep),
    ...often(3, sweep),
    due,
    promote,
    ...often(2, promoteKeys),
    ...often(3, fold),
    cancelStep,
    ...often(3, cancelItems),
    ...often(3, promoteItems),
    ...often(3, settleDead),
    ...often(4, update),
    removeStep,
    queueStep,
    ...often(5, cut),
  ];
}
