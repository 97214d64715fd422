/**
 * Where the doctor asks Postgres: over a connection of its own, or over one of a server's pool at a time. Each question is a read-only
 * transaction of its own, which Postgres ends when it takes long or waits for a lock: so whatever is wrong there, looking at it makes nothing
 * worse.
 */
import pg from 'pg';
import { withTimeout } from '../concurrency/with-timeout.ts';
import { destroySocket, PostgresClient } from '../db/postgres-client.ts';
import { leavesSession } from '../db/sqlstate.ts';

const connectMs = 5_000;
const statementMs = 3_000;
const lockMs = 500;
/** For an answer that never comes. */
const answerMs = 6_000;

const begin = `begin transaction isolation level read committed read only;
  set local statement_timeout = ${statementMs}; set local lock_timeout = ${lockMs}; set local search_path = pg_catalog`;

/** Gives a connection for as long as this takes. */
type Lend = <T>(run: (client: pg.ClientBase) => Promise<T>) => Promise<T>;

export class Session {
  readonly #lend: Lend;

  constructor(lend: Lend) {
    this.#lend = lend;
  }

  static ofPool(pool: Pick<pg.Pool, 'connect'>): Session {
    return new Session(async (run) => {
      const client = await pool.connect();
      let error: unknown;
      try {
        return await withTimeout(answerMs, run(client));
      } catch (thrown) {
        error = thrown;
        throw thrown;
      } finally {
        client.release(error !== undefined && !leavesSession(error));
      }
    });
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.use(async (client) => (await client.query(text, [...values])).rows);
  }

  /** Several statements in one such transaction. */
  use<T>(run: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    return this.#lend(async (client) => {
      await client.query(begin);
      try {
        return await run(client);
      } finally {
        await client.query('rollback').catch(() => undefined);
      }
    });
  }
}

export class OwnSession extends Session {
  readonly #url: string;
  readonly #client: pg.Client;

  private constructor(url: string, client: pg.Client) {
    super((run) => run(client));
    this.#url = url;
    this.#client = client;
  }

  static async open(url: string): Promise<OwnSession> {
    return new OwnSession(url, await connect(url));
  }

  /** Whether a notification of one session arrives in another one, as servers need it; in milliseconds, or undefined if not in time. */
  async hear(channel: string, withinMs: number): Promise<number | undefined> {
    const other = await connect(this.#url);
    try {
      const name = pg.escapeIdentifier(channel);
      const heard = new Promise<number>((resolve) =>
        this.#client.once('notification', () => resolve(performance.now())),
      );
      await this.#client.query(`listen ${name}`);
      const sentAt = performance.now();
      await other.query('select pg_notify($1, $2)', [channel, '']);
      const timer = new AbortController();
      const late = new Promise<undefined>((resolve) => {
        const timeout = setTimeout(resolve, withinMs, undefined);
        timer.signal.addEventListener('abort', () => clearTimeout(timeout));
      });
      const heardAt = await Promise.race([heard, late]);
      timer.abort();
      await this.#client.query(`unlisten ${name}`);
      return heardAt === undefined ? undefined : heardAt - sentAt;
    } finally {
      await close(other);
    }
  }

  close(): Promise<void> {
    return close(this.#client);
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new PostgresClient({
    connectionString,
    application_name: 'jobtree doctor',
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
  });
  // What was asked fails, and says so.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** A connection that does not answer would not end by itself. */
async function close(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => destroySocket(client), 500);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
