/**
 * Sweeps at an interval: handles what is due, and what calls and crashed servers left behind. Every server sweeps, and concurrent sweeps do no
 * harm: the functions skip what another one has locked. Each part fails alone.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StoredFold } from '../../domain/access/stored.ts';
import { raiseAlerts } from '../../domain/callbacks/deliveries.ts';
import { findMissedEntries } from '../../domain/claims/missed-entries.ts';
import {
  type DeltaMarks,
  findUnfolded,
  promoteBlocked,
  promoteDue,
  recordSweep,
  sweepLeases,
} from '../../domain/claims/sweep.ts';
import type { Engine } from '../../domain/engine/engine.ts';
import { finishSome, type Passes } from '../../domain/operations/finish.ts';
import { correctHeld, tendQueues } from '../../domain/queues/queues.ts';
import { findIdle } from '../../domain/retention/retention.ts';
import { Loop } from './loop.ts';

/** A gap, in which nobody looked for lost heartbeats, is longer than this and than three intervals. */
const shortestGapMs = 2_000;
/** How often each part looks at everything: some things commit late, or were locked when they came due. */
const everythingEveryMs = 60_000;
/** In between, each part looks at what came due within this time: older things were handled before. */
const sweptWithin = 'PT2M';
/** A delta that commits later than this after it was numbered is found when everything is looked at. */
const lateCommitMs = 10_000;
/** Parts that read the queue from its start, past dead rows, take at most a twentieth of the time. */
const besideEveryMs = 1_000;
const besideShare = 1 / 20;

const failedPart = 'a part of the sweep failed; trying again';

export class Sweeper {
  readonly #engine: Engine;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  readonly #loops: Promise<void>[] = [];
  /** The type after which the next batch of due items begins. */
  #dueAfter = '';
  #deltas: DeltaMarks = { from: 0, seen: null };
  /** Where earlier looks for deltas began, oldest first. */
  #deltaStarts: { readonly at: number; readonly from: number }[] = [];
  readonly #everythingAt = { leases: 0, due: 0, deltas: 0, held: 0 };
  /** The job after which the search for idle trees continues; undefined to start over. */
  #idleFrom: string | undefined;
  readonly #passes: Passes = new Map();
  /** Beside the sweeps, since there may be very much to do. */
  readonly #finisher: Loop;
  readonly #keys: Loop;
  /** Only notes that there is no gap: a sweep that takes long is none. */
  readonly #clock: Loop;

  constructor(options: { engine: Engine; intervalMs: number; logger: Logger }) {
    this.#engine = options.engine;
    this.#intervalMs = options.intervalMs;
    this.#logger = options.logger;
    const loop = (part: string, look: (signal: AbortSignal) => Promise<number>) =>
      new Loop({
        look,
        logger: this.#logger.child({ part }),
        failure: failedPart,
        retryMs: this.#intervalMs,
      });
    this.#finisher = loop('cancellations, deletions and operations', async (signal) =>
      (await finishSome(this.#engine, signal, this.#passes)) ? 0 : this.#intervalMs,
    );
    this.#keys = loop('serialize keys', async (signal) => {
      await promoteBlocked(this.#engine, signal);
      return this.#intervalMs;
    });
    this.#clock = loop('outages', async () => {
      await this.#recordSweep();
      return this.#intervalMs;
    });
  }

  start(): void {
    const stored = new StoredFold(this.#engine.database);
    this.#finisher.start();
    this.#keys.start();
    this.#clock.start();
    this.#loops.push(this.#sweep());
    this.#loops.push(
      this.#beside('missed entries', async () => {
        await findMissedEntries(this.#engine);
        return false;
      }),
      this.#beside('queues', () => tendQueues(this.#engine)),
      this.#beside('concurrency limits', () => this.#correctHeld()),
      this.#beside('what tenants store', () => stored.run()),
      this.#beside('alerts', async () => {
        await raiseAlerts(this.#engine);
        return false;
      }),
      this.#beside('idle trees', async () => {
        this.#idleFrom = await findIdle(this.#engine, this.#idleFrom);
        return false;
      }),
    );
  }

  /** Called when there is something to finish. */
  poke(): void {
    this.#finisher.poke();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all([this.#finisher.stop(), this.#keys.stop(), this.#clock.stop(), ...this.#loops]);
  }

  async #sweep(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const more = [
        await this.#try('lost heartbeats', () => this.#sweepLeases()),
        await this.#try('due items', () => this.#promoteDue()),
      ];
      await this.#try('unfolded trees', () => this.#findUnfolded());
      if (!more.includes(true)) await this.#pause(this.#intervalMs);
    }
  }

  #recordSweep(): Promise<Date> {
    return recordSweep(this.#engine, Math.max(shortestGapMs, 3 * this.#intervalMs));
  }

  async #sweepLeases(): Promise<boolean> {
    // Here too: after an outage, the first of the two calls sees the gap.
    const resumedAt = await this.#recordSweep();
    return this.#look('leases', async (all) => {
      const { lost, more } = await sweepLeases(this.#engine, resumedAt, all ? null : sweptWithin);
      if (lost > 0) this.#logger.warn({ items: lost }, 'heartbeats were lost');
      return more;
    });
  }

  #promoteDue(): Promise<boolean> {
    return this.#look('due', async (all) => {
      const { more, after } = await promoteDue(this.#engine, all ? null : sweptWithin, this.#dueAfter);
      this.#dueAfter = after;
      return more;
    });
  }

  async #correctHeld(): Promise<boolean> {
    if (performance.now() < this.#everythingAt.held) return false;
    for (const wrong of await correctHeld(this.#engine))
      this.#logger.warn(wrong, 'held items of a limited type were counted wrong');
    this.#everythingAt.held = performance.now() + everythingEveryMs;
    return false;
  }

  #findUnfolded(): Promise<boolean> {
    return this.#look('deltas', async (all) => {
      const from = all ? 0 : this.#deltasFrom();
      this.#deltas = await findUnfolded(this.#engine, { ...this.#deltas, from });
      this.#deltaStarts.push({ at: performance.now(), from: this.#deltas.from });
      return false;
    });
  }

  /** Lags behind by as long as a transaction may take to commit what it has numbered. */
  #deltasFrom(): number {
    const late = performance.now() - lateCommitMs;
    const next = this.#deltaStarts.findIndex(({ at }) => at > late);
    this.#deltaStarts.splice(0, Math.max(0, next - 1));
    const oldest = this.#deltaStarts[0];
    return oldest !== undefined && oldest.at <= late ? oldest.from : 0;
  }

  async #look(part: 'leases' | 'due' | 'deltas', look: (all: boolean) => Promise<boolean>): Promise<boolean> {
    const all = performance.now() >= this.#everythingAt[part];
    const more = await look(all);
    if (all && !more) this.#everythingAt[part] = performance.now() + everythingEveryMs;
    return more;
  }

  /** Runs the part at an interval, or less often if it takes long; for half of the time while there is more to do. */
  async #beside(part: string, run: () => Promise<boolean>): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const startedAt = performance.now();
      const more = await this.#try(part, run);
      const tookMs = performance.now() - startedAt;
      await this.#pause(more ? tookMs : Math.max(besideEveryMs, tookMs / besideShare));
    }
  }

  async #try(part: string, run: () => Promise<boolean>): Promise<boolean> {
    try {
      return await run();
    } catch (error) {
      this.#logger.warn({ err: error, part }, failedPart);
      return false;
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
  }
}
