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
import { counted } from '../counted.ts';
import { type AbortCode, JobtreeError, payloadOf } from '../errors.ts';
import type { Assignment } from '../types.ts';
import { Conditions } from './conditions.ts';
import { Emitter } from './emitter.ts';
import type { ReportedFailure } from './events.ts';
import { Exchanges, type ReportEntry } from './exchanges.ts';
import type { Logger } from './handler.ts';
import { callHandler } from './handler-results.ts';
import { type EndedStatus, Heartbeats } from './heartbeats.ts';
import { HeldAssignment, type Slots } from './held-assignments.ts';
import { Hints } from './hints.ts';
import { ItemTrace } from './item-trace.ts';
import { logEvents } from './log.ts';
import { NoteSender } from './note-sender.ts';
import { checkConcurrency, readOptions, type Settings, type WorkerOptions } from './options.ts';
import { failed, type Outcome, permanent, succeeded, timedOut } from './outcome.ts';
import { Problems } from './problems.ts';
import { onSignals } from './signals.ts';
import { Unheard } from './unheard.ts';

/** How long `stop()` tries to deliver what handlers made of their time, beyond `stopTimeoutMs`. */
const flushTimeoutMs = 5_000;
/** How long a second signal leaves to give back what handlers have. */
const hastyMs = 1_000;

/** How long `runOnce()` waits for a server that does not answer. */
const connectTimeoutMs = 10_000;

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
export class Worker extends Emitter {
  /** The name by which the server knows it. */
  readonly name: string;
  readonly #settings: Settings;
  readonly #slots: ReadonlyMap<string, Slots>;
  readonly #held = new Set<HeldAssignment>();
  readonly #exchanges: Exchanges;
  readonly #heartbeats: Heartbeats;
  readonly #notes: NoteSender;
  readonly #hints: Hints;
  readonly #problems = new Problems((error, again) => this.#announce(error, again));
  readonly #unheard: Unheard;
  readonly #conditions = new Conditions();
  readonly #filling = new Set<Slots>();
  /** Waits until the worker holds nothing else, or has a handler: nothing is claimed meanwhile. */
  #suspect: HeldAssignment | undefined;
  /** The last item that came was a suspect: others may be next. */
  #isCautious = false;
  readonly #logger: Logger | undefined;
  #overdueTimer: ReturnType<typeof setTimeout> | undefined;
  #running = 0;
  #started = false;
  #paused = false;
  /** How many items have begun. */
  #begun = 0;
  /** What `drained` and `idle` have been told of. */
  #phase: 'working' | 'drained' | 'idle' = 'working';
  /** Nothing is told any more but `stopped`. */
  #over = false;
  #connected: boolean | undefined;
  #stopped: Promise<void> | undefined;
  /** Does not wait for handlers when it stops. */
  #isHasty = false;
  /** `run()` or `runOnce()` was called: whoever is refused at the start gives up. */
  #givesUp = false;
  #wasConnected = false;
  #fatalError: JobtreeError | undefined;
  /** Why there is no connection. */
  #outage: JobtreeError | undefined;

  /** @throws JobtreeError INVALID_INPUT, naming the option */
  constructor(options: WorkerOptions) {
    super();
    const settings = readOptions(options);
    const { client, name, version, slots } = settings;
    this.name = name;
    this.#unheard = new Unheard(name);
    this.#settings = settings;
    this.#slots = new Map(slots.map((one) => [one.type, one]));
    this.#exchanges = new Exchanges({
      socket: client.socket,
      worker: name,
      slots,
      held: this.#held,
      onClaimed: (assignment, sentAt) => this.#begin(assignment, sentAt),
      onReported: (held, entry) => this.#reported(held, entry),
      onReleased: (held) => this.#forget(held) && this.tell('released', held.assignment),
      onError: (error) => this.#problem(error),
      mostClaimed: () => (this.#suspect !== undefined ? 0 : this.#isCautious ? 1 : Number.POSITIVE_INFINITY),
      onSettled: (well) => {
        if (well) this.#reached();
        for (const one of slots) if (one.batchSize !== undefined) this.#fill(one);
        this.#check();
      },
    });
    this.#heartbeats = new Heartbeats({
      held: this.#held,
      send: async (assignmentIds, waitingIds, notes, timeoutMs) => {
        const input = { assignmentIds, waitingIds };
        const data = await (notes.length === 0
          ? client.socket.request(operations.Heartbeat, { input }, timeoutMs)
          : client.socket.request(operations.HeartbeatWithNotes, { input, notes: { notes } }, timeoutMs));
        this.#reached();
        return payloadOf(data.heartbeat).entries.map((entry) => entry.status);
      },
      onEnded: (held, status) => this.#ended(held, status),
      onSilence: (held) => this.#silent(held),
      onError: (error) => this.#problem(error),
    });
    this.#notes = new NoteSender({
      held: this.#held,
      send: async (notes, timeoutMs) => {
        const data = await client.socket.request(operations.NoteItems, { input: { notes } }, timeoutMs);
        this.#reached();
        payloadOf(data.noteItems);
      },
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
    this.#logger = options.logger;
    if (options.logger) logEvents(this, options.logger);
  }

  /**
   * Starts claiming. Does not wait for the server: that it answers is the event `connected`.
   *
   * @throws Error if the worker was started before
   */
  async start(): Promise<void> {
    this.#start();
    this.#claim();
  }

  /**
   * Runs as a program does: until SIGINT, SIGTERM or `stop()`. The first signal stops it as `stop()` does; the second one aborts and gives back at once what handlers
   * have, and ends the process within a second; a third one ends it immediately. A worker that the server refuses at the start, for its key or the rights of that, stops. Sets the process's exit code: 0; 1 if the worker was
   * refused, or stopped before the server knew what became of an item; after a second signal 130 (SIGINT) or 143 (SIGTERM). Resolves when the worker has stopped. A handler that ignores its signal may keep the process alive until the second.
   *
   * @throws Error if the worker was started before
   */
  async run(): Promise<void> {
    this.#givesUp = true;
    const stopped = new Promise<void>((resolve) => {
      this.prependOnceListener('stopped', resolve);
    });
    const ignoreSignals = onSignals((count, exitCode) => {
      if (count > 2) process.exit(exitCode);
      if (count === 1) {
        this.#sayStopping();
        void this.stop();
        return;
      }
      void this.stop({ atOnce: true }).then(() => process.exit(exitCode));
      setTimeout(() => process.exit(exitCode), hastyMs);
    });
    try {
      await this.start();
      await stopped;
    } finally {
      ignoreSignals();
    }
    process.exitCode ??= this.#fatalError !== undefined || this.#held.size > 0 ? 1 : 0;
  }

  /**
   * For tests: works until the server gives it nothing more, then stops. What becomes ready later is not waited for, such as an item that is to be tried again, or
   * a job that waits for another one, nor what a pause or a limit of its queue holds back.
   *
   * @throws Error if the worker was started before
   * @throws JobtreeError UNREACHABLE if no server answers within ten seconds, UNAUTHENTICATED, FORBIDDEN
   */
  async runOnce(): Promise<void> {
    this.#givesUp = true;
    this.#start();
    const patience = setTimeout(() => {
      if (this.#wasConnected) return;
      this.#giveUp(
        this.#outage ?? new JobtreeError('UNREACHABLE', 'The server did not answer within ten seconds.'),
      );
    }, connectTimeoutMs);
    let begun: number;
    do {
      begun = this.#begun;
      this.#lookAgain();
      await this.#conditions.until(() => this.#isIdle || this.#stopped !== undefined);
    } while (this.#begun > begun && this.#stopped === undefined);
    clearTimeout(patience);
    await this.stop();
    if (this.#fatalError !== undefined) throw this.#fatalError;
  }

  /** Changes how many handlers of a type may be at work. @throws JobtreeError INVALID_INPUT */
  setConcurrency(type: string, concurrency: number): void {
    const slots = this.#slots.get(type);
    if (slots === undefined)
      throw new JobtreeError('INVALID_INPUT', `The worker does not do ${type}.`, { field: 'type' });
    slots.concurrency = checkConcurrency(concurrency);
    this.#hints.restart();
    this.#fill(slots);
    this.#exchanges.wake();
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /**
   * Claims no more, until `resume()`; what no handler has begun is given back. Resolves when all handlers are done, and the server knows
   * of it. Pausing twice changes nothing.
   */
  async pause(): Promise<void> {
    if (!this.#paused) {
      this.#paused = true;
      this.#hints.stop();
      this.#exchanges.stopClaiming();
      this.#releaseWaiting();
      this.tell('paused');
    }
    await this.#conditions.until(() => !this.#paused || (this.#running === 0 && this.#exchanges.isIdle));
  }

  /** Claims again. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.tell('resumed');
    if (this.#stopped !== undefined) return;
    this.#exchanges.resumeClaiming();
    if (this.#started) this.#claim();
    this.#check();
  }

  /**
   * Stops: claims no more, waits up to `stopTimeoutMs` for handlers and delivers their outcomes; then aborts and gives back
   * the rest, which costs no attempt. With `atOnce` it does not wait for handlers, and no longer waits if it already does. Never fails; if
   * outcomes can't be delivered there is an `error` event.
   */
  stop({ atOnce = false }: { readonly atOnce?: boolean } = {}): Promise<void> {
    if (atOnce) {
      this.#isHasty = true;
      this.#exchanges.wakeNow();
    }
    this.#stopped ??= this.#stop();
    this.#check();
    return this.#stopped;
  }

  /** Whoever pressed Ctrl-C wants to know why the program does not end. */
  #sayStopping(): void {
    const isLate = this.#connected === false && this.#held.size > 0;
    if (this.#running === 0 && !isLate) return;
    const seconds = Math.round(this.#settings.stopTimeoutMs) / 1_000;
    const text =
      this.#running === 0
        ? `waits up to ${seconds} s for the server, which does not know what became of ${counted(this.#held.size, 'item')}`
        : `waits up to ${seconds} s for ${counted(this.#running, 'handler')}; a second signal aborts ${this.#running === 1 ? 'it' : 'them'} at once`;
    if (this.#logger !== undefined) this.#logger.info({ worker: this.name }, `worker stopping: ${text}`);
    else this.#unheard.warn(`stopping: ${text}.`);
  }

  #start(): void {
    if (this.#started) throw new Error('A worker starts once; make a new one.');
    this.#started = true;
  }

  #claim(): void {
    if (this.#paused) return;
    this.#hints.start();
    this.#lookAgain();
  }

  #lookAgain(): void {
    for (const slots of this.#slots.values()) slots.dry = false;
    this.#exchanges.wake();
  }

  async #stop(): Promise<void> {
    this.#started = true;
    this.#hints.stop();
    this.#exchanges.stopClaiming();
    clearTimeout(this.#overdueTimer);
    this.#releaseWaiting();
    const isDone = () => this.#running === 0 && this.#exchanges.isIdle;
    await this.#conditions.until(() => this.#isHasty || isDone(), this.#settings.stopTimeoutMs);
    for (const held of this.#held) this.#interrupt(held);
    const isUnheld = () => ![...this.#held].some(({ state }) => state === 'running');
    await this.#conditions.until(() => isUnheld() && this.#exchanges.isIdle, flushTimeoutMs);
    if (this.#held.size > 0) {
      this.#announce(
        new Error(
          `The worker stopped before the server knew what became of ${counted(this.#held.size, 'item')}.`,
        ),
      );
    }
    this.#over = true;
    this.#heartbeats.stop();
    this.#notes.stop();
    this.#exchanges.close();
    if (this.#settings.ownsClient) await this.#settings.client.close();
    this.tell('stopped');
  }

  /** The next item of a serialize key may begin when this one is given back, so its handler must have ended. */
  #interrupt(held: HeldAssignment): void {
    const isRunning = held.state === 'running';
    if (isRunning) this.#abort(held, 'STOPPED');
    if (held.state === 'starting' || (isRunning && !held.assignment.hasSerializeKey)) this.#release(held);
  }

  #releaseWaiting(): void {
    for (const slots of this.#slots.values()) for (const held of slots.waiting.splice(0)) this.#release(held);
    if (this.#suspect?.state === 'waiting') {
      this.#release(this.#suspect);
      this.#suspect = undefined;
    }
  }

  #begin(assignment: Assignment, sentAt: number): void {
    const slots = this.#slots.get(assignment.type);
    if (slots === undefined)
      throw new Error(`The server gave an item of the type ${assignment.type}, unasked.`);
    const held = new HeldAssignment(assignment, slots, sentAt, () => this.#notes.wake());
    held.trace = ItemTrace.begin(assignment, this.name, sentAt);
    this.#held.add(held);
    this.#heartbeats.add(held);
    if (this.#stopped !== undefined || this.#paused) {
      this.#release(held);
      return;
    }
    this.#isCautious = assignment.suspect;
    if (assignment.suspect && this.#suspect !== undefined) {
      this.#release(held);
      return;
    }
    this.#phase = 'working';
    if (assignment.suspect) {
      this.#suspect = held;
      return;
    }
    slots.waiting.push(held);
    // A batch begins when all that the claim gave is there.
    if (slots.batchSize === undefined) this.#fill(slots);
    if (slots.waiting.length > 0) this.#overdueTimer ??= setTimeout(() => this.#giveBackOverdue(), waitMs);
  }

  /** Gives free handlers what waits. */
  #fill(slots: Slots): void {
    // A handler that is done at once frees its slot while this loop is at it.
    if (this.#filling.has(slots)) return;
    this.#filling.add(slots);
    while (slots.running < slots.concurrency && slots.waiting.length > 0) {
      this.#run(slots, slots.waiting.splice(0, slots.batchSize ?? 1));
    }
    this.#filling.delete(slots);
  }

  #run(slots: Slots, items: readonly HeldAssignment[]): void {
    slots.running++;
    this.#running++;
    if (items.some(({ assignment }) => assignment.lostBefore)) void this.#announceStart(slots, items);
    else this.#callHandler(slots, items);
  }

  /** What was lost before may be what ended its worker: the server is to know that this one has started it. */
  async #announceStart(slots: Slots, items: readonly HeldAssignment[]): Promise<void> {
    for (const held of items) held.state = 'starting';
    const isKnown = await this.#heartbeats.announce(items);
    const wanted = items.filter(({ state }) => state === 'starting');
    if (isKnown && wanted.length > 0) {
      this.#callHandler(slots, wanted);
      return;
    }
    for (const held of wanted) this.#release(held);
    this.#freeSlot(items);
  }

  #callHandler(slots: Slots, items: readonly HeldAssignment[]): void {
    this.#begun += items.length;
    for (const held of items) {
      held.begin((late) => this.#timeOut(late));
      this.tell('claimed', held.assignment);
      slots.meters.began();
    }
    callHandler(items, {
      onResult: (held, result) => this.#succeed(held, result),
      onFailure: (held, error) => this.#fail(held, error),
      onEnd: () => this.#handled(slots, items),
    });
  }

  /** Begins with the suspect when nothing else could be lost with it, not even an outcome that the server has yet to acknowledge. */
  #tryAlone(): void {
    const held = this.#suspect;
    if (held?.state !== 'waiting' || this.#held.size > 1 || this.#running > 0 || !this.#exchanges.isIdle)
      return;
    this.#run(held.slots, [held]);
  }

  #endSuspicion(held: HeldAssignment): void {
    if (this.#suspect !== held) return;
    this.#suspect = undefined;
    this.#lookAgain();
  }

  #timeOut(held: HeldAssignment): void {
    if (held.state !== 'running') return;
    this.#report(held, timedOut(held.assignmentId, held.slots.timeoutMs));
    this.#abort(held, 'TIMED_OUT');
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
    if (held.state !== 'running') return;
    const { maxResultBytes } = this.#settings;
    this.#report(held, succeeded(held.assignmentId, result, held.newItems, maxResultBytes));
  }

  #fail(held: HeldAssignment, error: unknown): void {
    if (held.state !== 'running') return;
    // It gave up because we told it to, which is no failure of the item.
    if (held.abortedFor === 'HEARTBEATS_FAILED' || held.abortedFor === 'STOPPED') this.#release(held);
    else this.#report(held, failed(held.assignmentId, error));
  }

  /** The outcomes are on their way by now: `stop()` takes a worker without handlers and outcomes for done. */
  #handled(slots: Slots, items: readonly HeldAssignment[]): void {
    const [{ since }] = items as [HeldAssignment];
    const ms = performance.now() - since;
    for (const held of items) slots.meters.ended(ms, failureOf(held)?.code);
    slots.meanMs += (ms - slots.meanMs) * meanShare;
    this.#freeSlot(items);
  }

  #freeSlot([held]: readonly HeldAssignment[]): void {
    const { slots } = held as HeldAssignment;
    slots.running--;
    this.#running--;
    this.#endSuspicion(held as HeldAssignment);
    this.#fill(slots);
    this.#exchanges.wake();
    this.#check();
  }

  #report(held: HeldAssignment, outcome: Outcome): void {
    held.end('finished');
    held.outcome = outcome;
    held.trace?.settle(failureOf(held));
    this.#notes.ending(held);
    this.#exchanges.report(held);
  }

  #release(held: HeldAssignment): void {
    held.end('released');
    held.trace?.drop(held.abortedFor ?? 'RELEASED');
    this.#notes.ending(held);
    this.#exchanges.release(held);
  }

  #reported(held: HeldAssignment, { status, retryAt = null, error }: ReportEntry): void {
    const failure = failureOf(held);
    held.trace?.reported(status);
    if (status === 'INVALID' && held.outcome?.report.outcome.success != null) {
      this.#report(
        held,
        permanent(held.assignmentId, 'INVALID_RESULT', error?.message ?? 'The server refused it.'),
      );
      return;
    }
    this.#forget(held);
    if (status === 'STALE') this.tell('stale', held.assignment);
    else if (status === 'INVALID')
      this.#problem(new Error(`The server refused a failure: ${error?.message}`));
    else if (held.outcome?.report.outcome.snoozeMs != null)
      this.tell('snoozed', held.assignment, retryAt ?? '');
    else if (failure === undefined) this.tell('succeeded', held.assignment);
    else {
      const { code, message } = failure;
      this.#failed(held.assignment, { code, message, retryAt, error: held.outcome?.error });
    }
  }

  #failed(assignment: Assignment, failure: ReportedFailure): void {
    if (!this.tell('failed', assignment, failure)) this.#unheard.failed(assignment, failure);
  }

  /** What has an outcome learns from its report what became of it. */
  #ended(held: HeldAssignment, status: EndedStatus): void {
    if (held.state === 'waiting' || held.state === 'starting') {
      this.#drop(held);
      this.#forget(held);
    } else if (held.state === 'running') {
      this.#forget(held);
      this.#abort(held, status);
    }
  }

  #silent(held: HeldAssignment): void {
    if (held.state === 'waiting' || held.state === 'starting') {
      this.#drop(held);
      this.#release(held);
    } else if (held.state === 'running') {
      this.#abort(held, 'HEARTBEATS_FAILED');
    }
  }

  /** It is not to be run any more. */
  #drop(held: HeldAssignment): void {
    const { waiting } = held.slots;
    if (held === this.#suspect) this.#endSuspicion(held);
    else if (held.state === 'waiting') waiting.splice(waiting.indexOf(held), 1);
    this.#exchanges.wake();
  }

  #abort(held: HeldAssignment, code: AbortCode): void {
    if (!held.abort(code)) return;
    held.trace?.drop(code);
    this.tell('aborted', held.assignment, code);
  }

  #forget(held: HeldAssignment): boolean {
    held.end('gone');
    return this.#held.delete(held);
  }

  #reached(): void {
    if (this.#connected === true || this.#over) return;
    this.#connected = true;
    this.#wasConnected = true;
    this.tell('connected');
    this.#exchanges.wakeNow();
  }

  #problem(error: unknown): void {
    // One refusal says enough.
    if (this.#over || this.#fatalError !== undefined) return;
    // The server is there, and what it could not do is sent again.
    if (error instanceof JobtreeError && error.code === 'BUSY') return;
    if (!(error instanceof JobtreeError) || error.code !== 'UNREACHABLE') {
      this.#problems.add(error);
      if (this.#givesUp && !this.#wasConnected) this.#giveUpIfRefused(error);
      return;
    }
    this.#outage = error;
    if (this.#connected !== false) {
      this.#connected = false;
      if (!this.tell('disconnected', error)) this.#unheard.warn(error.message);
    }
  }

  /** Later a key may be replaced, or rights be given; at the start there never were any, and whoever has deployed it is to know. */
  #giveUpIfRefused(error: unknown): void {
    if (!(error instanceof JobtreeError) || !['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code)) return;
    this.#giveUp(error);
  }

  #giveUp(why: JobtreeError): void {
    this.#fatalError = why;
    void this.stop({ atOnce: true });
  }

  #announce(error: unknown, again = 0): void {
    if (!this.tell('error', error, again)) this.#unheard.error(error, again);
  }

  /** The server has nothing that is ready, as far as was asked, and nothing is left to begin. */
  get #isDrained(): boolean {
    if (this.#suspect?.state === 'waiting') return false;
    for (const { dry, asked, waiting } of this.#slots.values())
      if (!dry || asked > 0 || waiting.length > 0) return false;
    return true;
  }

  get #isIdle(): boolean {
    return this.#held.size === 0 && this.#running === 0 && this.#isDrained && this.#exchanges.isIdle;
  }

  #check(): void {
    this.#tryAlone();
    this.#conditions.check();
    if (this.#phase === 'idle' || this.#paused || this.#stopped !== undefined) return;
    if (this.#phase === 'working' && this.#isDrained) {
      this.#phase = 'drained';
      this.tell('drained');
    }
    if (this.#phase === 'drained' && this.#isIdle) {
      this.#phase = 'idle';
      this.tell('idle');
    }
  }
}

function failureOf({ outcome }: HeldAssignment): FailureInput | undefined {
  return outcome?.report.outcome.failure ?? undefined;
}
