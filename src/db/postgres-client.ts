/**
 * A connection to Postgres: of several hosts in a URL to the primary, as libpq makes it with `target_session_attrs=primary`. pg itself takes one
 * host (https://github.com/brianc/node-postgres/pull/3643).
 */
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import pg from 'pg';
import { withTimeout } from '../concurrency/with-timeout.ts';
import { eachHost } from '../config/postgres-url.ts';

/** How long a host may take to say what it is. */
const answerMs = 2_000;

/** Where the primary of some URLs is, until a connection to it fails or breaks. */
const primaries = new Map<string, Promise<Address>>();

interface Address {
  readonly host: string;
  readonly port: number;
}

export class PostgresClient extends pg.Client {
  readonly #urls: readonly string[];
  readonly #timeoutMs: number;

  constructor(config: pg.ClientConfig = {}) {
    const urls = eachHost(config.connectionString ?? '');
    super({ ...config, connectionString: urls[0] as string });
    this.#urls = urls;
    this.#timeoutMs = config.connectionTimeoutMillis || answerMs;
  }

  // pg's own overloads: returning a promise, or with a callback, as its pools call it.
  override connect(): Promise<this>;
  override connect(callback: (error: Error | null) => void): void;
  override connect(callback?: (error: Error | null) => void): Promise<this> | undefined {
    if (this.#urls.length > 1) {
      if (callback === undefined) return this.#connectToPrimary();
      callbackify(() => this.#connectToPrimary())(callback);
    } else {
      // At once: whoever listens for errors does so in the callback.
      if (callback === undefined) return super.connect() as Promise<this>;
      super.connect(callback as (error: Error) => void);
    }
    return undefined;
  }

  async #connectToPrimary(): Promise<this> {
    const found = primaryOf(this.#urls);
    const forget = () => forgetPrimary(this.#urls, found);
    // Also for whoever does not listen for errors yet.
    this.on('error', forget);
    Object.assign(this, await withTimeout(this.#timeoutMs, found));
    if (socketOf(this).destroyed) throw new Error('The connection was ended before it was open.');
    const standsBy = watchForStandby(this);
    try {
      await super.connect();
      if (standsBy()) throw new StandbyError(this);
      return this;
    } catch (error) {
      forget();
      destroySocket(this);
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
  found.catch(() => forgetPrimary(urls, found));
  return found;
}

/** Unless it was looked for again since. */
function forgetPrimary(urls: readonly string[], found: Promise<Address>): void {
  if (primaries.get(urls.join()) === found) primaries.delete(urls.join());
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
  socketOf(client).destroy();
}

const socketOf = (client: pg.ClientBase) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;
