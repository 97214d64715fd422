/**
 * The one connection to Postgres itself, past any pooler, that a server keeps: for LISTEN, and for locks that are a role.
 *
 * Losing the connection is losing the role, on both sides. This side pings, since a half-open socket raises nothing, and
 * destroys what does not answer. Postgres throws a session out that says nothing for eight seconds, so that the locks of a
 * process that hangs, is stopped or cut off become free without anybody's doing, and a process that is only busy for some
 * seconds keeps it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { destroySocket } from '../db/database.ts';
import { TimeoutError, withTimeout } from './with-timeout.ts';

/** Runs one statement on the connection. Fails if there is no answer soon, and then the connection is lost. */
export type Query = <Row extends object>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

export interface DirectConnectionOptions {
  readonly url: string;
  readonly logger: Logger;
  /** A new connection: nothing is listened to, no lock is held. */
  readonly onOpen: (query: Query) => Promise<void>;
  /** Twice a second. Runs at least one statement, which is the ping. */
  readonly onTick: (query: Query) => Promise<void>;
  readonly onNotification: (channel: string, payload: string) => void;
  readonly onLost: () => void;
  /** Postgres answers again, after it gave no answer until then, on the clock of `performance.now()`. */
  readonly onBack: (silentUntil: number) => void;
}

const tickMs = 500;
const answerMs = 1_500;
/** Longer than a process is busy without a break. Who needs a role that is not filled has other ways for so long. */
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

  /** Waits for no answer for long, so it ends on a half-open socket too. */
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

  /** Uses one connection until it fails, or is no longer wanted. */
  async #use(onTicked: () => void): Promise<void> {
    const client = new pg.Client({
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
      // After the proof: through a pooler, these would stay behind on somebody else's session. The second one is for a
      // client that reads no more, which Postgres could otherwise wait for in the middle of a message.
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

  /** A pooler swallows LISTEN without a word, and locks through it land on any session: so see a notification arrive. */
  async #proveListening(client: pg.Client, query: Query): Promise<void> {
    const channel = `jobtree_proof_${randomUUID()}`;
    const arrived = new Promise((resolve) => client.once('notification', resolve));
    await query(`listen ${pg.escapeIdentifier(channel)}`);
    // From another connection: a pooler would hand this one its own notification.
    const other = new pg.Client({
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

/** Rejects as soon as the signal aborts; for what happens once for each connection. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}
