/**
 * The way to Postgres: operations call stored functions over a pool of named statements, one round trip each; the API's
 * reads go through Prisma, which is several times slower for one row and writes the joins.
 */
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../generated/prisma/client.ts';
import { noteFailedConnect } from './lost-connection.ts';
import { asRefusal, isRetryable } from './sqlstate.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  /** How long a statement may take. Without an answer in time the call fails, and its connection is thrown away. */
  readonly timeoutMs: number;
  /** Whether statements are prepared by name. Default: true. */
  readonly preparedStatements?: boolean;
  /** Whether the URL is that of a pooler, which refuses settings for a session. Default: false. */
  readonly pooled?: boolean;
  /** Told of connections that break while they idle; the pool replaces them by itself. */
  readonly onIdleError: (error: Error) => void;
}

/**
 * How values come from Postgres where pg's own way is not ours: int8 as number (counts and positions stay far below 2^53),
 * and arrays of ids and flags, whose text needs no parser that knows of quotes and nesting.
 */
const uuidArray = 2951;
const boolArray = 1000;
const elements = (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(','));
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.INT8]: Number,
  [uuidArray]: elements,
  [boolArray]: (text) => elements(text).map((element) => element === 't'),
};
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && parsers[oid]) ||
    pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
};

/** The pool's own timeout is for waiting in its queue, too; a connection that is not there by then never will be. */
const connectMs = 3_000;
const answerAfterRenewalMs = 1_000;
/** How long a statement may wait for a lock: nobody waits longer for what a stranger's open transaction holds. */
const lockTimeoutMs = 1_000;
/** How often Postgres looks whether the client of a statement is still there. */
const connectionCheckMs = 10_000;

class PooledClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: connectMs });
  }

  // The pool connects with a callback.
  // biome-ignore lint/suspicious/noExplicitAny: pg's own overloads say nothing that matters here
  override connect(callback?: any): any {
    if (callback === undefined) return super.connect();
    super.connect((error: Error) => {
      if (error) noteFailedConnect(error);
      callback(error);
    });
  }
}

/** For poolers that give each transaction another session, where a statement of that name may be unknown, or another. */
class UnnamedStatementsClient extends PooledClient {
  // pg's own overloads say nothing that matters here: a query comes as text, or as an object that may have a name.
  // biome-ignore lint/suspicious/noExplicitAny: as above
  override query(query: any, ...rest: any[]): any {
    const unnamed = query?.name === undefined ? query : { ...query, name: undefined };
    return (super.query as (...args: unknown[]) => unknown)(unnamed, ...rest);
  }
}

export class Database {
  readonly pool: pg.Pool;
  readonly #reads: pg.Pool;
  /** Every connection of the pools. */
  readonly #connections = new Map<pg.PoolClient, { readonly madeAt: number; calls: number; idle: boolean }>();
  readonly prisma: PrismaClient;
  readonly url: string;
  readonly #statements = new Map<string, string>();

  constructor(options: DatabaseOptions) {
    this.url = options.url;
    // A connection may die without a word: keepalive finds that out about one that idles or waits, the timeout about all.
    const connection: pg.PoolConfig & { Client: typeof pg.Client } = {
      Client: PooledClient,
      connectionString: options.url,
      connectionTimeoutMillis: 10_000,
      query_timeout: options.timeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...(options.pooled !== true && {
        lock_timeout: lockTimeoutMs,
        statement_timeout: options.timeoutMs,
        onConnect: checkConnection,
      }),
    };
    this.pool = new pg.Pool({
      ...connection,
      max: options.poolSize,
      types,
      application_name: 'jobtree',
      ...(options.preparedStatements === false && { Client: UnnamedStatementsClient }),
    });
    this.#reads = new pg.Pool({
      ...connection,
      max: Math.max(2, Math.floor(options.poolSize / 2)),
      application_name: 'jobtree reads',
    });
    for (const pool of [this.pool, this.#reads]) {
      pool.on('error', options.onIdleError);
      pool.on('connect', (client) =>
        this.#connections.set(client, { madeAt: Date.now(), calls: 0, idle: false }),
      );
      pool.on('acquire', (client) => {
        const connection = this.#connections.get(client);
        if (connection !== undefined) connection.idle = false;
      });
      pool.on('release', (_, client) => {
        const connection = this.#connections.get(client);
        if (connection === undefined) return;
        connection.idle = true;
        connection.calls++;
      });
      pool.on('remove', (client) => this.#connections.delete(client));
    }
    // It prepares nothing by name.
    this.prisma = new PrismaClient({ adapter: new PrismaPg(this.#reads) });
  }

  /**
   * Postgres can be reached again, and could not before that time: connections that were made before it may be dead without a
   * word. Ends those that idle, and those that do not get their answer soon; their calls fail, and may be repeated.
   */
  renewConnections(before: number): void {
    for (const [client, connection] of this.#connections) {
      if (connection.madeAt > before) continue;
      const { calls } = connection;
      if (connection.idle) destroySocket(client);
      else
        setTimeout(() => connection.calls === calls && destroySocket(client), answerAfterRenewalMs).unref();
    }
  }

  /**
   * Calls `jobtree.<name>` and returns its rows. JSON goes in as text, everything else as pg takes it. A call that fails
   * without an answer of Postgres, such as after the timeout, may have been carried out.
   */
  async call<Row extends object>(name: string, ...values: readonly unknown[]): Promise<Row[]> {
    const text = this.#statement(name, values.length);
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.pool.query<Row>({ name: `${name}/${values.length}`, text, values: [...values] }))
          .rows;
      } catch (error) {
        if (!isRetryable(error) || attempt === 5) throw asRefusal(error);
      }
    }
  }

  #statement(name: string, count: number): string {
    const key = `${name}/${count}`;
    let text = this.#statements.get(key);
    if (text === undefined) {
      const parameters = Array.from({ length: count }, (_, i) => `$${i + 1}`).join(', ');
      text = `select * from jobtree.${name}(${parameters})`;
      this.#statements.set(key, text);
    }
    return text;
  }

  async close(): Promise<void> {
    await this.prisma.$disconnect();
    await Promise.all([this.pool.end(), this.#reads.end()]);
  }
}

/** Has Postgres look now and then whether the client of a statement is still there. Not every system that it runs on can do that. */
async function checkConnection(client: pg.ClientBase): Promise<void> {
  await client.query(`set client_connection_check_interval = ${connectionCheckMs}`).catch(() => undefined);
}

/** `end` would wait for an answer. */
export function destroySocket(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
