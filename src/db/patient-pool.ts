/**
 * A pool of connections that waits while Postgres has none to give (`max_connections` is reached, or it is just starting),
 * as others wait for a connection of the pool that is in use. Meanwhile it makes do with those that it has, and asks
 * Postgres again only now and then, however many wait.
 *
 * Whoever gets no connection has sent nothing, so the error says that nothing was done.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { UnavailableError } from '../errors.ts';
import { isRetryable } from './sqlstate.ts';

/** How often a statement is sent at most that Postgres undoes for reasons of its own. */
const tries = 5;
/** How long a request waits for a connection. */
export const checkoutMs = 10_000;
const askAgainMs = 100;
/** So long after Postgres was full, the pool does not try to grow. */
const contentMs = 1_000;

type Checkout = (error: Error | undefined, client?: pg.PoolClient, release?: (error?: Error) => void) => void;

export class PatientPool extends pg.Pool {
  readonly #max: number;
  #growing: NodeJS.Timeout | undefined;
  /** While one asks Postgres again, for all who wait. */
  #vacancy: Promise<void> | undefined;

  constructor(config: pg.PoolConfig & { max: number; Client: typeof pg.Client }) {
    super({ ...config, connectionTimeoutMillis: checkoutMs });
    this.#max = config.max;
    // What others ended is opened again at once, while there is room for it, rather than when it is needed.
    this.on('remove', () => {
      if (this.options.min && this.totalCount === 0 && !this.ending)
        void this.open(checkoutMs).catch(() => undefined);
    });
  }

  // pg's own overloads: with a callback, as `query` calls it, or with a promise.
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Checkout): void;
  override connect(callback?: Checkout): Promise<pg.PoolClient> | undefined {
    const checkout = this.#checkOut();
    if (callback === undefined) return checkout;
    checkout.then((client) => {
      try {
        callback(undefined, client, client.release);
      } catch (error) {
        // Nobody else would give the connection back, and what it was used for is unknown.
        client.release(true);
        throw error;
      }
    }, callback);
    return undefined;
  }

  /** Sends a statement again that Postgres has undone for reasons of its own (`isRetryable`). */
  // pg's own overloads say nothing that matters here; whoever gives a callback sees to it himself.
  // biome-ignore lint/suspicious/noExplicitAny: as above
  override query(...parameters: any[]): any {
    const send = super.query as (...parameters: unknown[]) => Promise<unknown>;
    if (typeof parameters.at(-1) === 'function') return send.apply(this, parameters);
    const attempt = (left: number): Promise<unknown> =>
      send.apply(this, parameters).catch((error) => {
        if (left === 0 || !isRetryable(error)) throw error;
        return attempt(left - 1);
      });
    return attempt(tries - 1);
  }

  /** Opens a connection, which then stays if the pool has a `min`. */
  async open(waitMs: number): Promise<void> {
    (await this.#checkOut(waitMs)).release();
  }

  override async end(): Promise<void> {
    clearTimeout(this.#growing);
    await super.end();
  }

  async #checkOut(waitMs = checkoutMs): Promise<pg.PoolClient> {
    const giveUpAt = performance.now() + waitMs;
    for (;;) {
      // Whoever comes while there is none at all does not ask for itself.
      if (this.totalCount === 0 && this.#vacancy !== undefined) await this.#untilVacant(giveUpAt);
      try {
        return await super.connect();
      } catch (error) {
        if (!isFull(error) || this.ending || performance.now() >= giveUpAt) throw asUnavailable(error);
        this.#makeDo();
        this.#vacancy ??= this.#askAgain();
        await this.#untilVacant(giveUpAt);
      }
    }
  }

  async #untilVacant(giveUpAt: number): Promise<void> {
    const timer = new AbortController();
    const timeIsUp = delay(Math.max(0, giveUpAt - performance.now()), undefined, { signal: timer.signal });
    await Promise.race([this.#vacancy, timeIsUp]).finally(() => timer.abort());
    await timeIsUp.catch(() => undefined);
  }

  /** Until it may grow again, everybody waits for the connections that there are. */
  #makeDo(): void {
    this.options.max = Math.max(1, Math.min(this.totalCount, this.options.max ?? this.#max));
    clearTimeout(this.#growing);
    this.#growing = setTimeout(() => {
      this.options.max = this.#max;
    }, contentMs).unref();
  }

  async #askAgain(): Promise<void> {
    try {
      for (;;) {
        await delay(askAgainMs * (0.5 + Math.random()));
        if (this.ending) return;
        try {
          (await super.connect()).release();
          return;
        } catch (error) {
          if (!isFull(error)) return;
          this.#makeDo();
        }
      }
    } finally {
      this.#vacancy = undefined;
    }
  }
}

/** Postgres answers, but has no connection to give at the moment. */
export function isFull(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  // too_many_connections, and cannot_connect_now: it starts or recovers.
  return code === '53300' || code === '57P03';
}

/** What no connection could be got for was not sent. What is wrong with the address or the account is no such case. */
function asUnavailable(error: unknown): unknown {
  const { code } = (error ?? {}) as { code?: unknown };
  const isRefusal = error instanceof pg.DatabaseError && !/^(08|53|57)/.test(String(code));
  if (isRefusal) return error;
  return new UnavailableError(
    isFull(error) ? 'Postgres has no free connection.' : 'There is no connection to Postgres.',
    { cause: error },
  );
}
