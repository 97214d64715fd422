/** The pools of connections to Postgres, and what all of their connections have in common. */
import pg from 'pg';
import { PatientPool } from './patient-pool.ts';
import { destroySocket, PostgresClient } from './postgres-client.ts';

export interface PoolOptions {
  readonly url: string;
  /** How many connections operations may have. */
  readonly poolSize: number;
  /** How long a statement may take, in milliseconds. After that the call fails, and its connection is closed. */
  readonly timeoutMs: number;
  /** Whether statements are prepared by name. Default: true. */
  readonly preparedStatements?: boolean;
  /** Whether the URL is that of a pooler, which refuses session settings. Default: false. */
  readonly pooled?: boolean;
  /** Called when an idle connection breaks; the pool replaces it by itself. */
  readonly onIdleError: (error: Error) => void;
}

/**
 * Parsers for types where pg's own do not suit us: int8 as number (counts and positions stay far below 2^53), and arrays of ids, counts and
 * flags, which need no parser for quotes and nesting.
 */
const uuidArray = 2951;
const int8Array = 1016;
const boolArray = 1000;
const elements = (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(','));
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.INT8]: Number,
  [uuidArray]: elements,
  [int8Array]: (text) => elements(text).map(Number),
  [boolArray]: (text) => elements(text).map((element) => element === 't'),
};
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && parsers[oid]) ||
    pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
};

/** How long opening a connection may take. The pool's own timeout also covers waiting in its queue. */
const connectMs = 3_000;
const answerAfterRenewalMs = 1_000;
/** How long a statement may wait for a lock: an open transaction of somebody else must not hold it up for longer. */
const lockTimeoutMs = 1_000;
/** How often Postgres checks that the client of a statement is still connected. */
const connectionCheckMs = 10_000;

class PooledClient extends PostgresClient {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: connectMs });
  }
}

/** For poolers that change the session with each transaction: there a statement's name may be unknown, or mean another statement. */
class UnnamedStatementsClient extends PooledClient {
  // pg's own overloads say nothing that matters here: a query comes as text, or as an object that may have a name.
  // biome-ignore lint/suspicious/noExplicitAny: as above
  override query(query: any, ...rest: any[]): any {
    const unnamed = query?.name === undefined ? query : { ...query, name: undefined };
    return (super.query as (...args: unknown[]) => unknown)(unnamed, ...rest);
  }
}

/** Heartbeats of workers are sent together, two calls at a time. */
const leasesPoolSize = 2;

export class Pools {
  readonly operations: PatientPool;
  /** However many reads there are, they take no connections from writes. */
  readonly reads: PatientPool;
  /** For calls that keep leases alive, which nothing else may hold up. */
  readonly leases: PatientPool;
  readonly readsAtOnce: number;
  readonly #all: readonly PatientPool[];
  /** Every connection of the pools. */
  readonly #connections = new Map<pg.PoolClient, { readonly madeAt: number; calls: number; idle: boolean }>();

  constructor(options: PoolOptions) {
    const settings = settingsOf(options);
    const open = (max: number, name: string, more = '') =>
      new PatientPool({
        ...settings,
        ...('options' in settings && { options: settings.options + more }),
        max,
        application_name: name,
      });
    // What is kept as a statement finds rows by their keys, too, whatever Postgres knows of the tables.
    const byKeys = ' -c enable_seqscan=off';
    this.operations = open(options.poolSize, 'jobtree', byKeys);
    this.readsAtOnce = Math.max(2, Math.floor(options.poolSize / 2));
    this.reads = open(this.readsAtOnce, 'jobtree reads');
    this.leases = open(leasesPoolSize, 'jobtree leases', byKeys);
    this.#all = [this.leases, this.operations, this.reads];
    for (const pool of this.#all) this.#follow(pool, options.onIdleError);
  }

  /** Opens one connection of each pool, which stays open. Waits up to `waitMs` while Postgres has none free. */
  async open(waitMs: number): Promise<void> {
    for (const pool of this.#all) await pool.open(waitMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((pool) => pool.end()));
  }

  /**
   * Called when Postgres can be reached again after an outage that lasted until `before` (on the clock of `performance.now()`): connections made
   * before that may be dead without a sign. Ends those that idle, and those that do not get their answer soon; their calls fail, and may be
   * repeated.
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

  #follow(pool: PatientPool, onIdleError: PoolOptions['onIdleError']): void {
    pool.on('error', (error) => {
      // A pool ends before its connections do, and the embedded Postgres may stop in between.
      if (!pool.ending) onIdleError(error);
    });
    pool.on('connect', (client) => {
      this.#connections.set(client, { madeAt: performance.now(), calls: 0, idle: false });
    });
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
}

function settingsOf(options: PoolOptions) {
  // A connection may die silently: keepalive detects that for idle and waiting ones, the timeout for all.
  return {
    Client: options.preparedStatements === false ? UnnamedStatementsClient : PooledClient,
    connectionString: options.url,
    query_timeout: options.timeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types,
    ...(options.pooled !== true && {
      lock_timeout: lockTimeoutMs,
      // The same as in the functions for roles (prisma/roles.sql): Postgres discards plans made under another search_path. To compile a plan
      // takes longer than to execute it.
      options: '-c search_path=pg_catalog,pg_temp -c jit=off',
      statement_timeout: options.timeoutMs,
      onConnect: checkConnection,
    }),
    // So that a server that has been idle still has a connection when others have filled Postgres.
    min: 1,
  };
}

/** Makes Postgres check regularly that the client of a statement is still connected. Some of its operating systems can't do that. */
async function checkConnection(client: pg.ClientBase): Promise<void> {
  await client.query(`set client_connection_check_interval = ${connectionCheckMs}`).catch(() => undefined);
}
