/**
 * Lines of serialize keys beside a model of them, over random operations of any kind: after each the tables have the same heads and the
 * same items behind them, in the same order, and a claim gives heads alone.
 *
 *     LINES_STEPS  operations in a run (150)
 *     LINES_SEEDS  runs, each with a seed of its own: numbers (1,2,3)
 */
import { expect, it } from 'vitest';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { promoteBlocked } from '../../../src/domain/claims/sweep.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { type OperationKind, startOperation } from '../../../src/domain/operations/operations.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { parseItemId } from '../../../src/domain/values/ids.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { checkInvariants } from '../../support/model/invariants.ts';

const steps = Number(process.env.LINES_STEPS ?? 150);
const seeds = (process.env.LINES_SEEDS ?? '1,2,3').split(',').map(Number);
const t = useEngine();

interface Job {
  readonly id: string;
  readonly type: string;
  readonly blocks: boolean;
}
interface Item {
  readonly id: string;
  readonly job: Job;
  readonly key: string | undefined;
}

/** Numbers that a seed decides (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) % below;
  };
}

class Run {
  readonly #random: (below: number) => number;
  readonly #keys: readonly string[];
  readonly #jobs: Job[] = [];
  readonly #items = new Map<string, Item>();
  /** Of each key its items, the head first. */
  readonly #lines = new Map<string, string[]>();
  readonly #held = new Map<string, Assignment>();
  readonly #failed = new Set<string>();

  constructor(seed: number) {
    this.#random = randomOf(seed);
    this.#keys = [1, 2, 3].map((n) => `seed ${seed}, ${n}`);
  }

  async step(): Promise<string> {
    if (this.#jobs.length < 4) await this.#create();
    const held = this.#pick([...this.#held.values()]);
    const failed = this.#pick([...this.#failed]);
    const act = this.#pick<[string, () => Promise<unknown>]>([
      ...Array.from({ length: 4 }, () => ['add', () => this.#add()] as [string, () => Promise<unknown>]),
      ...Array.from({ length: 4 }, () => ['claim', () => this.#claim()] as [string, () => Promise<unknown>]),
      ...(held === undefined
        ? []
        : ([
            ['succeed', () => this.#end(held, () => this.#report(held, undefined))],
            ['succeed', () => this.#end(held, () => this.#report(held, undefined))],
            ['fail', () => this.#keep(held, () => this.#report(held, false))],
            ['release', () => this.#keep(held, () => releaseAssignments(t.engine, [held.id]))],
            ['lose', () => this.#keep(held, () => t.expire(held.id).then(t.sweep))],
            ['fail for good', () => this.#fail(held)],
          ] as [string, () => Promise<unknown>][])),
      ...(failed === undefined
        ? []
        : ([
            ['replay', () => this.#settle('REPLAY', failed)],
            ['discard', () => this.#settle('DISCARD', failed)],
          ] as [string, () => Promise<unknown>][])),
      ...(this.#random(8) > 0
        ? []
        : ([
            ['cancel', () => this.#cancel(false)],
            ['delete', () => this.#cancel(true)],
          ] as [string, () => Promise<unknown>][])),
    ]);
    await act?.[1]();
    await promoteBlocked(t.engine);
    return act?.[0] ?? '';
  }

  /** The lines as the tables have them, and as they ought to be. */
  async lines(): Promise<[unknown, unknown]> {
    const rows = await t.db.query<{ key: string; items: string[] }>(
      `select k.key, array_agg(l.job_id || ':' || l.position order by l.turn) as items
       from jobtree.serialize_key k
       cross join lateral (
         select k.job_id, k.position, k.turn
         union all
         select b.job_id, b.position, b.turn from jobtree.blocked_item b where b.key = k.key
       ) l
       where k.key = any ($1) group by k.key`,
      [this.#keys],
    );
    const expected = [...this.#lines].filter(([, line]) => line.length > 0);
    return [Object.fromEntries(rows.map(({ key, items }) => [key, items])), Object.fromEntries(expected)];
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[this.#random(Math.max(1, list.length))];
  }

  async #create(): Promise<void> {
    const [type, blocks] = [newType('line'), this.#random(2) === 0];
    const { [type]: id = '' } = await t.create({
      type,
      backoffMs: [],
      maxFailuresPerItem: 1_000,
      serializeOnFailure: blocks ? 'BLOCK' : 'CONTINUE',
    });
    this.#jobs.push({ id, type, blocks });
  }

  async #add(): Promise<void> {
    const job = this.#pick(this.#jobs) as Job;
    const keys = Array.from({ length: 1 + this.#random(4) }, () => this.#pick([...this.#keys, undefined]));
    const entries = await addItems(
      t.engine,
      job.id,
      keys.map((serializeKey) => ({ serializeKey })),
      { seal: false },
    );
    for (const [i, entry] of entries.entries()) {
      if (entry.status !== 'ADDED') throw new Error(`An item is ${entry.status}.`);
      this.#items.set(entry.itemId, { id: entry.itemId, job, key: keys[i] });
      this.#enter(entry.itemId);
    }
  }

  async #claim(): Promise<void> {
    const { type } = this.#pick(this.#jobs) as Job;
    for (const assignment of await claimItems(t.engine, 'w', [{ type, limit: 1 + this.#random(3) }])) {
      const { key } = this.#items.get(assignment.itemId) as Item;
      expect(this.#held.has(assignment.itemId)).toBe(false);
      if (key !== undefined) expect(this.#lines.get(key)?.[0]).toBe(assignment.itemId);
      this.#held.set(assignment.itemId, assignment);
    }
  }

  async #report({ id }: Assignment, permanent: boolean | undefined): Promise<void> {
    const failure = { code: 'E', message: 'no', permanent };
    const said = permanent === undefined ? { result: 1 } : { failure };
    const [answer] = await reportOutcomes(t.engine, [{ assignmentId: id, ...said }]);
    expect(answer?.status).toBe('ACCEPTED');
  }

  async #keep({ itemId }: Assignment, act: () => Promise<unknown>): Promise<void> {
    await act();
    this.#held.delete(itemId);
  }

  async #end(assignment: Assignment, act: () => Promise<unknown>): Promise<void> {
    await this.#keep(assignment, act);
    this.#leave(assignment.itemId);
  }

  async #fail(assignment: Assignment): Promise<void> {
    const { job } = this.#items.get(assignment.itemId) as Item;
    const report = () => this.#report(assignment, true);
    await (job.blocks ? this.#keep(assignment, report) : this.#end(assignment, report));
    this.#failed.add(assignment.itemId);
  }

  async #settle(kind: OperationKind, itemId: string): Promise<void> {
    await startOperation(t.engine, kind, {
      items: [parseItemId(itemId) as NonNullable<ReturnType<typeof parseItemId>>],
    });
    await t.finish();
    this.#failed.delete(itemId);
    const { job } = this.#items.get(itemId) as Item;
    if (kind === 'DISCARD') this.#leave(itemId);
    else if (!job.blocks) this.#enter(itemId);
  }

  async #cancel(deletes: boolean): Promise<void> {
    const job = this.#jobs.splice(this.#random(this.#jobs.length), 1)[0] as Job;
    await (deletes ? deleteJob(t.engine, job.id) : cancelJob(t.engine, job.id));
    await t.fold(job.id);
    await t.finish();
    for (const item of this.#items.values()) {
      if (item.job !== job) continue;
      this.#leave(item.id);
      this.#held.delete(item.id);
      this.#failed.delete(item.id);
    }
  }

  #enter(itemId: string): void {
    const { key } = this.#items.get(itemId) as Item;
    if (key !== undefined) this.#lines.set(key, [...(this.#lines.get(key) ?? []), itemId]);
  }

  #leave(itemId: string): void {
    const { key } = this.#items.get(itemId) as Item;
    if (key !== undefined)
      this.#lines.set(
        key,
        (this.#lines.get(key) ?? []).filter((id) => id !== itemId),
      );
  }
}

it.each(seeds)(
  'seed %i: lines match the model after any commands',
  async (seed) => {
    const run = new Run(seed);
    const done: string[] = [];
    for (let step = 0; step < steps; step++) {
      done.push(await run.step());
      const [found, expected] = await run.lines();
      expect(found, `after ${done.slice(-10).join(', ')}`).toEqual(expected);
      if (step % 25 === 0) await checkInvariants(t.db);
    }
    await checkInvariants(t.db);
  },
  600_000,
);
