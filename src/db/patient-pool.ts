/**
 * A pool of connections that is patient while Postgres has none free (`max_connections` is reached, or it is starting): requests wait as they do
 * for a busy connection of the pool. Meanwhile the pool makes do with the connections that it has, and asks Postgres again only now and then,
 * however many requests wait.
 *
 * A request that gets no connection has sent nothing, so the error says that nothing was done.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { UnavailableError } from '../errors.ts';
import { isRetryable, leavesSession } from './sqlstate.ts';

/** How often a statement is sent at most if Postgres keeps undoing it for reasons of its own. */
const tries = 5;
/** How long a request waits for a connection. */
export const checkoutMs = 10_000;
const askAgainMs = 100;
/** How long the pool does not try to grow after Postgres was full. */
const contentMs = 1_000;

type Checkout = (error: Error | undefined, client?: pg.PoolClient, release?: (error?: Error) => void) => void;

export class PatientPool extends pg.Pool {
  readonly #max: number;
  #growing: NodeJS.Timeout | undefined;
  /** Set while one request asks Postgres again, for all that wait. */
  #vacancy: Promise<void> | undefined;

  constructor(config: pg.PoolConfig & { max: number; Client: typeof pg.Client }) {
    super({ ...config, connectionTimeoutMillis: checkoutMs });
    this.#max = config.max;
    // If a connection in use breaks, its query fails as well, and that error is enough.
    this.on('connect', (client) => client.on('error', () => {}));
    // If somebody else ended the last connection, opens a new one at once, while there is room for it, rather than when it is needed.
    this.on('remove', () => {
      if (this.options.min && this.totalCount === 0 && !this.ending)
        void this.open(checkoutMs).catch(() => undefined);
    });
  }

  // pg's own overloads: with a callback, as `query` calls it, or returning a promise.
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Checkout): void;
  override connect(callback?: Checkout): Promise<pg.PoolClient> | undefined {
    const checkout = this.#checkOut();
    if (callback === undefined) return checkout;
    checkout.then((client) => {
      try {
        callback(undefined, client, client.release);
      } catch (error) {
        // Nobody else would release the connection, and its state is unknown.
        client.release(true);
        throw error;
      }
    }, callback);
    return undefined;
  }

  /**
   * Repeats a statement that Postgres has undone for reasons of its own (`isRetryable`). Unlike pg's own, it keeps the connection when Postgres
   * has only refused the statement: to open another takes longer, and while there is none, newcomers overtake those that wait for it.
   */
  // pg's own overloads say nothing that matters here; callers that pass a callback repeat it themselves.
  // biome-ignore lint/suspicious/noExplicitAny: as above
  override query(...parameters: any[]): any {
    if (typeof parameters.at(-1) === 'function')
      return (super.query as (...parameters: unknown[]) => unknown).apply(this, parameters);
    return this.#send((client) =>
      (client.query as (...parameters: unknown[]) => Promise<unknown>).apply(client, parameters),
    );
  }

  /** The same for a statement that Postgres ends after `ms`, with the error 57014, under further settings. Takes three round trips. */
  queryWithin<Row extends pg.QueryResultRow>(
    ms: number,
    statement: pg.QueryConfig,
    settings = '',
  ): Promise<pg.QueryResult<Row>> {
    return this.#send(async (client) => {
      // A pooler keeps no settings of a session.
      await client.query(`begin; set local statement_timeout = ${ms}${settings}`);
      try {
        const result = await client.query<Row>(statement);
        await client.query('commit');
        return result;
      } catch (error) {
        if (leavesSession(error)) await client.query('rollback');
        throw error;
      }
    });
  }

  async #send<T>(act: (client: pg.PoolClient) => Promise<T>, left = tries - 1): Promise<T> {
    const client = await this.#checkOut();
    let error: unknown;
    try {
      return await act(client);
    } catch (thrown) {
      error = thrown;
    } finally {
      client.release(error !== undefined && !leavesSession(error));
    }
    if (left === 0 || !isRetryable(error)) throw error;
    return this.#send(act, left - 1);
  }

  /** Opens a connection, which stays open if the pool has a `min`. */
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
      // Requests that arrive while there is no connection at all do not ask for themselves.
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

  /** Until the pool may grow again, all requests wait for the existing connections. */
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

/** Postgres answers, but has no free connection at the moment. */
export function isFull(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  // too_many_connections, and cannot_connect_now: it is starting or recovering.
  return code === '53300' || code === '57P03';
}

/** Without a connection nothing was sent. What Postgres says of a wrong account or database is passed on as it is. */
function asUnavailable(error: unknown): unknown {
  const { code } = (error ?? {}) as { code?: unknown };
  const isRefusal = error instanceof pg.DatabaseError && !/^(08|53|57)/.test(String(code));
  if (isRefusal) return error;
  return new UnavailableError(
    isFull(error) ? 'Postgres has no free connection.' : 'There is no connection to Postgres.',
    { cause: error },
  );
}
