/**
 * The one direct connection to Postgres, past any pooler, that a server keeps: for LISTEN, and for locks that represent a role.
 *
 * Losing the connection means losing the role, on both sides. This side pings, since a half-open socket raises no error, and
 * destroys a connection that does not answer. Postgres ends a session that is silent for eight seconds. So the locks of a process
 * that hangs, is stopped or is cut off become free without anybody's doing, and a process that is only busy for a few seconds
 * keeps them.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { TimeoutError, withTimeout } from '../concurrency/with-timeout.ts';
import { destroySocket, PostgresClient } from '../db/postgres-client.ts';

/** Runs one statement on the connection. Without an answer in time it fails, and the connection is lost. */
export type Query = <Row extends object>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

export interface DirectConnectionOptions {
  readonly url: string;
  readonly logger: Logger;
  /** Called for a new connection, which listens to nothing and holds no locks yet. */
  readonly onOpen: (query: Query) => Promise<void>;
  /** Called twice a second. Runs at least one statement, which serves as the ping. */
  readonly onTick: (query: Query) => Promise<void>;
  readonly onNotification: (channel: string, payload: string) => void;
  readonly onLost: () => void;
  /** Postgres answers again; until `silentUntil`, on the clock of `performance.now()`, it gave no answer. */
  readonly onBack: (silentUntil: number) => void;
}

const tickMs = 500;
const answerMs = 1_500;
/** Longer than a process is busy without a break. Whoever depends on a role that nobody fills has other ways for this long. */
const idleMs = 8_000;
const selfTestMs = 3_000;
const goodbyeMs = 500;
const connectMs = 2_000;
const backoffMs = [100, 250, 500, 1_000];

/** The connection can't listen; the message says what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

export class DirectConnection {
  readonly #options: DirectConnectionOptions;
  #loop: Promise<void> | undefined;
  #current: { client: pg.Client; gone: AbortController } | undefined;
  #pause = new AbortController();
  #silentUntil: number | undefined;

  constructor(options: DirectConnectionOptions) {
    this.#options = options;
  }

  /** Resolves after the first tick; rejects only if the first connection turns out to be unfit. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#loop = this.#keep(resolve, reject);
    });
  }

  /** Waits only briefly for answers, so it also returns on a half-open socket. */
  async stop(): Promise<void> {
    this.#pause.abort();
    this.#current?.gone.abort();
    await this.#loop;
  }

  async #keep(onFirst: () => void, onUnfit: (error: ListenError) => void): Promise<void> {
    for (let failures = 0; !this.#pause.signal.aborted; failures++) {
      try {
        await this.#use(() => {
          failures = 0;
          onFirst();
        });
      } catch (error) {
        if (this.#pause.signal.aborted) return;
        if (error instanceof ListenError) onUnfit(error);
        if (error instanceof TimeoutError) this.#silentUntil = performance.now();
        this.#options.logger.warn({ err: error }, 'the connection for LISTEN failed; opening a new one');
      }
      const pause = (backoffMs[failures] ?? 1_000) * (0.5 + Math.random());
      await delay(pause, undefined, { signal: this.#pause.signal }).catch(() => undefined);
    }
  }

  /** Uses one connection until it fails or is no longer needed. */
  async #use(onTicked: () => void): Promise<void> {
    const client = new PostgresClient({
      connectionString: this.#options.url,
      application_name: 'jobtree listener',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
    });
    const gone = new AbortController();
    this.#current = { client, gone };
    client.on('error', (error) => gone.abort(error));
    client.on('end', () => gone.abort(new Error('the connection ended')));
    const query: Query = async (text, values = []) =>
      (await withTimeout(answerMs, client.query(text, [...values]))).rows;
    try {
      await abortable(client.connect(), gone.signal);
      await this.#proveListening(client, query);
      // Only after the proof: through a pooler, these settings would stay behind on somebody else's session. The second one is
      // for a client that stops reading, on which Postgres could otherwise wait in the middle of a message.
      await query(`set idle_session_timeout = ${idleMs}`);
      await query(`set tcp_user_timeout = ${idleMs}`);
      client.on('notification', ({ channel, payload }) =>
        this.#options.onNotification(channel, payload ?? ''),
      );
      await this.#options.onOpen(query);
      for (;;) {
        await this.#options.onTick(query);
        if (this.#silentUntil !== undefined) this.#options.onBack(this.#silentUntil);
        this.#silentUntil = undefined;
        onTicked();
        await delay(tickMs, undefined, { signal: gone.signal }).catch(() => {
          throw gone.signal.reason;
        });
      }
    } finally {
      client.removeAllListeners('notification');
      this.#options.onLost();
      if (this.#pause.signal.aborted) await withTimeout(goodbyeMs, client.end()).catch(() => undefined);
      // end() would wait for a half-open socket forever.
      destroySocket(client);
    }
  }

  /** Through a pooler, LISTEN is lost silently and locks land on any session. So this proves that a notification arrives. */
  async #proveListening(client: pg.Client, query: Query): Promise<void> {
    const channel = `jobtree_proof_${randomUUID()}`;
    const arrived = new Promise((resolve) => client.once('notification', resolve));
    await query(`listen ${pg.escapeIdentifier(channel)}`);
    // Sent from another connection: a pooler would deliver this one's own notification to it.
    const other = new PostgresClient({
      connectionString: this.#options.url,
      application_name: 'jobtree listener',
      connectionTimeoutMillis: connectMs,
    });
    other.on('error', () => undefined);
    try {
      await other.connect();
      await withTimeout(answerMs, other.query('select pg_notify($1, $2)', [channel, '']));
    } finally {
      await withTimeout(goodbyeMs, other.end()).catch(() => undefined);
      destroySocket(other);
    }
    await withTimeout(selfTestMs, arrived).catch(() => {
      throw new ListenError(
        'Notifications do not arrive over this connection to Postgres: a pooler (such as PgBouncer in transaction mode) seems to be in between. Set JOBTREE_DIRECT_DATABASE_URL to the address of Postgres itself.',
      );
    });
    await query(`unlisten ${pg.escapeIdentifier(channel)}`);
  }
}

/** Rejects as soon as the signal aborts. It keeps its listener, so use it once per connection. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}
