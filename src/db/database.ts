/**
 * Access to Postgres. Operations call stored functions, or are statements, one round trip each; many reads of the API go through Prisma,
 * which is several times slower for one row but writes the joins. Operations, reads, and calls that keep leases alive have a pool each, so that
 * none of them takes the connections of another.
 */
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { BusyError } from '../errors.ts';
import { PrismaClient } from '../generated/prisma/client.ts';
import { groupOf } from './fair-queue.ts';
import { checkoutMs, PatientPool } from './patient-pool.ts';
import { asRefusal } from './sqlstate.ts';
import { type Request, Turns } from './turns.ts';

export interface DatabaseOptions {
  readonly url: string;
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

class PooledClient extends pg.Client {
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

/** An entry of the audit: who did what, to what, from where, with what outcome. */
export interface AuditRow {
  /** Identifies the attempt, which is entered only once. */
  readonly id: string;
  readonly actor: string;
  /** The actor's tenant; null for none. */
  readonly tenant: string | null;
  readonly action: string;
  readonly subjects: readonly string[];
  readonly address: string;
  readonly outcome: string;
}

/** What only servers do, and in one statement: it needs no stored function. */
export interface Statement {
  /** Unique: the statement is prepared by it. */
  readonly name: string;
  /** Tables that `text` reads or that change with it, as in WITH. */
  readonly first?: string;
  /** What is done. If it affects nothing it returns no row, and nothing is entered into the audit. */
  readonly text: string;
}

/** A read that may go through everything. */
export interface Survey extends pg.QueryConfig {
  /** How it must not be planned, whatever Postgres knows of the tables. */
  readonly without?: readonly ('seqscan' | 'bitmapscan' | 'hashjoin' | 'mergejoin')[];
}

/** What to set in the transaction of a survey. */
export const settingsOf = ({ without }: { readonly without?: Survey['without'] | undefined }): string =>
  without === undefined
    ? ''
    : ['jit = off', 'plan_cache_mode = force_generic_plan', ...without.map((kind) => `enable_${kind} = off`)]
        .map((setting) => `; set local ${setting}`)
        .join('');

/** A condition that is true: as a part of a statement it lets the commit return before it is on the disk. */
export const unflushed = "set_config('synchronous_commit', 'off', true) = 'off'";

/** What operations and reads need of a database: of the server's, or of one limited to a request. */
export interface Queries {
  readonly prisma: PrismaClient;
  readonly pool: {
    query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>>;
  };
  /**
   * Calls `jobtree.<name>`, or executes a statement, and returns its rows. JSON is passed as text, everything else as pg takes it. A call that fails without an answer
   * from Postgres, such as after the timeout, may have been executed.
   */
  call<Row extends object>(what: string | Statement, ...values: readonly unknown[]): Promise<Row[]>;
  /**
   * For reads that may go through everything. Of each caller one runs at a time, and of all together half as many as there may be reads. One
   * that takes longer than 10 s is ended with BUSY.
   */
  readonly surveys: {
    query<Row extends pg.QueryResultRow>(survey: Survey): Promise<pg.QueryResult<Row>>;
  };
  /** The same for calls that keep leases alive, which wait neither for reads nor for operations. */
  callForLeases<Row extends object>(what: string | Statement, ...values: readonly unknown[]): Promise<Row[]>;
  /** Does this and enters it into the audit: both happen, or neither. */
  callAudited<Row extends object>(
    entry: AuditRow,
    what: string | Statement,
    ...values: readonly unknown[]
  ): Promise<Row[]>;
  /** Enters an attempt into the audit, unless it is there already. */
  audit(entry: AuditRow): Promise<void>;
}

/** How long a write failure is remembered. Folds and sweeps go on writing, so they run into a lasting failure again. */
const writeFailureMs = 10_000;
const writeFailures: Readonly<Record<string, string>> = {
  '53100': 'its disk is full',
  '25006': 'it is read-only',
  '58030': 'its disk fails',
};
/** A read that takes longer than this has the turns of several. */
const turnMs = 10;
/** So long may a read of everything take. */
const surveyMs = 10_000;
/** Heartbeats of workers are sent together, two calls at a time. */
const leasesPoolSize = 2;

export class Database implements Queries {
  /** For reads, Prisma's included: however many there are, they take no connections from writes. */
  readonly pool: Pick<pg.Pool, 'query' | 'connect' | 'totalCount' | 'waitingCount'>;
  readonly #reads: PatientPool;
  readonly #readTurns: Turns;
  readonly #surveyTurns: Turns;
  readonly #surveyMs: number;
  /** Those that have not begun, by what they ask and of which tenant. */
  readonly #waitingSurveys = new Map<
    string,
    { readonly askers: Request[]; readonly answer: Promise<pg.QueryResult> }
  >();
  /**
   * Where operations of requests wait. Batches of claims and reports, and upkeep, do not: there are few of them, and a connection that becomes
   * free is theirs.
   */
  readonly #operationTurns: Turns;
  readonly #operations: PatientPool;
  /** For calls that keep leases alive, which nothing else may hold up. */
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
    // A connection may die silently: keepalive detects that for idle and waiting ones, the timeout for all.
    const connection = {
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
    const open = (max: number, name: string, settings = '') =>
      new PatientPool({
        ...connection,
        ...('options' in connection && { options: connection.options + settings }),
        max,
        application_name: name,
      });
    // What is kept as a statement finds rows by their keys, too, whatever Postgres knows of the tables.
    const byKeys = ' -c enable_seqscan=off';
    this.#operations = open(options.poolSize, 'jobtree', byKeys);
    this.#operationTurns = new Turns(options.poolSize, { waitMs: checkoutMs, isSerial: true });
    const readsAtOnce = Math.max(2, Math.floor(options.poolSize / 2));
    const reads = open(readsAtOnce, 'jobtree reads');
    this.pool = reads;
    this.#reads = reads;
    this.#readTurns = new Turns(readsAtOnce, { waitMs: checkoutMs, turnMs });
    this.#surveyTurns = new Turns(Math.floor(readsAtOnce / 2), { waitMs: checkoutMs, turnMs, ownAtOnce: 1 });
    this.#surveyMs = Math.min(surveyMs, options.timeoutMs);
    this.#leases = open(leasesPoolSize, 'jobtree leases', byKeys);
    this.#pools = [this.#leases, this.#operations, reads];
    for (const pool of this.#pools) {
      pool.on('error', (error) => {
        // A pool ends before its connections do, and the embedded Postgres may stop in between.
        if (!pool.ending) options.onIdleError(error);
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
    // Prisma prepares no named statements.
    this.prisma = new PrismaClient({
      adapter: new PrismaPg(reads),
      // These may be large, and are read separately.
      omit: { job: { feed: true }, schedule: { template: true } },
    });
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

  /** Opens one connection of each pool, which stays open. Waits up to `waitMs` while Postgres has none free. */
  async open(waitMs: number): Promise<void> {
    for (const pool of this.#pools) await pool.open(waitMs);
  }

  call<Row extends object>(what: string | Statement, ...values: readonly unknown[]): Promise<Row[]> {
    return this.#call(this.#operations, what, values);
  }

  readonly surveys: Queries['surveys'] = { query: (survey) => this.#survey(survey) };

  callForLeases<Row extends object>(what: string | Statement, ...values: readonly unknown[]): Promise<Row[]> {
    return this.#call(this.#leases, what, values);
  }

  callAudited<Row extends object>(
    entry: AuditRow,
    what: string | Statement,
    ...values: readonly unknown[]
  ): Promise<Row[]> {
    const count = values.length;
    // A data-modifying WITH is executed whether or not anything reads it.
    const { name, text } =
      typeof what === 'string'
        ? {
            name: `${what}/${count}`,
            text: `with audited as (${insertAudit(count)}) ${this.#statement(what, count)}`,
          }
        : {
            name: what.name,
            text: textOf({
              first: `${what.first ? `${what.first}, ` : ''}done as (${what.text}),
                audited as (${insertAudit(count, 'where exists (select from done)')})`,
              text: 'select * from done',
            }),
          };
    return this.#send(this.#operations, `audited ${name}`, text, [...values, ...auditValues(entry)]);
  }

  async audit(entry: AuditRow): Promise<void> {
    await this.#send(this.#operations, 'audit', insertAudit(0), auditValues(entry));
  }

  #call<Row extends object>(
    pool: pg.Pool,
    what: string | Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    if (typeof what !== 'string') return this.#send(pool, what.name, textOf(what), values);
    return this.#send(pool, `${what}/${values.length}`, this.#statement(what, values.length), values);
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

  async #survey<Row extends pg.QueryResultRow>({
    without,
    ...statement
  }: Survey): Promise<pg.QueryResult<Row>> {
    try {
      return await this.#reads.queryWithin<Row>(this.#surveyMs, statement, settingsOf({ without }));
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === '57014')
        throw new BusyError(
          `This took longer than ${Math.round(this.#surveyMs / 1_000)} seconds, and was ended: ask for less, such as by a narrower filter.`,
        );
      throw asRefusal(error);
    }
  }

  /** Why Postgres refuses writes, such as a full disk, if it did so within the last seconds. */
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
   * The database for one request: its operations and reads take turns with those of other clients, and are not sent once nobody waits for their
   * answers. Reads through Prisma are sent at once, since most follow a read that has waited its turn.
   */
  forRequest(request: Request): Queries {
    return {
      prisma: this.prisma,
      pool: { query: (statement) => this.#readTurns.run(request, () => this.pool.query(statement)) },
      call: (what, ...values) => this.#operationTurns.run(request, () => this.call(what, ...values)),
      surveys: { query: (survey) => this.#surveyInTurn(request, survey) },
      callForLeases: (what, ...values) => this.callForLeases(what, ...values),
      callAudited: (entry, what, ...values) =>
        this.#operationTurns.run(request, () => this.callAudited(entry, what, ...values)),
      audit: (entry) => this.audit(entry),
    };
  }

  /** Of a tenant, those that wait and ask the same are one. What has begun may have missed what was written since. */
  #surveyInTurn<Row extends pg.QueryResultRow>(
    request: Request,
    survey: Survey,
  ): Promise<pg.QueryResult<Row>> {
    const key = JSON.stringify([groupOf(request), survey.text, survey.values]);
    const known = this.#waitingSurveys.get(key);
    if (known !== undefined) {
      known.askers.push(request);
      return known.answer as Promise<pg.QueryResult<Row>>;
    }
    const askers = [request];
    let isOver = false;
    const end = () => {
      if (!isOver) this.#waitingSurveys.delete(key);
      isOver = true;
    };
    const isGone = () => {
      const areGone = askers.every((asker) => asker.isGone?.() === true);
      if (areGone) end();
      return areGone;
    };
    const all = { ...request, isGone };
    const answer = this.#surveyTurns.run(all, () =>
      this.#readTurns.run(all, () => {
        end();
        return this.surveys.query<Row>(survey);
      }),
    );
    if (isOver) return answer;
    this.#waitingSurveys.set(key, { askers, answer });
    // It may be refused, since it has waited for too long.
    answer.catch(end);
    return answer;
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

export const textOf = ({ first, text }: Omit<Statement, 'name'>): string =>
  first === undefined ? text : `with ${first} ${text}`;

/** `before` is the number of parameters that come before its own. */
function insertAudit(before: number, condition = ''): string {
  const [id, actor, tenant, action, subjects, address, outcome] = Array.from(
    { length: 7 },
    (_, i) => `$${before + i + 1}`,
  );
  return `insert into jobtree.audit_entry (id, at, actor, tenant, action, subjects, address, outcome)
    select ${id}::uuid, clock_timestamp(), ${actor}, ${tenant}, ${action}, ${subjects}::text[], ${address}, ${outcome} ${condition}
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

/** Makes Postgres check regularly that the client of a statement is still connected. Some of its operating systems can't do that. */
async function checkConnection(client: pg.ClientBase): Promise<void> {
  await client.query(`set client_connection_check_interval = ${connectionCheckMs}`).catch(() => undefined);
}

/** Unlike `end`, does not wait for an answer. */
export function destroySocket(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
