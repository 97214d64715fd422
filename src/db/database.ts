/**
 * The way to Postgres: operations call stored functions by named statements, one round trip each; many of the API's reads go
 * through Prisma, which is several times slower for one row and writes the joins. Operations, reads and what keeps leases alive
 * have a pool each, so that none of them takes the connections of another.
 */
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../generated/prisma/client.ts';
import { checkoutMs, PatientPool } from './patient-pool.ts';
import { asRefusal } from './sqlstate.ts';
import { type Request, Turns } from './turns.ts';

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
 * and arrays of ids, counts and flags, whose text needs no parser that knows of quotes and nesting.
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

/** A connection that is not there by then never will be; the pool's own timeout is for waiting in its queue, too. */
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

/** Who does what, to what, from where, and what came of it, for the audit. */
export interface AuditRow {
  /** Of the attempt: it stands there once. */
  readonly id: string;
  readonly actor: string;
  /** That of the actor; null for none. */
  readonly tenant: string | null;
  readonly action: string;
  readonly subjects: readonly string[];
  readonly address: string;
  readonly outcome: string;
}

/** What operations and reads ask of a database: that of the server, or of one request. */
export interface Queries {
  readonly prisma: PrismaClient;
  readonly pool: {
    query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>>;
  };
  /**
   * Calls `jobtree.<name>` and returns its rows. JSON goes in as text, everything else as pg takes it. A call that fails
   * without an answer of Postgres, such as after the timeout, may have been carried out.
   */
  call<Row extends object>(name: string, ...values: readonly unknown[]): Promise<Row[]>;
  /** The same for what keeps leases alive: it waits neither for reads nor for operations. */
  callForLeases<Row extends object>(name: string, ...values: readonly unknown[]): Promise<Row[]>;
  /** Calls a function and adds to the audit that it was called: both, or neither. */
  callAudited<Row extends object>(
    entry: AuditRow,
    name: string,
    ...values: readonly unknown[]
  ): Promise<Row[]>;
  /** Adds to the audit, unless the attempt stands there already. */
  audit(entry: AuditRow): Promise<void>;
}

/** Folds and sweeps go on meanwhile, so a failure that lasts is met again. */
const writeFailureMs = 10_000;
const writeFailures: Readonly<Record<string, string>> = {
  '53100': 'its disk is full',
  '25006': 'it is read-only',
  '58030': 'its disk fails',
};
/** Beats of workers go there together, two calls at a time. */
const leasesPoolSize = 2;

export class Database implements Queries {
  /** For reads, Prisma's too: however many there are, they take no connection from what writes. */
  readonly pool: Pick<pg.Pool, 'query' | 'connect' | 'totalCount' | 'waitingCount'>;
  readonly #readTurns: Turns;
  readonly #operations: PatientPool;
  /** For what keeps leases alive, which nothing else may hold up. */
  readonly #leases: PatientPool;
  readonly #pools: readonly PatientPool[];
  /** Every connection of the pools. */
  readonly #connections = new Map<pg.PoolClient, { readonly madeAt: number; calls: number; idle: boolean }>();
  readonly prisma: PrismaClient;
  readonly url: string;
  #writeFailure: { at: number; reason: string | undefined } = { at: 0, reason: undefined };
  readonly #statements = new Map<string, string>();

  constructor(options: DatabaseOptions) {
    this.url = options.url;
    // A connection may die without a word: keepalive finds that out about one that idles or waits, the timeout about all.
    const connection = {
      Client: options.preparedStatements === false ? UnnamedStatementsClient : PooledClient,
      connectionString: options.url,
      query_timeout: options.timeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types,
      ...(options.pooled !== true && {
        lock_timeout: lockTimeoutMs,
        // As the functions for roles have it (prisma/roles.sql): Postgres plans anew what was planned under another one.
        options: '-c search_path=pg_catalog,pg_temp',
        statement_timeout: options.timeoutMs,
        onConnect: checkConnection,
      }),
      // So that a server which has nothing to do for a while finds one when Postgres is full of others.
      min: 1,
    };
    const open = (max: number, name: string) =>
      new PatientPool({ ...connection, max, application_name: name });
    this.#operations = open(options.poolSize, 'jobtree');
    const readsAtOnce = Math.max(2, Math.floor(options.poolSize / 2));
    const reads = open(readsAtOnce, 'jobtree reads');
    this.pool = reads;
    this.#readTurns = new Turns(readsAtOnce, { waitMs: checkoutMs });
    this.#leases = open(leasesPoolSize, 'jobtree leases');
    this.#pools = [this.#leases, this.#operations, reads];
    for (const pool of this.#pools) {
      pool.on('error', (error) => {
        // It ends before its connections do, and the embedded Postgres may be stopped meanwhile.
        if (!pool.ending) options.onIdleError(error);
      });
      pool.on('connect', (client) => {
        this.#connections.set(client, { madeAt: performance.now(), calls: 0, idle: false });
        // One that breaks while it is in use says so twice: what it was asked fails, and that is enough.
        client.on('error', () => {});
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
    // It prepares nothing by name.
    this.prisma = new PrismaClient({
      adapter: new PrismaPg(reads),
      // They may be large, and are read by themselves.
      omit: { job: { feed: true }, schedule: { template: true } },
    });
  }

  /**
   * Postgres can be reached again, and could not before that time (of `performance.now()`): connections that were made before it may be dead without a
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

  /** Opens a connection of each pool, which stays; waits for it for so long while Postgres has none to give. */
  async open(waitMs: number): Promise<void> {
    for (const pool of this.#pools) await pool.open(waitMs);
  }

  call<Row extends object>(name: string, ...values: readonly unknown[]): Promise<Row[]> {
    return this.#call(this.#operations, name, values);
  }

  callForLeases<Row extends object>(name: string, ...values: readonly unknown[]): Promise<Row[]> {
    return this.#call(this.#leases, name, values);
  }

  callAudited<Row extends object>(
    entry: AuditRow,
    name: string,
    ...values: readonly unknown[]
  ): Promise<Row[]> {
    // What is written in a WITH is written whether or not anything reads it.
    const text = `with audited as (${insertAudit(values.length)}) ${this.#statement(name, values.length)}`;
    return this.#send(this.#operations, `audited ${name}/${values.length}`, text, [
      ...values,
      ...auditValues(entry),
    ]);
  }

  async audit(entry: AuditRow): Promise<void> {
    await this.#send(this.#operations, 'audit', insertAudit(0), auditValues(entry));
  }

  #call<Row extends object>(pool: pg.Pool, name: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#send(pool, `${name}/${values.length}`, this.#statement(name, values.length), values);
  }

  async #send<Row extends object>(
    pool: pg.Pool,
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    try {
      return (await pool.query<Row>({ name, text, values: [...values] })).rows;
    } catch (error) {
      this.#noteWriteFailure(error);
      throw asRefusal(error);
    }
  }

  /** Why Postgres refuses what is written, if it did so within the last seconds: such as a disk that is full. */
  get writeFailure(): string | undefined {
    const { at, reason } = this.#writeFailure;
    return performance.now() - at < writeFailureMs ? reason : undefined;
  }

  #noteWriteFailure(error: unknown): void {
    const state = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
    const reason = writeFailures[state];
    if (reason !== undefined) this.#writeFailure = { at: performance.now(), reason };
  }

  /**
   * For a request: its reads come by turns with those of other clients, and of other requests of its client; and they are not sent any more
   * once nobody waits for their answers. What Prisma reads comes after one of them, mostly, and goes at once.
   */
  forRequest(request: Request): Queries {
    return {
      prisma: this.prisma,
      pool: { query: (statement) => this.#readTurns.run(request, () => this.pool.query(statement)) },
      call: (name, ...values) => this.call(name, ...values),
      callForLeases: (name, ...values) => this.callForLeases(name, ...values),
      callAudited: (entry, name, ...values) => this.callAudited(entry, name, ...values),
      audit: (entry) => this.audit(entry),
    };
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
    await Promise.all(this.#pools.map((pool) => pool.end()));
  }
}

/** With so many parameters before its own. */
function insertAudit(before: number): string {
  const [id, actor, tenant, action, subjects, address, outcome] = Array.from(
    { length: 7 },
    (_, i) => `$${before + i + 1}`,
  );
  return `insert into jobtree.audit_entry (id, at, actor, tenant, action, subjects, address, outcome)
    values (${id}::uuid, clock_timestamp(), ${actor}, ${tenant}, ${action}, ${subjects}::text[], ${address}, ${outcome})
    on conflict (id) do nothing`;
}

const auditValues = ({ id, actor, tenant, action, subjects, address, outcome }: AuditRow) => [
  id,
  actor,
  tenant,
  action,
  subjects,
  address,
  outcome,
];

/** Has Postgres look now and then whether the client of a statement is still there. Not every system that it runs on can do that. */
async function checkConnection(client: pg.ClientBase): Promise<void> {
  await client.query(`set client_connection_check_interval = ${connectionCheckMs}`).catch(() => undefined);
}

/** `end` would wait for an answer. */
export function destroySocket(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
