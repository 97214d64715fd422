/** Many producers, workers and sweepers at once on two servers, with all that can go wrong between a claim and a report. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import { newClaimId } from '../../../src/client/claim-id.ts';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { findMissedEntries } from '../../../src/domain/claims/missed-entries.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { promoteBlocked, promoteDue, sweepLeases } from '../../../src/domain/claims/sweep.ts';
import type { Engine } from '../../../src/domain/engine/engine.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { createJob } from '../../../src/domain/jobs/create-job.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { foldProgress } from '../../../src/domain/progress/fold-progress.ts';
import { type JobProgress, readTrees } from '../../../src/domain/progress/progress.ts';
import { type Report, reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { JobSealedError } from '../../../src/errors.ts';
import type { TestDatabase } from '../database.ts';

export const actions = [
  'SUCCEED',
  'SUCCEED_TOGETHER',
  'SUCCEED_TWICE',
  'FAIL',
  'FAIL_TWICE',
  'RELEASE',
  'LOSE',
  'LOSE_THEN_REPORT',
  'HEARTBEAT',
] as const;
export type Action = (typeof actions)[number];

export interface CrowdPlan {
  readonly workers: number;
  readonly batch: number;
  /** Of the items; those that collide are added once. */
  readonly keys: readonly number[];
  readonly actions: readonly Action[];
  /** Over so many serialize keys items of either job, or without any. */
  readonly lines: number;
  readonly feedsLines: boolean;
  /** How many items a worker claims at a time. */
  readonly claim: number;
}

const types = ['parent', 'child'];

export class Crowd {
  readonly #db: TestDatabase;
  readonly #engines: readonly Engine[];
  readonly #plan: CrowdPlan;
  readonly #accepted = new Map<string, number>();
  /** Serialize keys of which a worker has an item, and which it is. */
  readonly #running = new Map<string, string>();
  #root = '';
  #produced = false;
  #turn = 0;

  constructor(db: TestDatabase, engines: readonly Engine[], plan: CrowdPlan) {
    this.#db = db;
    this.#engines = engines;
    this.#plan = plan;
  }

  /** Until the tree is complete; gives its progress, the parent's and the child's. */
  async run(): Promise<{ accepted: number; jobs: readonly JobProgress[] }> {
    const [parent = '', child = ''] = types;
    const feed = this.#plan.feedsLines ? { payload: 'payload', serializeKey: 'payload.line?' } : {};
    const children = [{ type: child, backoffMs: [0], maxFailuresPerItem: 1_000, feed }];
    const engine = this.#engine();
    const { jobId } = await createJob(engine, {
      type: parent,
      backoffMs: [0],
      maxFailuresPerItem: 2,
      children,
    });
    this.#root = jobId;
    await Promise.all([
      this.#produceAll(),
      ...Array.from({ length: this.#plan.workers }, (_, i) => this.#work(`w${i}`)),
      ...this.#engines.map((each) => this.#tend(each)),
    ]);
    expect([...this.#accepted.values()].every((times) => times === 1)).toBe(true);
    const [tree] = await readTrees(engine.database, [this.#root]);
    return { accepted: this.#accepted.size, jobs: tree?.jobs ?? [] };
  }

  #engine(): Engine {
    return this.#engines[this.#turn++ % this.#engines.length] as Engine;
  }

  async #isComplete(): Promise<boolean> {
    const [tree] = await readTrees(this.#engine().database, [this.#root]);
    return this.#produced && tree?.openJobs === 0;
  }

  async #produceAll(): Promise<void> {
    await Promise.all([this.#produce(0), this.#produce(this.#plan.batch)]);
    await sealJob(this.#engine(), this.#root);
    await expect(addItems(this.#engine(), this.#root, [{}], { seal: false })).rejects.toThrow(JobSealedError);
    this.#produced = true;
  }

  async #produce(from: number): Promise<void> {
    const { batch, keys } = this.#plan;
    for (let i = from; i < keys.length; i += 2 * batch) {
      const items = keys.slice(i, i + batch).map((key) => this.#toItem(key));
      const added = await addItems(this.#engine(), this.#root, items, { seal: false });
      // The response was lost: the same call again, on another server.
      const again = i % 3 === 0 ? await addItems(this.#engine(), this.#root, items, { seal: false }) : [];
      for (const [k, entry] of again.entries()) expect(entry).toEqual({ ...added[k], status: 'DUPLICATE' });
    }
  }

  #toItem(key: number) {
    const { lines } = this.#plan;
    if (lines === 0 || key % 2 === 0) return { payload: { key }, dedupeKey: `k${key}` };
    const line = `line ${key % lines}`;
    return { payload: { key, line }, dedupeKey: `k${key}`, serializeKey: line };
  }

  /** Of each key one item at a time. */
  #begin({ id, payload, type }: Assignment): void {
    const { line } = payload.value as { line?: string };
    if (line === undefined || (type === types[1] && !this.#plan.feedsLines)) return;
    expect(this.#running.has(line), `${line} runs twice`).toBe(false);
    this.#running.set(line, id);
  }

  /** Before it does: the next one may be claimed before the answer is here. */
  #willEnd(id: string): void {
    for (const [line, running] of this.#running) if (running === id) this.#running.delete(line);
  }

  /** What servers do beside the calls. */
  async #tend(engine: Engine): Promise<void> {
    while (!(await this.#isComplete())) {
      await sweepLeases(engine, new Date(0));
      await promoteDue(engine);
      await promoteBlocked(engine);
      await findMissedEntries(engine);
      await foldProgress(engine, this.#root, 0);
    }
  }

  async #work(worker: string): Promise<void> {
    const requests = types.map((type) => ({ type, limit: this.#plan.claim }));
    for (let i = 0; !(await this.#isComplete()); i++) {
      const claimId = i % 2 === 0 ? newClaimId() : undefined;
      const held = await claimItems(this.#engine(), worker, requests, claimId);
      if (claimId !== undefined && held.length > 0) {
        const again = await claimItems(this.#engine(), worker, requests, claimId);
        expect(again.map(({ id }) => id).sort()).toEqual(held.map(({ id }) => id).sort());
      }
      for (const assignment of held) this.#begin(assignment);
      const together: Assignment[] = [];
      for (const assignment of held) {
        const action = this.#plan.actions[this.#turn++ % this.#plan.actions.length];
        if (action === 'SUCCEED_TOGETHER') together.push(assignment);
        else await this.#end(assignment.id, action);
      }
      for (const { id } of together) this.#willEnd(id);
      const statuses = await this.#report(together.map(({ id }) => ({ assignmentId: id, result: id })));
      expect(statuses).toEqual(together.map(() => 'ACCEPTED'));
      if (held.length === 0) await turn();
    }
  }

  async #end(id: string, action: Action | undefined): Promise<void> {
    this.#willEnd(id);
    const success = { assignmentId: id, result: id };
    const failure = { assignmentId: id, failure: { code: 'E', message: 'no' } };
    switch (action) {
      case 'SUCCEED_TWICE':
        expect(await this.#report([success, success])).toEqual(['ACCEPTED', 'DUPLICATE']);
        break;
      case 'FAIL':
        expect(await this.#report([failure])).toEqual(['ACCEPTED']);
        break;
      case 'FAIL_TWICE':
        expect(await this.#report([failure, failure])).toEqual(['ACCEPTED', 'DUPLICATE']);
        break;
      case 'RELEASE':
        expect(await releaseAssignments(this.#engine(), [id])).toEqual(['RELEASED']);
        expect(await this.#report([success])).toEqual(['STALE']);
        break;
      case 'LOSE':
        await this.#silence(id);
        break;
      case 'LOSE_THEN_REPORT':
        await this.#silence(id);
        expect(['ACCEPTED', 'STALE']).toContain((await this.#report([success]))[0]);
        break;
      case 'HEARTBEAT':
        expect(await heartbeat(this.#engine(), [id])).toEqual(['HELD']);
        expect(await this.#report([success])).toEqual(['ACCEPTED']);
        break;
      default:
        expect(await this.#report([success])).toEqual(['ACCEPTED']);
    }
  }

  async #report(reports: Report[]): Promise<string[]> {
    if (reports.length === 0) return [];
    const answers = await reportOutcomes(this.#engine(), reports);
    for (const [i, { status }] of answers.entries()) {
      const { assignmentId, failure } = reports[i] as Report;
      if (status !== 'ACCEPTED' || failure != null) continue;
      this.#accepted.set(assignmentId, (this.#accepted.get(assignmentId) ?? 0) + 1);
    }
    return answers.map(({ status }) => status);
  }

  /** The deadline of this one assignment is over; those of the others of its lease are not. */
  async #silence(id: string): Promise<void> {
    await this.#db.query(
      `update jobtree.lease
       set check_at = clock_timestamp() - interval '1 s', deadlines = array(
         select case when n = $2 then clock_timestamp() - interval '1 s' else coalesce(deadlines[n], clock_timestamp() + interval '1 h') end
         from generate_series(1, count) n)
       where id = $1 and get_bit(open, $2 - 1) = 1`,
      [`${id.slice(0, 34)}00`, Number.parseInt(id.slice(34), 16)],
    );
  }
}
