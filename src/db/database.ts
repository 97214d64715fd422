/**
 * The way to Postgres: operations call stored functions over a pool of named statements, one round trip each; the API's
 * reads go through Prisma, which is several times slower for one row and writes the joins.
 */
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../generated/prisma/client.ts';
import { asRefusal, isRetryable } from './sqlstate.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  /** How long a statement may take. Without an answer in time the call fails, and its connection is thrown away. */
  readonly timeoutMs: number;
  /** Whether statements are prepared by name. Default: true. */
  readonly preparedStatements?: boolean;
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

/** For poolers that give each transaction another session, where a statement of that name may be unknown, or another. */
class UnnamedStatementsClient extends pg.Client {
  // pg's own overloads say nothing that matters here: a query comes as text, or as an object that may have a name.
  // biome-ignore lint/suspicious/noExplicitAny: as above
  override query(query: any, ...rest: any[]): any {
    const unnamed = query?.name === undefined ? query : { ...query, name: undefined };
    return (super.query as (...args: unknown[]) => unknown)(unnamed, ...rest);
  }
}

export class Database {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  readonly url: string;
  readonly #statements = new Map<string, string>();

  constructor(options: DatabaseOptions) {
    this.url = options.url;
    // A connection may die without a word: keepalive finds that out about one that idles or waits, the timeout about all.
    const connection: pg.PoolConfig = {
      connectionString: options.url,
      connectionTimeoutMillis: 10_000,
      query_timeout: options.timeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    };
    this.pool = new pg.Pool({
      ...connection,
      max: options.poolSize,
      types,
      application_name: 'jobtree',
      ...(options.preparedStatements === false ? { Client: UnnamedStatementsClient } : {}),
    });
    this.pool.on('error', options.onIdleError);
    // It prepares nothing by name.
    this.prisma = new PrismaClient({
      adapter: new PrismaPg(
        {
          ...connection,
          max: Math.max(2, Math.floor(options.poolSize / 2)),
          application_name: 'jobtree reads',
        },
        { onPoolError: options.onIdleError },
      ),
    });
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
    await Promise.all([this.pool.end(), this.prisma.$disconnect()]);
  }
}
