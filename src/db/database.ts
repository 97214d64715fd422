/**
 * Access to Postgres. Operations call stored functions, or are statements, one round trip each; many reads of the API go through Prisma,
 * which is several times slower for one row but writes the joins. Operations, reads, and calls that keep leases alive have a pool each, so that
 * none of them takes the connections of another.
 */
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { FairSemaphore, type Request } from '../concurrency/fair-semaphore.ts';
import { PrismaClient } from '../generated/prisma/client.ts';
import { checkoutMs } from './patient-pool.ts';
import { type PoolOptions, Pools } from './pools.ts';
import { asRefusal } from './sqlstate.ts';
import { type Survey, Surveys, turnMs } from './surveys.ts';

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

export class Database implements Queries {
  /** For reads, Prisma's included: however many there are, they take no connections from writes. */
  readonly pool: Pick<pg.Pool, 'query' | 'connect' | 'totalCount' | 'waitingCount'>;
  readonly surveys: Surveys;
  readonly #pools: Pools;
  readonly #readTurns: FairSemaphore;
  /**
   * Where operations of requests wait. Batches of claims and reports, and upkeep, do not: there are few of them, and a connection that becomes
   * free is theirs.
   */
  readonly #operationTurns: FairSemaphore;
  readonly prisma: PrismaClient;
  readonly url: string;
  #writeFailure: { at: number; reason: string | undefined } = { at: 0, reason: undefined };
  readonly #statements = new Map<string, string>();

  constructor(options: PoolOptions) {
    this.url = options.url;
    this.#pools = new Pools(options);
    const { reads, readsAtOnce } = this.#pools;
    this.pool = reads;
    this.#operationTurns = new FairSemaphore(options.poolSize, { waitMs: checkoutMs, isSerial: true });
    this.#readTurns = new FairSemaphore(readsAtOnce, { waitMs: checkoutMs, turnMs });
    this.surveys = new Surveys(reads, this.#readTurns, Math.floor(readsAtOnce / 2), options.timeoutMs);
    // Prisma prepares no named statements.
    this.prisma = new PrismaClient({
      adapter: new PrismaPg(reads),
      // These may be large, and are read separately.
      omit: { job: { feed: true }, schedule: { template: true } },
    });
  }

  /** Opens one connection of each pool, which stays open. Waits up to `waitMs` while Postgres has none free. */
  open(waitMs: number): Promise<void> {
    return this.#pools.open(waitMs);
  }

  /** Called when Postgres can be reached again after an outage that lasted until `before`: see `Pools`. */
  renewConnections(before: number): void {
    this.#pools.renewConnections(before);
  }

  call<Row extends object>(what: string | Statement, ...values: readonly unknown[]): Promise<Row[]> {
    return this.#call(this.#pools.operations, what, values);
  }

  callForLeases<Row extends object>(what: string | Statement, ...values: readonly unknown[]): Promise<Row[]> {
    return this.#call(this.#pools.leases, what, values);
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
    return this.#send(this.#pools.operations, `audited ${name}`, text, [...values, ...auditValues(entry)]);
  }

  async audit(entry: AuditRow): Promise<void> {
    await this.#send(this.#pools.operations, 'audit', insertAudit(0), auditValues(entry));
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
      this.#recordWriteFailure(error);
      throw asRefusal(error);
    }
  }

  /** Why Postgres refuses writes, such as a full disk, if it did so within the last seconds. */
  get writeFailure(): string | undefined {
    const { at, reason } = this.#writeFailure;
    return performance.now() - at < writeFailureMs ? reason : undefined;
  }

  #recordWriteFailure(error: unknown): void {
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
      surveys: { query: (survey) => this.surveys.queryInTurn(request, survey) },
      callForLeases: (what, ...values) => this.callForLeases(what, ...values),
      callAudited: (entry, what, ...values) =>
        this.#operationTurns.run(request, () => this.callAudited(entry, what, ...values)),
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
    await this.#pools.close();
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
