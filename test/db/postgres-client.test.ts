/** A URL with several hosts leads to the primary among them, wherever it moves. */
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { destroySocket, PostgresClient } from '../../src/db/postgres-client.ts';
import { freePort } from '../support/ports.ts';
import {
  findPostgresPrograms,
  type InstalledPostgres,
  startInstalledPostgres,
} from '../support/postgres-programs.ts';

const programs = findPostgresPrograms();

describe.skipIf(programs === undefined)('a URL with several hosts', () => {
  let primary: InstalledPostgres;
  let standby: InstalledPostgres;
  /** Takes connections, and says nothing. */
  const silent = createServer((socket) => socket.resume());
  let url: string;
  beforeAll(async () => {
    primary = await startInstalledPostgres(programs as string);
    standby = await startInstalledPostgres(programs as string, {}, true);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const ports = [portIn(standby), port, await freePort(), portIn(primary)];
    url = `postgres://postgres@${ports.map((each) => `127.0.0.1:${each}`)}/postgres`;
  });
  afterAll(async () => {
    await primary.stop();
    await standby.stop();
    // Waits for all of its connections.
    await new Promise((resolve) => silent.close(resolve));
  });

  const portOf = async () => {
    const client = new PostgresClient({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query(
      `select current_setting('port') as port, pg_is_in_recovery() as recovers`,
    );
    return { ...rows[0], client };
  };
  const portIn = (of: InstalledPostgres) => new URL(of.url('')).port;

  it('leads to the primary: not to a standby, nor to one that is silent or gone', async () => {
    const { client, ...found } = await portOf();
    expect(found).toEqual({ port: portIn(primary), recovers: false });
    await client.end();
  });

  it('does not connect after all if it was given up while the primary was looked for', async () => {
    const client = new PostgresClient({ connectionString: url });
    const connected = client.connect();
    destroySocket(client);
    await expect(connected).rejects.toThrow('ended before it was open');
  });

  it('leads to the next primary when a connection to the one before has broken', async () => {
    const { client } = await portOf();
    const broken = new Promise((resolve) => client.once('error', resolve));
    await primary.stop();
    await broken;
    await expect(portOf()).rejects.toThrow(/standby|ECONNREFUSED|timeout/);
    const admin = new PostgresClient({ connectionString: standby.url('postgres') });
    await admin.connect();
    await admin.query('select pg_promote()');
    await admin.end();
    const { client: other, ...found } = await portOf();
    expect(found).toEqual({ port: portIn(standby), recovers: false });
    await other.end();
    primary = await startInstalledPostgres(programs as string);
  });
});
