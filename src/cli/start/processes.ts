/**
 * Several processes on one port (`node:cluster`). The first one, the primary, serves nothing and does not even load the server:
 * it owns the embedded Postgres and the port, hands out connections in turn, replaces a process that dies, and ends all of them
 * when it is told to end.
 *
 * One that can't be started ends all of them, with its exit code: at once if none has ever served or if its settings are bad,
 * else when it has failed several times in a row. Only while Postgres is out of reach it is tried again without end.
 */
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { exitCodes } from '../exit-codes.ts';
import { aborted } from '../interruption.ts';
import type { FromPrimary, FromProcess } from './process.ts';
import { shutdownTimeMs } from './shutdown-time.ts';

const firstPauseMs = 100;
const longestPauseMs = 10_000;
/** A process that lived for so long is replaced as if it were the first. */
const healthyMs = 30_000;
const mostFailedStarts = 5;
/** Beyond what the processes give themselves. */
const killMarginMs = 2_000;

export class Processes {
  readonly #logger: Logger;
  readonly #endMs: number;
  readonly #forked: readonly Worker[];
  /** A message that is sent to a process before it has said its first one is lost. */
  readonly #listening = new WeakMap<Worker, Promise<unknown>>();
  readonly #ending = new AbortController();
  readonly #ends: Promise<number>[] = [];
  #databaseUrl = '';
  #hasServed = false;
  #cut: NodeJS.Timeout | undefined;

  /** They start to load the server, and serve later. */
  constructor({ count, config, logger }: { count: number; config: Config; logger: Logger }) {
    this.#logger = logger;
    this.#endMs = shutdownTimeMs(config) + killMarginMs;
    this.#forked = Array.from({ length: count }, () => this.#fork());
  }

  /**
   * Serves until the signal aborts or a process can't be started. Calls `onReady` when all serve for the first time. Resolves
   * once all have ended, to what the worst of them exited with.
   */
  async serve(databaseUrl: string, signal: AbortSignal, onReady: (url: string) => void): Promise<number> {
    this.#databaseUrl = databaseUrl;
    void aborted(signal).then(() => this.#end());
    // The first one alone, so that what keeps all of them from starting is said once.
    const [first, ...others] = this.#forked.map((process) => () => this.#keep(process));
    const url = await first?.();
    if (url !== undefined) {
      await Promise.all(others.map((keep) => keep()));
      if (!this.#ending.signal.aborted) onReady(url);
    }
    const codes = await Promise.all(this.#ends);
    await Promise.all(this.#forked.map(ended));
    clearTimeout(this.#cut);
    return Math.max(exitCodes.success, ...codes);
  }

  kill(): void {
    for (const process of running()) process.process.kill('SIGKILL');
  }

  #end(): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    this.#cut = setTimeout(() => this.kill(), this.#endMs);
    for (const process of running()) void this.#tell(process, 'end');
  }

  #fork(): Worker {
    const worker = cluster.fork();
    endUnaccepted(worker);
    worker.on('error', (error) => this.#logger.error({ err: error }, 'a process could not be reached'));
    this.#listening.set(worker, nextMessage(worker));
    return worker;
  }

  async #tell(worker: Worker, message: FromPrimary): Promise<void> {
    await this.#listening.get(worker);
    if (worker.isConnected()) worker.send(message);
  }

  /** Keeps it running from now on. Resolves when it serves, to where; or to undefined once all are to end. */
  #keep(process: Worker): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#ends.push(this.#replaceUntilEnd(process, resolve).finally(() => resolve(undefined)));
    });
  }

  /** Replaces the process whenever it ends, until all are to end; then the exit code of the last one. */
  async #replaceUntilEnd(first: Worker, onReady: (url: string) => void): Promise<number> {
    let worker = first;
    let pauseMs = firstPauseMs;
    let failedStarts = 0;
    for (;;) {
      const startedAt = performance.now();
      const url = await this.#start(worker);
      if (url !== undefined) {
        this.#hasServed = true;
        if (worker !== first) this.#logger.info({ process: worker.process.pid }, 'a new process is serving');
        onReady(url);
      }
      await ended(worker);
      const { exitCode, signalCode, pid } = worker.process;
      if (this.#ending.signal.aborted) return exitCode ?? codeOf(signalCode);
      const how = { process: pid, exitCode, signal: signalCode };
      failedStarts = url === undefined && exitCode !== exitCodes.unreachable ? failedStarts + 1 : 0;
      if (url === undefined && this.#isHopeless(failedStarts, exitCode)) {
        this.#logger.error(how, 'a process could not be started; all processes stop');
        this.#end();
        return exitCode ?? exitCodes.failure;
      }
      if (performance.now() - startedAt > healthyMs) pauseMs = firstPauseMs;
      this.#logger.error(how, 'a process ended; it is replaced');
      await delay(pauseMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
      if (this.#ending.signal.aborted) return exitCodes.success;
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
      worker = this.#fork();
    }
  }

  /** Where it serves; undefined if it ends before. */
  async #start(worker: Worker): Promise<string | undefined> {
    await this.#tell(worker, { databaseUrl: this.#databaseUrl });
    const message = await nextMessage(worker);
    return message === 'listening' ? undefined : message?.readyAt;
  }

  #isHopeless(failedStarts: number, exitCode: number | null): boolean {
    return !this.#hasServed || exitCode === exitCodes.usage || failedStarts === mostFailedStarts;
  }
}

/**
 * Ends the connections that a process was handed and has not accepted when it dies: the primary would keep them open, and their clients would
 * wait for ever. Node closes the primary's copy when the process says that it has its own, and says nothing of those that are left.
 */
function endUnaccepted({ process }: Worker): void {
  const handed = new Set<Handle>();
  const send = process.send as (message: unknown, handle?: Handle, ...rest: unknown[]) => boolean;
  const sendNoted = (message: unknown, handle?: Handle, ...rest: unknown[]) => {
    if (typeof handle?.close === 'function') {
      const { close } = handle;
      handed.add(handle);
      handle.close = (...parameters) => {
        handed.delete(handle);
        handle.close = close;
        close.apply(handle, parameters);
      };
    }
    return send.call(process, message, handle, ...rest);
  };
  process.send = sendNoted as typeof process.send;
  process.once('exit', () => {
    for (const handle of [...handed]) handle.close();
  });
}

/** What Node hands over to a process: a connection. */
interface Handle {
  close(...parameters: unknown[]): void;
}

/** Ctrl-C and SIGTERM may reach a process before it has learned to take them for a wish. */
function codeOf(signal: string | null): number {
  return signal === 'SIGINT' || signal === 'SIGTERM' ? exitCodes.success : exitCodes.failure;
}

async function ended(worker: Worker): Promise<undefined> {
  if (!worker.isDead()) await new Promise((resolve) => worker.once('exit', resolve));
}

/** Resolves to undefined if it ends before. */
function nextMessage(worker: Worker): Promise<FromProcess | undefined> {
  const message = new Promise<FromProcess>((resolve) => worker.once('message', resolve));
  return Promise.race([message, ended(worker)]);
}

function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}
