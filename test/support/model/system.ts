/**
 * Two servers on one database, and what is done to them together with the model: an operation goes to both, and the answers must
 * agree.
 */
import { inspect } from 'node:util';
import pino from 'pino';
import { expect } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { destroySocket } from '../../../src/db/postgres-client.ts';
import { CallbackAddresses } from '../../../src/domain/callbacks/addresses.ts';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { findMissedEntries } from '../../../src/domain/claims/missed-entries.ts';
import { promoteBlocked } from '../../../src/domain/claims/sweep.ts';
import { createEngine } from '../../../src/domain/create-engine.ts';
import type { Engine } from '../../../src/domain/engine/engine.ts';
import { finishSome } from '../../../src/domain/operations/finish.ts';
import { foldProgress } from '../../../src/domain/progress/fold-progress.ts';
import { type JobProgress, readTrees, revision } from '../../../src/domain/progress/progress.ts';
import { type Report, reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { parseItemId, splitAssignmentId } from '../../../src/domain/values/ids.ts';
import type { TestDatabase } from '../database.ts';
import {
  type Fed,
  initial,
  isFinished,
  isOverLimit,
  type Model,
  type ModelAssignment,
  type ModelItem,
  type ModelJob,
  type ModelReport,
  type ModelTree,
  outcomeOf,
} from './model.ts';

export interface ClaimRequest {
  readonly type: string;
  readonly limit: number;
}

interface FedRow extends Fed {
  readonly position: number;
}

export type Statement = readonly [text: string, ...values: unknown[]];

export class System {
  readonly db: TestDatabase;
  readonly engines: readonly [Engine, Engine];
  /** Trees of which an engine said that they have something to fold. */
  readonly touched = new Set<string>();
  /** What was read of each job last. */
  /** Somebody else's transaction is open, and has locked anything. */
  #isCutting = false;
  readonly #known = new Map<string, JobProgress & { readonly revision: string }>();

  constructor(db: TestDatabase, databases: readonly [Database, Database]) {
    this.db = db;
    const engine = (database: Database) =>
      createEngine({
        database,
        limits: { maxJsonBytes: 1_000_000 },
        callbackAddresses: new CallbackAddresses({ networks: [] }),
        retention: { retentionSeconds: 604_800, idleSeconds: 86_400, idleExpirySeconds: null },
        effects: {
          touched: (rootId) => this.touched.add(rootId),
          started: (rootId) => this.touched.add(rootId),
          ready: () => {},
          claimed: () => {},
          limited: () => {},
          awaited: () => () => {},
          unfinished: () => {},
          importable: () => {},
        },
        logger: pino({ level: 'silent' }),
        logPayloads: false,
        durableClaims: true,
        slowness: { factor: 3, afterMs: 10_000 },
      });
    this.engines = [engine(databases[0]), engine(databases[1])];
  }

  /** Claims, and goes on where the claim may have passed something by; afterwards there is no more, or it has got all. */
  async claim(
    model: Model,
    engine: Engine,
    worker: string,
    requests: readonly ClaimRequest[],
    claimId?: string,
  ): Promise<void> {
    let left = requests;
    for (let round = 1; left.length > 0; round++) {
      expect(round, 'a claim found nothing twice').toBeLessThanOrEqual(2);
      const rooms = new Map(left.map(({ type }) => [type, model.room(type)]));
      const assignments = await claimItems(engine, worker, left, round === 1 ? claimId : undefined);
      for (const [type, room] of rooms)
        expect(assignments.filter((one) => one.type === type).length).toBeLessThanOrEqual(room);
      const held = assignments.map((assignment) => this.hold(model, assignment, worker));
      if (round === 1 && claimId !== undefined)
        model.claims.push({ id: claimId, worker, requests, assignments: held });
      const asked = sumByType(left);
      for (const { item } of held) asked.set(item.job.type, (asked.get(item.job.type) ?? 0) - 1);
      for (const [type, limit] of asked)
        expect(limit, `more ${type} than asked for`).toBeGreaterThanOrEqual(0);
      left = [...asked]
        .filter(([type, limit]) => limit > 0 && model.ready(type).length > 0 && model.room(type) > 0)
        .map(([type, limit]) => ({ type, limit }));
      if (left.length > 0) await findMissedEntries(engine);
    }
  }

  /** What a claim gave must have been ready, and be what was put in. */
  hold(model: Model, assignment: Assignment, worker: string, states = ['READY']): ModelAssignment {
    const { jobId, position } = parseItemId(assignment.itemId) ?? { jobId: '', position: 0 };
    const item = model.jobs.get(jobId)?.items.get(position);
    if (item === undefined) throw new Error(`A claim gave item ${assignment.itemId}, which does not exist.`);
    expect(states, `${assignment.itemId} was claimed`).toContain(item.state);
    expect(item.job.cancelled).toBe(false);
    expect({ ...assignment }).toMatchObject({
      type: item.job.type,
      payload: { value: item.payload },
      attempt: item.attempt,
      worker,
    });
    return model.hold(item, { id: assignment.id, leaseId: splitAssignmentId(assignment.id).leaseId, worker });
  }

  async report(model: Model, engine: Engine, reports: readonly ModelReport[]): Promise<void> {
    if (reports.length === 0) return;
    await this.learnReported(model, reports, await reportOutcomes(engine, reports as Report[]));
  }

  async learnReported(
    model: Model,
    reports: readonly ModelReport[],
    answers: readonly { status: string }[],
  ): Promise<void> {
    const expected = reports.map((report) => model.report(report));
    expect(answers.map(({ status }) => status)).toEqual(expected.map(({ status }) => status));
    const fed = new Map<ModelJob, Fed[]>();
    for (const [child, items] of expected.flatMap((each) => [...each.fed])) {
      fed.set(child, [...(fed.get(child) ?? []), ...items]);
    }
    await this.#learnFed(model, fed);
    await this.learnKeys(model, !this.#isCutting);
  }

  /** What was fed together has entered the lines in the order of its positions. */
  async #learnFed(model: Model, fed: ReadonlyMap<ModelJob, readonly Fed[]>): Promise<void> {
    const found: [ModelJob, FedRow][] = [];
    for (const [child, items] of fed) {
      const rows = await this.db.query<FedRow>(
        'select position::float8, payload, serialize_key as key from jobtree.job_item where job_id = $1 and position > $2',
        [child.id, Math.max(-1, ...child.items.keys())],
      );
      // The keys of an object that a mapping makes have no order of their own.
      const texts = (values: readonly Fed[]) =>
        values.map(({ payload, key }) => inspect([payload, key], { sorted: true, depth: null })).sort();
      expect(texts(rows)).toEqual(texts(items));
      for (const row of rows) found.push([child, row]);
    }
    for (const [child, { position, payload, key }] of found.sort(([, x], [, y]) => x.position - y.position))
      model.addItem(child, { position, payload, serializeKey: key });
  }

  /** Which keys have gone on whose heads have ended. Those that have not can wait for promote_blocked, but not if it was to be `atOnce`. */
  async learnKeys(model: Model, atOnce: boolean): Promise<void> {
    const rows = await this.db.query<{ key: string }>(
      `select k.key from jobtree.serialize_key k
       join jobtree.ended_head e on e.job_id = k.job_id and e.position = k.position
       where not e.held`,
    );
    model.lines.goOn(new Set(rows.map(({ key }) => key)), atOnce);
  }

  /** Lets all keys go on whose heads have ended. */
  async promoteBlocked(model: Model, engine: Engine): Promise<void> {
    await promoteBlocked(engine);
    expect(await this.db.query('select from jobtree.ended_head where not held')).toEqual([]);
    await this.learnKeys(model, true);
  }

  /** Folds a tree to the end, and compares its counters with the model. */
  async fold(model: Model, engine: Engine, tree: ModelTree): Promise<void> {
    // What was ended beside an open transaction has passed by what that had locked.
    await this.finish();
    for (let more = true; more; ) {
      const fold = await foldProgress(engine, tree.root.id, 0);
      expect(fold, 'nobody else folds').toBeDefined();
      more = (fold?.retry || fold?.unfinished) ?? false;
      if (fold?.unfinished) await this.finish();
    }
    await this.readProgress(model, tree);
    for (const job of tree.jobs) {
      const parent = tree.jobs.find(({ children }) => children.includes(job));
      if (job.feed !== undefined && parent !== undefined && model.completed.has(parent.id))
        expect(job.sealed).toBe(true);
      const pending = [...job.items.values()].filter((item) => !isFinished(item)).length;
      expect(model.completed.has(job.id), `${job.type} is complete`).toBe(
        job.sealed && !job.waits && (pending === 0 || job.cancelled),
      );
      if (job.cancelled) continue;
      expect(isOverLimit(job, job.sealed), `${job.type} should have failed`).toBe(false);
      const isReady = ({ id, cancelled }: ModelJob) => model.completed.has(id) && !cancelled;
      // What has gone on stays so when a job that it waited for is open again.
      if (job.waits || !job.after.some(({ reopened }) => reopened))
        expect(job.waits, `${job.type} waits`).toBe(!job.after.every(isReady));
    }
    const [progress] = await readTrees(engine.database, [tree.root.id]);
    expect(progress?.openJobs).toBe(tree.jobs.filter(({ id }) => !model.completed.has(id)).length);
    const counts = (job: ModelJob) => {
      const states = [...job.items.values()].map(({ state }) => state);
      const [succeeded, failed] = ['SUCCEEDED', 'FAILED'].map(
        (s) => states.filter((state) => state === s).length,
      ) as [number, number];
      const cancelled = job.cancelled
        ? states.length - succeeded - failed
        : states.filter((state) => state === 'CANCELLED').length;
      return { jobId: job.id, itemCount: states.length, succeeded, failed, cancelled, sealed: job.sealed };
    };
    expect(progress?.jobs).toMatchObject(
      progress?.jobs.map(({ jobId }) => counts(model.jobs.get(jobId) as ModelJob)) ?? [],
    );
  }

  /** Whatever was folded: nothing goes back, a completion stays, and only what is done is complete. */
  async readProgress(model: Model, tree: ModelTree): Promise<void> {
    await this.#learnVerdicts(model);
    const [progress] = await readTrees(this.engines[0].database, [tree.root.id]);
    expect(progress?.jobs.length).toBe(tree.jobs.length);
    for (const row of progress?.jobs ?? []) {
      const job = model.jobs.get(row.jobId) as ModelJob;
      const known = this.#known.get(row.jobId);
      expect(revision(row) >= (known?.revision ?? ''), 'the revision goes back').toBe(true);
      if (known?.generation === row.generation && known.completedAt !== null)
        expect(row.completedAt).toBe(known.completedAt);
      this.#known.set(row.jobId, { ...row, revision: revision(row) });
      // A seal counts once it is folded, with all that was added before.
      if (row.sealed && !job.sealed) {
        const parent = tree.jobs.find(({ children }) => children.includes(job));
        expect([job.feed !== undefined, parent !== undefined]).toEqual([true, true]);
        job.sealed = true;
      }
      if (row.completedAt === null) continue;
      expect(job.sealed).toBe(true);
      if (!job.cancelled) for (const item of job.items.values()) expect(isFinished(item)).toBe(true);
      model.completed.add(row.jobId);
    }
  }

  /** What folds have decided, which must be right, and is finished: jobs that failed, go on, or wait in vain. */
  async #learnVerdicts(model: Model): Promise<void> {
    await this.finish();
    const rows = await this.db.query<{
      id: string;
      sealed: boolean;
      failed: boolean;
      cancelled: boolean;
      waits: boolean;
      outcome: string | null;
    }>(
      `select j.id, j.sealed_at is not null as sealed, j.failed_at is not null as failed, j.cancelled_at is not null as cancelled,
         j.waits or j.releasing as waits, p.outcome
       from jobtree.job j join jobtree.job_progress p on p.job_id = j.id`,
    );
    const released: ModelItem[] = [];
    const outcomes = new Map(rows.map(({ id, outcome }) => [id, outcome]));
    const ended = ({ after }: ModelJob) => after.map(({ id }) => outcomes.get(id));
    for (const { id, sealed, failed, cancelled, waits, outcome } of rows) {
      const job = model.jobs.get(id);
      if (job === undefined) continue;
      if (cancelled && !job.cancelled) {
        if (failed) expect(isOverLimit(job, sealed), `${job.type} failed`).toBe(true);
        else
          expect([job.waits, ended(job)]).toEqual([
            true,
            expect.arrayContaining([expect.stringMatching(/FAI|CAN/)]),
          ]);
        Object.assign(job, { failed, cancelled, sealed: true, waits: false });
      } else if (job.waits && !waits) {
        for (const one of ended(job)) expect(one).toMatch(/^(SUCCEEDED|PARTIAL)$/);
        job.waits = false;
        released.push(...[...job.items.values()].filter(({ state }) => state === 'WAITING'));
      }
      if (outcome !== null) expect(outcome).toBe(outcomeOf(job));
    }
    await this.#learnReleased(model, released);
    await this.learnKeys(model, false);
  }

  /** Of several jobs that were released together any may have been the first in a line, each in the order of its own items. */
  async #learnReleased(model: Model, released: readonly ModelItem[]): Promise<void> {
    if (released.length === 0) return;
    const turns = await this.db.query<{ job_id: string; position: string; turn: string }>(
      `select job_id, position, turn from jobtree.serialize_key where job_id is not null
       union all
       select job_id, position, turn from jobtree.blocked_item`,
    );
    const known = new Map(turns.map(({ job_id, position, turn }) => [`${job_id}:${position}`, Number(turn)]));
    const turnOf = ({ job, position }: ModelItem) => known.get(`${job.id}:${position}`) ?? 0;
    const last = new Map<string, number>();
    for (const item of [...released].sort((x, y) => turnOf(x) - turnOf(y))) {
      const line = `${item.job.id}, ${item.serializeKey}`;
      if (item.serializeKey !== undefined)
        expect(item.position, 'the order in a line').toBeGreaterThan(last.get(line) ?? -1);
      last.set(line, item.position);
      model.lines.enter(item);
    }
  }

  /** Goes on with everything that is unfinished until nothing is. */
  async finish(): Promise<void> {
    while (await finishSome(this.engines[0], new AbortController().signal));
  }

  /**
   * Opens a transaction on a connection of its own, runs statements, lets `meanwhile` run beside it until it waits for a lock or is
   * done, and cuts the connection. Nothing of the transaction may remain.
   */
  async cutTransaction(
    model: Model,
    statements: readonly Statement[],
    by: 'TERMINATE' | 'SOCKET',
    meanwhile: () => Promise<void>,
  ): Promise<void> {
    const client = await this.db.connect();
    client.on('error', () => {});
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const pid = rows[0]?.pid;
    this.#isCutting = true;
    await client.query('begin');
    try {
      for (const [text, ...values] of statements) await client.query(text, values);
    } catch {
      // A refusal ends the transaction as well as a cut.
    }
    let done = false;
    const running = meanwhile().finally(() => {
      done = true;
    });
    // What it throws is thrown at the end, when the connection is gone.
    running.catch(() => {});
    while (!done && !(await this.#somebodyWaits())) await new Promise((resolve) => setImmediate(resolve));
    if (by === 'SOCKET') destroySocket(client);
    else await this.db.query('select pg_terminate_backend($1)', [pid]);
    while ((await this.db.query('select from pg_stat_activity where pid = $1', [pid])).length > 0);
    await running.finally(() => {
      this.#isCutting = false;
    });
    await client.end().catch(() => {});
    // What passed by what the transaction had locked.
    await this.#learnVerdicts(model);
  }

  async #somebodyWaits(): Promise<boolean> {
    const rows = await this.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  }

  /** Adds what add_items answered. */
  learnAdded(
    model: Model,
    job: ModelJob,
    items: readonly {
      payload: unknown;
      dedupeKey?: string;
      serializeKey?: string;
      priority?: number;
      runAt?: Date;
    }[],
    answers: readonly { status: string; itemId?: string }[],
  ): void {
    for (const [i, { payload, dedupeKey, serializeKey, priority, runAt }] of items.entries()) {
      const { jobId, position } = parseItemId(answers[i]?.itemId ?? '') ?? { jobId: '', position: 0 };
      expect(jobId).toBe(job.id);
      const known = dedupeKey === undefined ? undefined : job.keys.get(dedupeKey);
      expect([answers[i]?.status, position]).toEqual(
        known === undefined ? ['ADDED', position] : ['DUPLICATE', known],
      );
      if (known !== undefined) continue;
      if (dedupeKey !== undefined) job.keys.set(dedupeKey, position);
      const state = runAt === undefined ? initial(job) : runAt.getTime() > Date.now() ? 'SCHEDULED' : 'READY';
      model.addItem(job, {
        position,
        payload,
        serializeKey,
        state,
        ...(priority === undefined ? {} : { priority }),
      });
    }
  }
}

function sumByType(requests: readonly ClaimRequest[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { type, limit } of requests) sums.set(type, (sums.get(type) ?? 0) + limit);
  return sums;
}
