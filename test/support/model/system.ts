/**
 * Two servers on one database, and what is done to them together with the model: an operation goes to both, and the answers must
 * agree.
 */
import pino from 'pino';
import { expect } from 'vitest';
import { type Database, destroySocket } from '../../../src/db/database.ts';
import type { Assignment } from '../../../src/domain/assignment.ts';
import { CallbackAddresses } from '../../../src/domain/callback-addresses.ts';
import { claimItems } from '../../../src/domain/claim-items.ts';
import { createEngine } from '../../../src/domain/create-engine.ts';
import type { Engine } from '../../../src/domain/engine.ts';
import { finishSome } from '../../../src/domain/finish.ts';
import { foldProgress } from '../../../src/domain/fold-progress.ts';
import { parseItemId, splitAssignmentId } from '../../../src/domain/item-state.ts';
import { findMissedEntries } from '../../../src/domain/missed-entries.ts';
import { type JobProgress, readTrees, revision } from '../../../src/domain/progress.ts';
import { type Report, reportOutcomes } from '../../../src/domain/report-outcomes.ts';
import type { TestDatabase } from '../database.ts';
import {
  initial,
  isFinished,
  isOverLimit,
  type Model,
  type ModelAssignment,
  type ModelJob,
  type ModelReport,
  type ModelTree,
} from './model.ts';

export interface ClaimRequest {
  readonly type: string;
  readonly limit: number;
}

export type Statement = readonly [text: string, ...values: unknown[]];

export class System {
  readonly db: TestDatabase;
  readonly engines: readonly [Engine, Engine];
  /** Trees of which an engine said that they have something to fold. */
  readonly touched = new Set<string>();
  /** What was read of each job last. */
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
          ready: () => {},
          claimed: () => {},
          limited: () => {},
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
    const fed = new Map<ModelJob, unknown[]>();
    for (const [child, payloads] of expected.flatMap((each) => [...each.fed])) {
      fed.set(child, [...(fed.get(child) ?? []), ...payloads]);
    }
    for (const [child, payloads] of fed) await this.#learnFed(model, child, payloads);
  }

  async #learnFed(model: Model, child: ModelJob, payloads: readonly unknown[]): Promise<void> {
    const rows = await this.db.query<{ position: string; payload: unknown }>(
      'select position, payload from jobtree.job_item where job_id = $1 and position > $2 order by position',
      [child.id, Math.max(-1, ...child.items.keys())],
    );
    const texts = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).sort();
    expect(texts(rows.map(({ payload }) => payload))).toEqual(texts(payloads));
    for (const { position, payload } of rows) model.addItem(child, { position: Number(position), payload });
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
      if (row.sealed !== job.sealed) {
        const parent = tree.jobs.find(({ children }) => children.includes(job));
        expect([row.sealed, job.feed !== undefined, parent !== undefined]).toEqual([true, true, true]);
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
        expect(new Set(ended(job))).toEqual(new Set(['SUCCEEDED']));
        job.waits = false;
        for (const item of job.items.values()) if (item.state === 'WAITING') item.state = item.released;
      }
      if (outcome !== null)
        expect(outcome).toBe(job.failed ? 'FAILED' : job.cancelled ? 'CANCELLED' : 'SUCCEEDED');
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
    statements: readonly Statement[],
    by: 'TERMINATE' | 'SOCKET',
    meanwhile: () => Promise<void>,
  ): Promise<void> {
    const client = await this.db.connect();
    client.on('error', () => {});
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const pid = rows[0]?.pid;
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
    await running;
    await client.end().catch(() => {});
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
    items: readonly { payload: unknown; dedupeKey?: string; priority?: number; runAt?: Date }[],
    answers: readonly { status: string; itemId?: string }[],
  ): void {
    for (const [i, { payload, dedupeKey, priority, runAt }] of items.entries()) {
      const { jobId, position } = parseItemId(answers[i]?.itemId ?? '') ?? { jobId: '', position: 0 };
      expect(jobId).toBe(job.id);
      const known = dedupeKey === undefined ? undefined : job.keys.get(dedupeKey);
      expect([answers[i]?.status, position]).toEqual(
        known === undefined ? ['ADDED', position] : ['DUPLICATE', known],
      );
      if (known !== undefined) continue;
      if (dedupeKey !== undefined) job.keys.set(dedupeKey, position);
      const state = runAt === undefined ? initial(job) : runAt.getTime() > Date.now() ? 'SCHEDULED' : 'READY';
      model.addItem(job, { position, payload, state, ...(priority === undefined ? {} : { priority }) });
    }
  }
}

function sumByType(requests: readonly ClaimRequest[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { type, limit } of requests) sums.set(type, (sums.get(type) ?? 0) + limit);
  return sums;
}
