/**
 * Several processes on one port (`node:cluster`). The first one, the primary, serves nothing: it owns the embedded Postgres and
 * the port, hands out connections in turn, replaces a process that dies, and ends all of them when it is told to end.
 *
 * A process obeys its primary only, which may be told by a signal that reached all of them (Ctrl-C): so it takes signals for
 * the same wish, however many there are. Without its primary it ends at once, as if killed: Node sees to that.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { reportError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { serve, shutdownMarginMs } from './serve.ts';

type FromPrimary = 'end';
type FromProcess = { readonly readyAt: string };

const firstPauseMs = 100;
const longestPauseMs = 10_000;
/** A process that lived for so long is replaced as if it were the first. */
const healthyMs = 30_000;
/** Beyond what the processes give themselves. */
const killMarginMs = 2_000;

export class Processes {
  readonly #count: number;
  readonly #databaseUrl: string;
  readonly #logger: Logger;
  readonly #endMs: number;
  readonly #ending = new AbortController();
  readonly #loops: Promise<number>[] = [];

  constructor(options: { count: number; databaseUrl: string; config: Config; logger: Logger }) {
    const { shutdownDelayMs, shutdownTimeoutMs } = options.config;
    this.#count = options.count;
    this.#databaseUrl = options.databaseUrl;
    this.#logger = options.logger;
    this.#endMs = shutdownDelayMs + shutdownTimeoutMs + shutdownMarginMs + killMarginMs;
  }

  /** Where they serve, or what the first one exited with, if it does not start: its own words say why. */
  async start(): Promise<{ url: string } | { exitCode: number }> {
    const first = this.#fork();
    const outcome = await this.#ready(first);
    if (typeof outcome === 'number') return { exitCode: outcome };
    const others = Array.from({ length: this.#count - 1 }, () => this.#fork());
    await Promise.all(others.map((process) => this.#ready(process)));
    for (const process of [first, ...others]) this.#loops.push(this.#keep(process));
    return { url: outcome.readyAt };
  }

  /** Ends all of them in good order; what the worst of them exited with. */
  async end(): Promise<number> {
    this.#ending.abort();
    const cut = setTimeout(() => this.kill(), this.#endMs);
    for (const process of running()) tell(process, 'end');
    const codes = await Promise.all(this.#loops);
    clearTimeout(cut);
    return Math.max(exitCodes.success, ...codes);
  }

  kill(): void {
    for (const process of running()) process.process.kill('SIGKILL');
  }

  #fork(): Worker {
    return cluster.fork({ DATABASE_URL: this.#databaseUrl });
  }

  /** Resolves once the process serves, or to its exit code. */
  async #ready(worker: Worker): Promise<FromProcess | number> {
    return Promise.race([
      once(worker, 'message').then(([message]) => message as FromProcess),
      once(worker, 'exit').then(([code]) => (code as number | null) ?? exitCodes.failure),
    ]);
  }

  /** Replaces the process whenever it ends, until all are to end; then the exit code of the last one. */
  async #keep(first: Worker): Promise<number> {
    let worker = first;
    let pauseMs = firstPauseMs;
    for (;;) {
      const startedAt = performance.now();
      worker.on('error', (error) => this.#logger.error({ err: error }, 'a process could not be reached'));
      if (!worker.isDead()) await new Promise((resolve) => worker.once('exit', resolve));
      const { exitCode, signalCode, pid } = worker.process;
      if (this.#ending.signal.aborted) return exitCode ?? exitCodes.failure;
      if (performance.now() - startedAt > healthyMs) pauseMs = firstPauseMs;
      this.#logger.error({ process: pid, exitCode, signal: signalCode }, 'a process ended; it is replaced');
      await delay(pauseMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
      if (this.#ending.signal.aborted) return exitCodes.success;
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
      worker = this.#fork();
      this.#logger.info({ process: worker.process.pid }, 'a new process');
    }
  }
}

/** What one of the processes does. */
export async function serveForPrimary(config: Config, databaseUrl: string, logger: Logger): Promise<never> {
  const end = new AbortController();
  process.on('message', (message: FromPrimary) => {
    if (message === 'end') end.abort();
  });
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => end.abort());
  const onReady = (url: string) => {
    const ready: FromProcess = { readyAt: url };
    if (process.connected) process.send?.(ready);
  };
  const exitCode = await serve({ config, databaseUrl, logger, signal: end.signal, onReady }).catch(
    reportError,
  );
  // The channel to the primary would keep it alive, and to close that would be taken for success.
  process.exit(exitCode);
}

function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

function tell(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message);
}
