/**
 * What `jobtree work` says while it works: problems and failures, a line each, on standard error, and with `--verbose` every item. On a
 * terminal a live line below them counts. With `--json` every outcome goes to standard output.
 */
import { type AbortCode, JobtreeError, type Worker } from '../../client/index.ts';
import { colourOf, paint } from '../colours.ts';
import { describeError } from '../command-error.ts';
import { count, counted, seconds } from '../figures.ts';
import { LiveLine } from '../live-line.ts';
import { oneLine, print } from '../output.ts';
import { fitted, shorten } from '../width.ts';

export interface ReportOptions {
  readonly url: string;
  readonly json?: true;
  readonly verbose?: true;
  /** How long commands may take to finish, in milliseconds. */
  readonly stopTimeout: number;
}

/** Why a command is stopped. */
const abortReasons: Readonly<Record<AbortCode, string>> = {
  LOST: 'its assignment was lost',
  CANCELLED: 'the item or its job was cancelled',
  FINISHED: 'the outcome of this attempt was reported already',
  HEARTBEATS_FAILED: 'two heartbeats in a row failed',
  STOPPED: 'the worker stops',
  TIMED_OUT: 'it took too long',
};

/** The rate is that of so many seconds. */
const rateSeconds = 10;

/** Of a long message, on a terminal. `jobtree items` shows all of it. */
const mostLines = 5;

export class Report {
  readonly #worker: Worker;
  readonly #options: ReportOptions;
  #live: LiveLine | undefined;
  /** How many items were done in each of the last seconds, the newest last. */
  readonly #perSecond: number[] = [0];
  readonly #clock: NodeJS.Timeout;
  /** When the handlers began of which the server does not know yet what became, by assignment. */
  readonly #startedAt = new Map<string, number>();
  #succeeded = 0;
  #failed = 0;
  #isConnected = false;
  #isRefused = false;

  constructor(worker: Worker, options: ReportOptions) {
    this.#worker = worker;
    this.#options = options;
    this.#clock = setInterval(() => {
      this.#perSecond.push(0);
      if (this.#perSecond.length > rateSeconds) this.#perSecond.shift();
    }, 1_000);
    if (process.stderr.isTTY) this.#live = new LiveLine(process.stderr, () => this.#counts());
    this.#listen();
  }

  /** How many items the server does not know the outcome of. */
  get unknown(): number {
    return this.#startedAt.size;
  }

  /** The worker claims no more, and waits for its commands. */
  stopping(): void {
    const { json, stopTimeout } = this.#options;
    const left = this.#startedAt.size;
    if (json || left === 0 || stopTimeout === 0) return;
    this.#say(
      `Stopping: ${counted(left, 'command')} may take ${Math.round(stopTimeout) / 1_000} s to finish. A second Ctrl-C or SIGTERM ends ${left === 1 ? 'it and gives its item' : 'them and gives their items'} back.`,
    );
  }

  /** The process ends right after this. */
  endedAtOnce(): void {
    this.#live?.end();
    this.#live = undefined;
    const left = this.#startedAt.size;
    const verb = left === 1 ? 'becomes' : 'become';
    if (!this.#options.json && left > 0)
      this.#say(`Ended at once: ${counted(left, 'item')} ${verb} ready again after three missed heartbeats.`);
  }

  end(): void {
    clearInterval(this.#clock);
    this.#live?.end();
    this.#live = undefined;
    if (!this.#options.json)
      this.#say(
        `Stopped: ${counted(this.#succeeded, 'item')} succeeded, ${counted(this.#failed, 'attempt')} failed.`,
      );
  }

  #counts(): string {
    if (!this.#isConnected) return `Waiting for ${oneLine(this.#options.url)}…`;
    const done = this.#perSecond.reduce((total, one) => total + one, 0);
    return `${count(this.#succeeded)} done, ${count(this.#failed)} failed, ${count(this.#startedAt.size)} running, ${(done / this.#perSecond.length).toFixed(1)}/s`;
  }

  #listen(): void {
    const worker = this.#worker;
    const { url, json, verbose } = this.#options;
    worker.on('connected', () => {
      this.#isConnected = true;
      this.#say(`Connected to ${url} as ${worker.name}.`);
    });
    worker.on('disconnected', (error) => {
      this.#isConnected = false;
      this.#say(`${error.message} Trying again…`);
    });
    worker.on('claimed', ({ id }) => this.#startedAt.set(id, performance.now()));
    worker.on('succeeded', ({ id, itemId, attempt }) => {
      this.#succeeded++;
      const took = this.#done(id);
      if (json) sayJson({ event: 'succeeded', itemId, attempt });
      else if (verbose) this.#say(`${itemId} succeeded, attempt ${attempt}, ${took}`, 'succeeded');
    });
    worker.on('failed', ({ id, itemId, attempt }, { code, message, retryAt }) => {
      this.#failed++;
      const took = this.#done(id);
      if (json) return sayJson({ event: 'failed', itemId, attempt, code, message, retryAt });
      const next = retryAt === null ? 'for good' : `again at ${retryAt}`;
      this.#say(
        `${itemId} failed, attempt ${attempt}${verbose ? `, ${took}` : ''} (${next}): ${code}: ${message}`,
        'failed',
      );
    });
    worker.on('stale', ({ id, itemId }) => {
      this.#startedAt.delete(id);
      this.#say(`${itemId}: the outcome came too late and does not count.`);
    });
    worker.on('aborted', ({ id, itemId }, code) => {
      // Of these the server has yet to hear that they are given back.
      if (code !== 'STOPPED' && code !== 'HEARTBEATS_FAILED') this.#startedAt.delete(id);
      this.#say(`${itemId}: its command is stopped: ${abortReasons[code]}.`);
    });
    worker.on('released', ({ id, itemId }) => {
      this.#startedAt.delete(id);
      this.#say(`${itemId}: given back.`);
    });
    worker.on('error', (error, again) => {
      // One refusal says enough: the worker stops.
      if (this.#isRefused) return;
      this.#isRefused =
        error instanceof JobtreeError && (error.code === 'UNAUTHENTICATED' || error.code === 'FORBIDDEN');
      const text =
        error instanceof JobtreeError
          ? describeError(error).text
          : error instanceof Error
            ? error.message
            : String(error);
      this.#say(again === 0 ? text : `${text} (${again === 1 ? 'once more' : `${count(again)} more times`})`);
    });
  }

  /** How long the item took, for people. */
  #done(id: string): string {
    const startedAt = this.#startedAt.get(id) ?? performance.now();
    this.#startedAt.delete(id);
    const last = this.#perSecond.length - 1;
    this.#perSecond[last] = (this.#perSecond[last] ?? 0) + 1;
    return seconds(performance.now() - startedAt);
  }

  #say(text: string, status?: string): void {
    const room = process.stderr.isTTY ? mostLines * (process.stderr.columns || 80) : Number.POSITIVE_INFINITY;
    const clean = fitted(shorten(oneLine(text), room, 'end'), process.stderr, '  ');
    const colour = status === undefined ? undefined : colourOf(status);
    const line = colour === undefined ? clean : paint(colour, clean, process.stderr);
    if (this.#live === undefined) process.stderr.write(`${line}\n`);
    else this.#live.writeAbove(line);
  }
}

function sayJson(fields: object): void {
  print(`${JSON.stringify(fields)}\n`);
}
