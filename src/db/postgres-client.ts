/**
 * A connection to Postgres: of several hosts in a URL to the primary, as libpq makes it with `target_session_attrs=primary`. pg itself takes one
 * host (https://github.com/brianc/node-postgres/pull/3643).
 */
import pg from 'pg';
import { eachHost } from '../config/postgres-url.ts';

/** How long a host may take to say what it is. */
const answerMs = 3_000;

/** Where the primary of some URLs is, until a connection to it fails or breaks. */
const primaries = new Map<string, Promise<Address>>();

interface Address {
  readonly host: string;
  readonly port: number;
}

export class PostgresClient extends pg.Client {
  readonly #urls: readonly string[];

  constructor(config: pg.ClientConfig = {}) {
    const urls = eachHost(config.connectionString ?? '');
    super({ ...config, connectionString: urls[0] as string });
    this.#urls = urls;
  }

  // pg's own overloads: returning a promise, or with a callback, as its pools call it.
  override connect(): Promise<this>;
  override connect(callback: (error?: Error) => void): void;
  override connect(callback?: (error?: Error) => void): Promise<this> | undefined {
    const connected = this.#urls.length === 1 ? super.connect() : this.#connectToPrimary();
    if (callback === undefined) return connected as Promise<this>;
    connected.then(() => callback(), callback);
    return undefined;
  }

  async #connectToPrimary(): Promise<this> {
    Object.assign(this, await primaryOf(this.#urls));
    const forget = () => primaries.delete(this.#urls.join());
    this.once('error', forget);
    const standsBy = watchForStandby(this);
    try {
      await super.connect();
      if (standsBy()) throw new StandbyError(this);
      return this;
    } catch (error) {
      forget();
      throw error;
    }
  }
}

class StandbyError extends Error {
  constructor({ host, port }: Address) {
    super(`${host}:${port} is a standby`);
  }
}

function primaryOf(urls: readonly string[]): Promise<Address> {
  const known = primaries.get(urls.join());
  if (known !== undefined) return known;
  const found = findPrimary(urls);
  primaries.set(urls.join(), found);
  found.catch(() => primaries.delete(urls.join()));
  return found;
}

/** Asks all hosts at once: one that is gone does not answer at all. */
async function findPrimary(urls: readonly string[]): Promise<Address> {
  const clients = urls.map(
    (connectionString) => new pg.Client({ connectionString, connectionTimeoutMillis: answerMs }),
  );
  try {
    return await Promise.any(
      clients.map(async (client) => {
        client.on('error', () => {});
        const standsBy = watchForStandby(client);
        await client.connect();
        if (standsBy()) throw new StandbyError(client);
        return { host: client.host, port: client.port };
      }),
    );
  } catch (error) {
    const errors = (error as AggregateError).errors as Error[];
    // One that starts, or is full, may be the primary.
    throw errors.find((each) => each instanceof pg.DatabaseError) ?? errors[0];
  } finally {
    for (const client of clients) destroySocket(client);
  }
}

/** Postgres says so as a session begins. */
function watchForStandby(client: pg.Client): () => boolean {
  let standsBy = false;
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter };
  connection.on('parameterStatus', (message: { parameterName: string; parameterValue: string }) => {
    if (message.parameterName === 'in_hot_standby') standsBy = message.parameterValue === 'on';
  });
  return () => standsBy;
}

/** Unlike `end`, does not wait for an answer. */
export function destroySocket(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
