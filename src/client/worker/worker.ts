/**
 * The worker: claims items as it has room, runs their handlers, reports what comes of them, and keeps its assignments alive.
 *
 *   hints, poll ─▶ exchanges ─claims─▶ assignments ─▶ handlers
 *                     ▲  ▲               │         │
 *                     │  └───reports─────┼─────────┘
 *                  releases ◀─ aborts ◀─ heartbeats
 */
import { counted } from '../counted.ts';
import { JobtreeError } from '../errors.ts';
import { Conditions } from './conditions.ts';
import { Emitter } from './emitter.ts';
import type { Logger } from './handler.ts';
import { logEvents } from './log.ts';
import { checkConcurrency, readOptions, type Settings, type WorkerOptions } from './options.ts';
import { createParts, type WorkerParts } from './parts.ts';
import { onSignals } from './signals.ts';

/** How long `stop()` tries to deliver what handlers made of their time, beyond `stopTimeoutMs`. */
const flushTimeoutMs = 5_000;
/** How long a second signal leaves to give back what handlers have. */
const hastyMs = 1_000;

/** How long `runOnce()` waits for a server that does not answer. */
const connectTimeoutMs = 10_000;

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
  readonly #parts: WorkerParts;
  readonly #conditions = new Conditions();
  readonly #logger: Logger | undefined;
  #started = false;
  #paused = false;
  /** What `drained` and `idle` have been told of. */
  #phase: 'working' | 'drained' | 'idle' = 'working';
  #stopped: Promise<void> | undefined;
  /** Does not wait for handlers when it stops. */
  #isHasty = false;
  /** `run()` or `runOnce()` was called: whoever is refused at the start gives up. */
  #givesUp = false;

  /** @throws JobtreeError INVALID_INPUT, naming the option */
  constructor(options: WorkerOptions) {
    super();
    const settings = readOptions(options);
    this.#parts = createParts(settings, {
      tell: (event, ...args) => this.tell(event, ...args),
      isClaiming: () => this.#stopped === undefined && !this.#paused,
      onWork: () => {
        this.#phase = 'working';
      },
      onChange: () => this.#check(),
      // Later a key may be replaced, or rights be given; at the start there never were any, and whoever has deployed it is to know.
      onRefused: (error) => this.#givesUp && this.#giveUp(error),
    });
    this.name = settings.name;
    this.#settings = settings;
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
    process.exitCode ??= this.#parts.connection.fatalError !== undefined || this.#parts.held.size > 0 ? 1 : 0;
  }

  /**
   * For tests: works until the server gives it nothing more, then stops. What becomes ready later is not waited for, such as an item that is to be tried again, or
   * a job that waits for another one, nor what a pause or a limit of its queue holds back.
   *
   * @throws Error if the worker was started before
   * @throws JobtreeError UNREACHABLE if no server answers within ten seconds, UNAUTHENTICATED, FORBIDDEN
   */
  async runOnce(): Promise<void> {
    const { connection, exchanges, pool } = this.#parts;
    this.#givesUp = true;
    this.#start();
    exchanges.claimOnlyReady();
    const patience = setTimeout(() => {
      if (connection.wasConnected) return;
      this.#giveUp(
        connection.outage ?? new JobtreeError('UNREACHABLE', 'The server did not answer within ten seconds.'),
      );
    }, connectTimeoutMs);
    let begun: number;
    do {
      begun = pool.begun;
      pool.lookAgain();
      await this.#conditions.until(() => this.#isIdle || this.#stopped !== undefined);
    } while (pool.begun > begun && this.#stopped === undefined);
    clearTimeout(patience);
    await this.stop();
    if (connection.fatalError !== undefined) throw connection.fatalError;
  }

  /** Changes how many handlers of a type may be at work. @throws JobtreeError INVALID_INPUT */
  setConcurrency(type: string, concurrency: number): void {
    const slots = this.#parts.slots.get(type);
    if (slots === undefined)
      throw new JobtreeError('INVALID_INPUT', `The worker does not do ${type}.`, { field: 'type' });
    slots.concurrency = checkConcurrency(concurrency);
    if (!this.#started) return;
    this.#parts.hints.restart();
    this.#parts.pool.fill(slots);
    this.#parts.exchanges.resize();
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /**
   * Claims no more, until `resume()`; what no handler has begun is given back. Resolves when all handlers are done, and the server knows
   * of it. Pausing twice changes nothing.
   */
  async pause(): Promise<void> {
    const { exchanges, hints, pool } = this.#parts;
    if (!this.#paused) {
      this.#paused = true;
      hints.stop();
      exchanges.stopClaiming();
      pool.releaseWaiting();
      this.tell('paused');
    }
    await this.#conditions.until(() => !this.#paused || (pool.running === 0 && exchanges.isIdle));
  }

  /** Claims again. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.tell('resumed');
    if (this.#stopped !== undefined) return;
    this.#parts.exchanges.resumeClaiming();
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
      this.#parts.exchanges.wakeNow();
    }
    this.#stopped ??= this.#stop();
    this.#check();
    return this.#stopped;
  }

  /** Whoever pressed Ctrl-C wants to know why the program does not end. */
  #sayStopping(): void {
    const { connection, held, pool, unheard } = this.#parts;
    const isLate = connection.isLost && held.size > 0;
    if (pool.running === 0 && !isLate) return;
    const seconds = Math.round(this.#settings.stopTimeoutMs) / 1_000;
    const text =
      pool.running === 0
        ? `waits up to ${seconds} s for the server, which does not know what became of ${counted(held.size, 'item')}`
        : `waits up to ${seconds} s for ${counted(pool.running, 'handler')}; a second signal aborts ${pool.running === 1 ? 'it' : 'them'} at once`;
    if (this.#logger !== undefined) this.#logger.info({ worker: this.name }, `worker stopping: ${text}`);
    else unheard.warn(`stopping: ${text}.`);
  }

  #start(): void {
    if (this.#started) throw new Error('A worker starts once; make a new one.');
    this.#started = true;
  }

  #claim(): void {
    if (this.#paused) return;
    this.#parts.hints.start();
    this.#parts.pool.lookAgain();
  }

  async #stop(): Promise<void> {
    const { connection, exchanges, heartbeats, held, hints, notes, pool } = this.#parts;
    this.#started = true;
    hints.stop();
    exchanges.stopClaiming();
    pool.releaseWaiting();
    const isDone = () => pool.running === 0 && exchanges.isIdle;
    await this.#conditions.until(() => this.#isHasty || isDone(), this.#settings.stopTimeoutMs);
    pool.interrupt();
    const isUnheld = () => ![...held].some(({ state }) => state === 'running');
    await this.#conditions.until(() => isUnheld() && exchanges.isIdle, flushTimeoutMs);
    if (held.size > 0) {
      connection.announce(
        new Error(`The worker stopped before the server knew what became of ${counted(held.size, 'item')}.`),
      );
    }
    connection.close();
    heartbeats.stop();
    notes.stop();
    exchanges.close();
    if (this.#settings.ownsClient) await this.#settings.client.close();
    this.tell('stopped');
  }

  #giveUp(why: JobtreeError): void {
    this.#parts.connection.fatalError = why;
    void this.stop({ atOnce: true });
  }

  get #isIdle(): boolean {
    const { exchanges, held, pool } = this.#parts;
    return held.size === 0 && pool.running === 0 && pool.isDrained && exchanges.isIdle;
  }

  #check(): void {
    this.#parts.pool.tryAlone();
    this.#conditions.check();
    if (this.#phase === 'idle' || this.#paused || this.#stopped !== undefined) return;
    if (this.#phase === 'working' && this.#parts.pool.isDrained) {
      this.#phase = 'drained';
      this.tell('drained');
    }
    if (this.#phase === 'drained' && this.#isIdle) {
      this.#phase = 'idle';
      this.tell('idle');
    }
  }
}
