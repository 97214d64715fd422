/**
 * Checks whether Postgres can do what a server needs, over a connection that nothing else uses: so the answer does not wait behind requests, and
 * tells overload from outage.
 */
import type pg from 'pg';
import { destroySocket, PostgresClient } from './postgres-client.ts';

/**
 * FULL: it answers, but has no free connection. CLOSED: it answers that it accepts none, since it starts, recovers or stops. READ_ONLY: it accepts
 * no writes. GONE: it does not answer.
 */
export type ProbeResult = 'OK' | 'FULL' | 'CLOSED' | 'READ_ONLY' | 'GONE';

const refusals: Readonly<Record<string, ProbeResult>> = {
  // too_many_connections
  '53300': 'FULL',
  // cannot_connect_now; admin_shutdown and crash_shutdown end a session that was open
  '57P03': 'CLOSED',
  '57P01': 'CLOSED',
  '57P02': 'CLOSED',
};

const answerMs = 2_000;

export class Probe {
  readonly #url: string;
  #client: pg.Client | undefined;
  #underWay: Promise<ProbeResult> | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** Concurrent callers get the same answer. */
  ask(): Promise<ProbeResult> {
    this.#underWay ??= this.#ask().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async close(): Promise<void> {
    await this.#underWay;
    const client = this.#client;
    this.#drop();
    await client?.end().catch(() => undefined);
  }

  async #ask(): Promise<ProbeResult> {
    try {
      this.#client ??= await this.#connect();
      const { rows } = await this.#client.query<{ setting: string }>(
        `select current_setting('transaction_read_only') as setting`,
      );
      return rows[0]?.setting === 'on' ? 'READ_ONLY' : 'OK';
    } catch (error) {
      if (this.#client !== undefined) destroySocket(this.#client);
      this.#drop();
      return refusals[(error as { code?: string }).code ?? ''] ?? 'GONE';
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = new PostgresClient({
      connectionString: this.#url,
      application_name: 'jobtree health',
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
      keepAlive: true,
    });
    // The next query finds out.
    client.on('error', () => {
      if (this.#client === client) this.#drop();
    });
    await client.connect();
    return client;
  }

  #drop(): void {
    this.#client = undefined;
  }
}
