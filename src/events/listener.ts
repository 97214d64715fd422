/**
 * The connection that LISTENs. It is pinged, since a half-open socket raises nothing; whatever goes wrong, it is thrown
 * away and a new one made, with backoff. After each (re)connect comes an epoch: who listens must re-read what it watches,
 * since notifications were lost in between.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';

export interface ListenerOptions {
  readonly url: string;
  readonly channels: Readonly<Record<string, (payload: string) => void>>;
  readonly onEpoch: () => void;
  readonly logger: Logger;
}

const pingEveryMs = 2_000;
const pingTimeoutMs = 2_000;
const backoffMs = [100, 250, 500, 1_000, 2_000];

export class Listener {
  readonly #options: ListenerOptions;
  readonly #stopped = new AbortController();
  #loop: Promise<void> | undefined;
  #client: pg.Client | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Resolves once the first connection listens. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#loop = this.#keepListening(resolve);
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#client?.end().catch(() => undefined);
    await this.#loop;
  }

  async #keepListening(onFirst: () => void): Promise<void> {
    for (let failures = 0; !this.#stopped.signal.aborted; failures++) {
      try {
        await this.#listen(() => {
          failures = 0;
          onFirst();
          this.#options.onEpoch();
        });
      } catch (error) {
        if (!this.#stopped.signal.aborted)
          this.#options.logger.warn({ err: error }, 'listening to Postgres failed');
      }
      const pause = (backoffMs[failures] ?? 2_000) * (0.5 + Math.random());
      await delay(pause, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }

  /** Anybody who may connect to the database may notify: what can't be read is not ours. */
  #receive(channel: string, payload: string): void {
    try {
      this.#options.channels[channel]?.(payload);
    } catch (error) {
      this.#options.logger.warn({ err: error, channel }, 'a notification could not be read');
    }
  }

  /** Listens until the connection fails. */
  async #listen(onReady: () => void): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'jobtree listener',
      connectionTimeoutMillis: 5_000,
      query_timeout: pingTimeoutMs,
      keepAlive: true,
    });
    this.#client = client;
    const failed = new Promise<never>((_, reject) => {
      client.on('error', reject);
      client.on('end', () => reject(new Error('the connection ended')));
    });
    failed.catch(() => undefined);
    client.on('notification', ({ channel, payload }) => this.#receive(channel, payload ?? ''));
    try {
      await client.connect();
      for (const channel of Object.keys(this.#options.channels))
        await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      onReady();
      for (;;) {
        await Promise.race([delay(pingEveryMs, undefined, { signal: this.#stopped.signal }), failed]);
        await Promise.race([client.query('select 1'), failed]);
      }
    } finally {
      client.end().catch(() => undefined);
    }
  }
}
