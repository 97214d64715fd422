/**
 * The worker: claims items as it has room, runs their handlers, reports what comes of them, and keeps its assignments alive.
 *
 *   hints, poll ─▶ exchanges ─claims─▶ assignments ─▶ handlers
 *                     ▲  ▲               │         │
 *                     │  └───reports─────┼─────────┘
 *                  releases ◀─ aborts ◀─ heartbeats
 */
import type { FailureInput } from '../../generated/operations.ts';
import * as operations from '../../generated/operations.ts';
import { type AbortCode, JobtreeError, payloadOf } from '../errors.ts';
import type { Assignment } from '../types.ts';
import { Emitter } from './emitter.ts';
import type { ReportedFailure, WorkerEvents } from './events.ts';
import { Exchanges, type ReportEntry } from './exchanges.ts';
import { type EndedStatus, Heartbeats } from './heartbeats.ts';
import { HeldAssignment, type Slots } from './held-assignments.ts';
import { Hints } from './hints.ts';
import { ItemTrace } from './item-trace.ts';
import { logEvents } from './log.ts';
import { readOptions, type Settings, type WorkerOptions } from './options.ts';
import { failed, type Outcome, permanent, succeeded } from './outcome.ts';
import { Problems } from './problems.ts';

/** How long `stop()` tries to deliver what handlers made of their time, beyond `stopTimeoutMs`. */
const flushTimeoutMs = 5_000;

/** How long what was claimed ahead may wait for a handler. */
const waitMs = 100;
/** How much the time of one handler counts towards the mean. */
const meanShare = 1 / 4;

/**
 * Does the work of one or several types.
 *
 * It claims as many items as its handlers have room for, as soon as the server hints at work and every `pollIntervalMs`
 * besides. While the server is gone it waits and goes on; results that were not acknowledged are sent again, and count
 * once. Handlers whose assignment is lost, or whose heartbeats failed twice in a row, are aborted by their `signal`.
 */
export class Worker extends Emitter<WorkerEvents> {
  /** The name by which the server knows it. */
  readonly name: string;
  readonly #settings: Settings;
  readonly #slots: ReadonlyMap<string, Slots>;
  readonly #held = new Set<HeldAssignment>();
  readonly #exchanges: Exchanges;
  readonly #heartbeats: Heartbeats;
  readonly #hints: Hints;
  readonly #problems = new Problems((error, again) => this.#announce(error, again));
  /** Those that nobody else is told of. */
  readonly #failures = new Problems<string>((text, again) => this.#warn(text, again));
  readonly #waiting = new Set<() => void>();
  readonly #filling = new Set<Slots>();
  #overdueTimer: ReturnType<typeof setTimeout> | undefined;
  #running = 0;
  #started = false;
  /** Nothing is told any more but `stopped`. */
  #over = false;
  #connected: boolean | undefined;
  #stopped: Promise<void> | undefined;

  /** @throws JobtreeError INVALID_INPUT, naming the option */
  constructor(options: WorkerOptions) {
    super();
    const settings = readOptions(options);
    const { client, name, version, slots } = settings;
    this.name = name;
    this.#settings = settings;
    this.#slots = new Map(slots.map((one) => [one.type, one]));
    this.#exchanges = new Exchanges({
      socket: client.socket,
      worker: name,
      slots,
      onClaimed: (assignment, sentAt) => this.#begin(assignment, sentAt),
      onReported: (held, entry) => this.#reported(held, entry),
      onReleased: (held) => this.#forget(held) && this.emit('released', held.assignment),
      onError: (error) => this.#problem(error),
      onSettled: (well) => {
        if (well) this.#reached();
        this.#check();
      },
    });
    this.#heartbeats = new Heartbeats({
      held: this.#held,
      send: async (assignmentIds, timeoutMs) => {
        const data = await client.socket.request(
          operations.Heartbeat,
          { input: { assignmentIds } },
          timeoutMs,
        );
        this.#reached();
        return payloadOf(data.heartbeat).entries.map((entry) => entry.status);
      },
      onEnded: (held, status) => this.#ended(held, status),
      onSilence: (held) => this.#silent(held),
      onError: (error) => this.#problem(error),
    });
    this.#hints = new Hints({
      socket: client.socket,
      slots: this.#slots,
      worker: { name, version },
      pollIntervalMs: settings.pollIntervalMs,
      onWork: () => this.#exchanges.wake(),
      onReached: () => this.#reached(),
      onError: (error) => this.#problem(error),
    });
    if (options.logger) logEvents(this, options.logger);
  }

  /**
   * Starts claiming. Does not wait for the server: that it answers is the event `connected`.
   *
   * @throws Error if the worker was started before
   */
  async start(): Promise<void> {
    if (this.#started) throw new Error('A worker starts once; make a new one.');
    this.#started = true;
    this.#exchanges.wake();
    this.#hints.start();
  }

  /**
   * Stops: claims no more, waits up to `stopTimeoutMs` for handlers and delivers their outcomes; then aborts and gives back
   * the rest, which costs no attempt. Never fails; if outcomes can't be delivered there is an `error` event.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#started = true;
    this.#hints.stop();
    this.#exchanges.stopClaiming();
    clearTimeout(this.#overdueTimer);
    for (const slots of this.#slots.values()) for (const held of slots.waiting.splice(0)) this.#release(held);
    await this.#until(() => this.#running === 0 && this.#exchanges.isIdle, this.#settings.stopTimeoutMs);
    for (const held of this.#held) {
      if (held.state === 'running') {
        this.#abort(held, 'STOPPED');
        this.#release(held);
      }
    }
    await this.#until(() => this.#exchanges.isIdle, flushTimeoutMs);
    if (this.#held.size > 0) {
      this.#announce(
        new Error(`The worker stopped before the server knew what became of ${this.#held.size} items.`),
      );
    }
    this.#over = true;
    this.#heartbeats.stop();
    this.#exchanges.close();
    if (this.#settings.ownsClient) await this.#settings.client.close();
    this.emit('stopped');
  }

  #begin(assignment: Assignment, sentAt: number): void {
    const slots = this.#slots.get(assignment.type);
    if (slots === undefined)
      throw new Error(`The server gave an item of the type ${assignment.type}, unasked.`);
    const held = new HeldAssignment(assignment, slots, sentAt);
    held.trace = ItemTrace.begin(assignment, this.name, sentAt);
    this.#held.add(held);
    this.#heartbeats.add(held);
    if (this.#stopped !== undefined) {
      this.#release(held);
      return;
    }
    slots.waiting.push(held);
    this.#fill(slots);
    if (slots.waiting.length > 0) this.#overdueTimer ??= setTimeout(() => this.#giveBackOverdue(), waitMs);
  }

  /** Gives free handlers what waits. */
  #fill(slots: Slots): void {
    // A handler that is done at once frees its slot while this loop is at it.
    if (this.#filling.has(slots)) return;
    this.#filling.add(slots);
    while (slots.running < slots.concurrency) {
      const held = slots.waiting.shift();
      if (held === undefined) break;
      this.#run(held);
    }
    this.#filling.delete(slots);
  }

  #run(held: HeldAssignment): void {
    const { assignment, slots } = held;
    held.state = 'running';
    held.since = performance.now();
    slots.running++;
    this.#running++;
    this.emit('claimed', assignment);
    slots.meters.began();
    try {
      const handle = () => slots.handler(assignment.payload, held);
      const result: unknown = held.trace === undefined ? handle() : held.trace.run(handle);
      if (isPromiseLike(result)) {
        Promise.resolve(result).then(
          (value) => this.#succeed(held, value),
          (error) => this.#fail(held, error),
        );
      } else {
        this.#succeed(held, result);
      }
    } catch (error) {
      this.#fail(held, error);
    }
  }

  /** What was claimed ahead of a handler that takes its time after all is for another worker. */
  #giveBackOverdue(): void {
    const now = performance.now();
    let oldest = Number.POSITIVE_INFINITY;
    for (const slots of this.#slots.values()) {
      const inTime = slots.waiting.findIndex(({ since }) => now - since < waitMs);
      const overdue = slots.waiting.splice(0, inTime === -1 ? slots.waiting.length : inTime);
      for (const held of overdue) this.#release(held);
      if (overdue.length > 0) slots.meanMs = Math.max(slots.meanMs, waitMs);
      oldest = Math.min(oldest, slots.waiting[0]?.since ?? oldest);
    }
    const isOver = oldest === Number.POSITIVE_INFINITY;
    this.#overdueTimer = isOver
      ? undefined
      : setTimeout(() => this.#giveBackOverdue(), oldest + waitMs - now);
  }

  #succeed(held: HeldAssignment, result: unknown): void {
    if (held.state === 'running') {
      const { maxResultBytes } = this.#settings;
      this.#report(held, succeeded(held.assignmentId, result, held.newItems, maxResultBytes));
    }
    this.#freeSlot(held);
  }

  #fail(held: HeldAssignment, error: unknown): void {
    if (held.state === 'running') {
      // It gave up because we told it to, which is no failure of the item.
      if (held.abortedFor === 'HEARTBEATS_FAILED') this.#release(held);
      else this.#report(held, failed(held.assignmentId, error));
    }
    this.#freeSlot(held);
  }

  /** The outcome is on its way by now: `stop()` takes a worker without handlers and outcomes for done. */
  #freeSlot(held: HeldAssignment): void {
    const { slots } = held;
    slots.running--;
    this.#running--;
    slots.meters.ended(performance.now() - held.since, failureOf(held)?.code);
    slots.meanMs += (performance.now() - held.since - slots.meanMs) * meanShare;
    this.#fill(slots);
    this.#exchanges.wake();
    this.#check();
  }

  #report(held: HeldAssignment, outcome: Outcome): void {
    held.state = 'finished';
    held.outcome = outcome;
    held.trace?.settle(failureOf(held));
    this.#exchanges.report(held);
  }

  #release(held: HeldAssignment): void {
    held.state = 'released';
    held.trace?.drop(held.abortedFor ?? 'RELEASED');
    this.#exchanges.release(held);
  }

  #reported(held: HeldAssignment, { status, retryAt = null, error }: ReportEntry): void {
    const failure = failureOf(held);
    held.trace?.reported(status);
    if (status === 'INVALID' && failure === undefined) {
      this.#report(
        held,
        permanent(held.assignmentId, 'INVALID_RESULT', error?.message ?? 'The server refused it.'),
      );
      return;
    }
    this.#forget(held);
    if (status === 'STALE') this.emit('stale', held.assignment);
    else if (status === 'INVALID')
      this.#problem(new Error(`The server refused a failure: ${error?.message}`));
    else if (failure === undefined) this.emit('succeeded', held.assignment);
    else this.#failed(held.assignment, { code: failure.code, message: failure.message, retryAt });
  }

  #failed(assignment: Assignment, failure: ReportedFailure): void {
    if (this.emit('failed', assignment, failure)) return;
    const { itemId, type, attempt } = assignment;
    const { code, message, retryAt } = failure;
    const next = retryAt === null ? 'for good' : `and is tried again at ${retryAt}`;
    this.#failures.add(
      `${itemId} of ${type} failed at attempt ${attempt}, ${next}: ${code}: ${message}`,
      `${type} ${code}`,
    );
  }

  /** What has an outcome learns from its report what became of it. */
  #ended(held: HeldAssignment, status: EndedStatus): void {
    if (held.state === 'waiting') {
      this.#drop(held);
      this.#forget(held);
    } else if (held.state === 'running') {
      this.#forget(held);
      this.#abort(held, status);
    }
  }

  #silent(held: HeldAssignment): void {
    if (held.state === 'waiting') {
      this.#drop(held);
      this.#release(held);
    } else if (held.state === 'running') {
      this.#abort(held, 'HEARTBEATS_FAILED');
    }
  }

  /** It is not to be run any more. */
  #drop(held: HeldAssignment): void {
    const { waiting } = held.slots;
    waiting.splice(waiting.indexOf(held), 1);
    this.#exchanges.wake();
  }

  #abort(held: HeldAssignment, code: AbortCode): void {
    if (!held.abort(code)) return;
    held.trace?.drop(code);
    this.emit('aborted', held.assignment, code);
  }

  #forget(held: HeldAssignment): boolean {
    held.state = 'gone';
    return this.#held.delete(held);
  }

  #reached(): void {
    if (this.#connected === true || this.#over) return;
    this.#connected = true;
    this.emit('connected');
    this.#exchanges.wakeNow();
  }

  #problem(error: unknown): void {
    if (this.#over) return;
    // The server is there, and what it could not do is sent again.
    if (error instanceof JobtreeError && error.code === 'BUSY') return;
    if (!(error instanceof JobtreeError) || error.code !== 'UNREACHABLE') {
      this.#problems.add(error);
    } else if (this.#connected !== false) {
      this.#connected = false;
      if (!this.emit('disconnected', error)) this.#warn(error.message);
    }
  }

  #announce(error: unknown, again = 0): void {
    if (!this.emit('error', error, again)) console.error(`${this.#prefix(again)}:`, error);
  }

  #warn(text: string, again = 0): void {
    console.warn(`${this.#prefix(again)}: ${text}`);
  }

  #prefix(again: number): string {
    return `jobtree worker ${this.name}${again === 0 ? '' : `, ${again} times more`}`;
  }

  /** Whether the condition came true in time. */
  async #until(condition: () => boolean, ms: number): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!condition()) return;
        done();
      };
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(check);
    });
  }

  #check(): void {
    for (const check of this.#waiting) check();
  }
}

function failureOf({ outcome }: HeldAssignment): FailureInput | undefined {
  return outcome?.report.failure ?? undefined;
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
