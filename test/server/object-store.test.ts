/** Uploads in an object store that is away, hangs, refuses or is another one than before; and servers that die between it and Postgres. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { Database } from '../../src/db/database.ts';
import { examineEverything } from '../../src/doctor/everything.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { Uploads } from '../../src/domain/files/uploads.ts';
import { S3Store } from '../../src/object-store/s3.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { startServer, startServerProcess } from '../support/server.ts';
import { type Swift, startSwift, withoutSwift } from '../support/swift.ts';
import { imported, postFile, sha256Of } from '../support/uploads.ts';

const tus = { 'tus-resumable': '1.0.0' };
const body = { ...tus, 'content-type': 'application/offset+octet-stream' };
const uuid = (id: string) => id.replace('Upload:', '');

describe.skipIf(withoutSwift)('uploads in an object store', () => {
  let swift: Swift;
  let db: TestDatabase;
  let proxy: TcpProxy;
  beforeAll(async () => {
    [swift, db] = await Promise.all([startSwift(), createDatabase()]);
    proxy = await startProxy(swift.url);
  });
  afterAll(async () => {
    await proxy?.close();
    await swift?.stop();
    await db?.drop();
  });

  async function serve(settings: Record<string, string> = {}, storeMs = 1_500): Promise<App> {
    const server = await startServer(db.url, settings, { times: { storeMs } });
    onTestFinished(() => server.close());
    return server;
  }
  /** With the store behind the proxy. */
  const viaProxy = () => swift.settings('files', proxy.url);

  const ask = async (
    { url }: { url: string },
    method: string,
    id: string,
    headers: Record<string, string> = tus,
    bytes?: Uint8Array,
  ) => {
    const response = await fetch(new URL(`api/uploads${id && `/${id}`}`, url), {
      method,
      headers,
      ...(bytes && { body: bytes as Uint8Array<ArrayBuffer> }),
    });
    const text = await response.text();
    const { status } = response;
    return { status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  const append = (server: { url: string }, id: string, offset: number, bytes: Uint8Array) =>
    ask(server, 'PATCH', id, { ...body, 'upload-offset': String(offset) }, bytes);
  const begin = async (server: { url: string }, length: number): Promise<string> => {
    const { headers } = await ask(server, 'POST', '', { ...tus, 'upload-length': String(length) });
    return headers.get('location')?.replace('uploads/', '') as string;
  };
  const complete = async (server: { url: string }, id: string) => (await ask(server, 'GET', id)).body;

  const client = (server: App) => {
    const made = createClient({ url: server.url });
    onTestFinished(() => made.close());
    return made;
  };
  const importState = async (jobId: string) => {
    const [row] = await db.query<{ leasedUntil: Date; attempts: number; items: number }>(
      `select leased_until as "leasedUntil", attempts, items::int from jobtree.file_import where job_id = $1`,
      [jobId.replace('Job:', '')],
    );
    return row;
  };

  it('are refused while it accepts no connections, leave nothing, and then work again', async () => {
    const server = await serve(viaProxy());
    const counted = async () =>
      (await db.query('select from jobtree.upload where removed_at is null')).length;
    const before = await counted();
    proxy.cut();
    const refused = await postFile(server.url, randomBytes(3_000_000));
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      503,
      {
        extensions: { code: 'UNAVAILABLE' },
        message: expect.stringContaining("The object store can't be reached"),
      },
    ]);
    expect(await counted()).toBe(before);
    const id = await begin(server, 10);
    expect((await append(server, id, 0, randomBytes(10))).status).toBe(503);
    proxy.mend();
    expect((await ask(server, 'HEAD', id)).headers.get('upload-offset')).toBe('0');
    expect((await append(server, id, 0, randomBytes(10))).status).toBe(204);
    expect((await postFile(server.url, randomBytes(3_000_000))).status).toBe(201);
  });

  it('are refused in time while it hangs, without delaying others or holding connections to Postgres', async () => {
    const inPostgres = await serve();
    const older = await begin(inPostgres, 20);
    const server = await serve(viaProxy(), 5_000);
    proxy.freeze();
    onTestFinished(() => proxy.mend());
    let answered = 0;
    const uploads = Array.from({ length: 20 }, () =>
      postFile(server.url, randomBytes(100_000)).finally(() => {
        answered += 1;
      }),
    );
    await expect
      .poll(async () => (await db.query('select from jobtree.upload where removed_at is null')).length)
      .toBeGreaterThan(16);
    // One of the uploads may just be looked up.
    await expect
      .poll(() =>
        db.query(
          `select query from pg_stat_activity
           where application_name like 'jobtree%' and datname = current_database()
             and (state like 'idle in transaction%' or state = 'active' and query like '%upload%')`,
        ),
      )
      .toEqual([]);
    expect(answered).toBe(0);
    expect((await append(server, older, 0, randomBytes(20))).status).toBe(204);
    const { id } = await client(server).createJob({ type: 'beside', sealed: true, items: [{ payload: 1 }] });
    expect((await client(server).job(id)).type).toBe('beside');
    for (const { status, body: answer } of await Promise.all(uploads))
      expect([status, answer.errors[0]]).toMatchObject([
        503,
        {
          extensions: { code: 'UNAVAILABLE' },
          message: expect.stringMatching(/did not answer|can't be reached/),
        },
      ]);
  });

  it('are refused while it answers 503, and work again afterwards', async () => {
    const server = await serve(viaProxy(), 10_000);
    const restore = await swift.loseObjects();
    const refused = await postFile(server.url, 'x');
    await restore();
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      503,
      {
        extensions: { code: 'UNAVAILABLE' },
        message: expect.stringContaining('The object store refused with 503'),
      },
    ]);
    expect((await postFile(server.url, 'x')).status).toBe(201);
  });

  it('are refused with the reason but no secret, if credentials or bucket are wrong', async () => {
    const right = process.env.AWS_SECRET_ACCESS_KEY;
    process.env.AWS_SECRET_ACCESS_KEY = 'wrong-secret';
    onTestFinished(() => {
      process.env.AWS_SECRET_ACCESS_KEY = right;
    });
    const server = await serve(viaProxy());
    const denied = await postFile(server.url, 'x');
    process.env.AWS_SECRET_ACCESS_KEY = right;
    expect([denied.status, denied.body.errors[0].message]).toEqual([
      503,
      'The object store refused with 403 SignatureDoesNotMatch. Nothing was done: try again.',
    ]);
    const nowhere = await serve({ ...viaProxy(), JOBTREE_UPLOAD_STORE_URL: 's3://nowhere' });
    const missing = await postFile(nowhere.url, 'x');
    expect([missing.status, missing.body.errors[0].message]).toMatchObject([
      503,
      'The object store refused with 404 NoSuchBucket. Nothing was done: try again.',
    ]);
  });

  it('have imports that wait for the store and say so, keep what they have, and continue', async () => {
    const server = await serve(viaProxy());
    // The third part is gone for a while.
    const lines = Array.from({ length: 600_000 }, (_, i) => `line-${i}`).join('\n');
    const { body: upload } = await postFile(server.url, lines);
    const [third] = (await swift.keys(`files/${uuid(upload.id)}/4`)) as [string];
    const bytes = await swift.read(third);
    await swift.remove(third);
    const { id } = await client(server).createJob({
      type: 'waits',
      file: { uploadId: upload.id, format: 'LINES' },
    });
    await expect
      .poll(async () => (await client(server).job(id)).import)
      .toMatchObject({
        status: 'WAITING',
        items: expect.any(Number),
        error: { code: 'STORE_UNAVAILABLE', message: 'The object store refused with 404 NoSuchKey.' },
      });
    expect((await client(server).job(id)).import?.items).toBeGreaterThan(300_000);
    await swift.write(third, bytes);
    expect((await imported(client(server), id)).import).toMatchObject({
      status: 'COMPLETED',
      items: 600_000,
      error: null,
    });
  });

  it('have imports that fail after an hour of waiting', async () => {
    const server = await serve(viaProxy());
    const { body: upload } = await postFile(server.url, 'a\nb\n');
    proxy.cut();
    onTestFinished(() => proxy.mend());
    const { id } = await client(server).createJob({
      type: 'in-vain',
      file: { uploadId: upload.id, format: 'LINES' },
    });
    await expect
      .poll(async () => (await client(server).job(id)).import?.error?.code)
      .toBe('STORE_UNAVAILABLE');
    await db.query(
      `update jobtree.file_import set store_away_at = store_away_at - interval '1 h', leased_until = now() where job_id = $1`,
      [id.replace('Job:', '')],
    );
    expect((await imported(client(server), id)).import).toMatchObject({
      status: 'FAILED',
      error: {
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining("The object store can't be reached"),
      },
    });
    await expect.poll(async () => (await client(server).job(id)).treeOutcome).toBe('FAILED');
  });

  it('have imports that hang without delaying those of files in Postgres', async () => {
    const inPostgres = await serve();
    const { body: older } = await postFile(inPostgres.url, 'a\nb\n');
    await inPostgres.close();
    const server = await serve(viaProxy(), 30_000);
    const { body: upload } = await postFile(server.url, 'a\n');
    proxy.freeze();
    const make = (uploadId: string) =>
      client(server).createJob({ type: 'hung', file: { uploadId, format: 'LINES' } });
    const hung = await Promise.all(Array.from({ length: 5 }, () => make(upload.id)));
    const leased = async () =>
      (
        await db.query('select from jobtree.file_import where leased_until > now() and job_id = any ($1)', [
          hung.map(({ id }) => id.replace('Job:', '')),
        ])
      ).length;
    await expect.poll(leased).toBe(4);
    expect((await imported(client(server), (await make(older.id)).id)).import?.items).toBe(2);
    expect(await leased()).toBe(4);
    // What is frozen stays so: its connections have to break.
    proxy.cut();
    proxy.mend();
    for (const { id } of hung)
      expect((await imported(client(server), id)).import).toMatchObject({ status: 'COMPLETED', items: 1 });
  });

  it('have imports that keep their lease while the store is slow', async () => {
    const server = await serve(viaProxy(), 9_000);
    const { body: upload } = await postFile(server.url, 'a\nb\n');
    proxy.freeze();
    onTestFinished(() => proxy.mend());
    const { id } = await client(server).createJob({
      type: 'slow',
      file: { uploadId: upload.id, format: 'LINES' },
    });
    await expect.poll(async () => (await importState(id))?.attempts).toBe(1);
    const first = (await importState(id))?.leasedUntil as Date;
    await expect
      .poll(async () => Number((await importState(id))?.leasedUntil), { timeout: 20_000 })
      .toBeGreaterThan(first.getTime());
    expect(await importState(id)).toMatchObject({ attempts: 1 });
    proxy.mend();
    expect((await imported(client(server), id)).import).toMatchObject({ status: 'COMPLETED', items: 2 });
  });

  it('stay where they began when new ones go elsewhere, and name a store that is not set', async () => {
    const former = await serve();
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => `row-${i}\n`).join(''));
    const older = await begin(former, bytes.length);
    await append(former, older, 0, bytes.subarray(0, 400_000));
    const server = await serve(viaProxy());
    expect((await append(server, older, 400_000, bytes.subarray(400_000))).status).toBe(204);
    expect(await complete(server, older)).toMatchObject({
      complete: true,
      sha256: sha256Of(bytes).toString('hex'),
    });
    expect(await swift.keys(`files/${uuid(older)}/`)).toEqual([]);
    const make = (uploadId: string) =>
      client(server).createJob({ type: 'moved', file: { uploadId, format: 'LINES' } });
    expect((await imported(client(server), (await make(older)).id)).import?.items).toBe(100_000);

    const newer = await begin(server, 4);
    await append(server, newer, 0, Buffer.from('a\n'));
    expect(await swift.keys(`files/${uuid(newer)}/`)).toHaveLength(1);
    const elsewhere = await append(former, newer, 2, Buffer.from('b\n'));
    expect([elsewhere.status, elsewhere.body.errors[0]]).toMatchObject([
      503,
      { extensions: { code: 'UNAVAILABLE' }, message: expect.stringContaining('JOBTREE_UPLOAD_STORE_URL') },
    ]);
    await append(server, newer, 2, Buffer.from('b\n'));
    await server.close();
    const { id } = await client(former).createJob({
      type: 'moved',
      file: { uploadId: newer, format: 'LINES' },
    });
    await expect
      .poll(async () => (await client(former).job(id)).import)
      .toMatchObject({
        status: 'WAITING',
        error: { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('not set to use') },
      });
    await serve(viaProxy());
    expect((await imported(client(former), id)).import).toMatchObject({ status: 'COMPLETED', items: 2 });
  });

  it('of the same part at once write both objects before the first row, and the loser removes its own', async () => {
    const server = await serve(viaProxy());
    const id = await begin(server, 5);
    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.upload where id = $1 for update', [uuid(id)]);
    const sending = [1, 2].map(() => append(server, id, 0, Buffer.from('bytes')));
    const keys = () => swift.keys(`files/${uuid(id)}/`);
    await expect.poll(async () => (await keys()).length, { interval: 10 }).toBe(2);
    await holder.query('commit');
    await holder.end();
    const statuses = (await Promise.all(sending)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([204, 409]);
    await expect.poll(async () => (await keys()).length).toBe(1);
    expect(await complete(server, id)).toMatchObject({ complete: true, size: 5 });
  });

  it('store nothing if a server is killed between object and row, and the object goes with the upload', async () => {
    const settings = swift.settings();
    const dying = await startServerProcess(db.url, { JOBTREE_LOG_LEVEL: 'warn', ...settings });
    onTestFinished(() => void dying.end('SIGKILL'));
    const id = await begin(dying, 5);
    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.upload where id = $1 for update', [uuid(id)]);
    const sending = append(dying, id, 0, Buffer.from('bytes')).catch(() => undefined);
    const keys = () => swift.keys(`files/${uuid(id)}/`);
    await expect.poll(async () => (await keys()).length, { interval: 10 }).toBe(1);
    await dying.end('SIGKILL');
    await sending;
    // What Postgres still waits to do for the dead server.
    await holder.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'`,
    );
    await holder.query('commit');
    await holder.end();
    const [orphan] = await keys();

    const server = await serve(settings);
    expect((await ask(server, 'HEAD', id)).headers.get('upload-offset')).toBe('0');
    expect((await append(server, id, 0, Buffer.from('other'))).status).toBe(204);
    expect(await complete(server, id)).toMatchObject({ sha256: sha256Of('other').toString('hex') });
    expect(await keys()).toHaveLength(2);
    expect((await ask(server, 'DELETE', id)).status).toBe(204);
    await expect.poll(keys, { timeout: 30_000 }).toEqual([]);
    // A part that comes late is seen by the last look, which is the one that ends the rows, too.
    await swift.write(orphan as string, Buffer.from('late'));
    await db.query(
      `update jobtree.upload set removed_at = removed_at - interval '10 min', expires_at = now() where id = $1`,
      [uuid(id)],
    );
    await expect
      .poll(() => db.query('select from jobtree.upload where id = $1', [uuid(id)]), { timeout: 60_000 })
      .toEqual([]);
    expect(await keys()).toEqual([]);
  });

  it('are removed in bounded turns, each continuing where the last one stopped', async () => {
    const settings = { ...swift.settings('turns'), DATABASE_URL: db.url };
    const database = new Database({ url: db.url, poolSize: 2, timeoutMs: 10_000, onIdleError: () => {} });
    const config = readConfig(settings).uploadStore;
    if (config === undefined) throw new Error('no store');
    const store = new S3Store({ config });
    onTestFinished(async () => {
      store.close();
      await database.close();
    });
    const uploads = new Uploads({ database, store, lifetimeMs: 60_000 });
    const { id } = await uploads.create({
      length: undefined,
      sha256: undefined,
      sender: { tenant: null, account: null },
      owner: {},
    });
    const count = 120;
    for (let i = 0; i < count; i += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, k) => swift.write(`turns/${id}/${i + k}-x`, Buffer.from('x'))),
      );
    const left = async () => (await swift.keys(`turns/${id}/`)).length;
    const signal = new AbortController().signal;
    const again = () =>
      db.query(`update jobtree.upload set expires_at = now() where id = $1 and removed_at is not null`, [id]);
    expect(await uploads.removeObjects(signal)).toBe(false);
    expect(await left()).toBe(count);

    await uploads.remove(id);
    const broken = new AbortController();
    const breaking = uploads.removeObjects(broken.signal);
    await expect.poll(left, { interval: 10 }).toBeLessThan(count);
    broken.abort();
    await expect(breaking).rejects.toThrow();
    // Another server is given it only when the lease is over.
    expect(await uploads.removeObjects(signal)).toBe(false);
    await again();
    const before = await left();
    expect(await uploads.removeObjects(signal)).toBe(true);
    expect(await left()).toBeLessThan(before);
    while ((await left()) > 0) await uploads.removeObjects(signal);
    // Empty, but too early to be sure.
    await uploads.removeObjects(signal);
    expect(await uploads.removeObjects(signal)).toBe(false);
    await db.query(`update jobtree.upload set removed_at = removed_at - interval '10 min' where id = $1`, [
      id,
    ]);
    await again();
    expect(await uploads.removeObjects(signal)).toBe(true);
    while (await uploads.prune());
    expect(await db.query('select from jobtree.upload where id = $1', [id])).toEqual([]);
  });

  it('are checked by the doctor: whether the store works, and which uploads are in another one', async () => {
    const findings = async (settings: Record<string, string>): Promise<Finding[]> => {
      const config = readConfig({ DATABASE_URL: db.url, ...settings });
      const found: Finding[] = [];
      await examineEverything(
        {
          config,
          databaseUrl: db.url,
          apiUrl: 'http://127.0.0.1:9/',
          isApiNamed: false,
          patienceMs: 300_000,
        },
        (finding) => found.push(finding),
      );
      return found.filter(({ check }) => check === 'uploads');
    };
    const server = await serve(swift.settings('elsewhere'));
    await postFile(server.url, 'x');
    const name = `s3://uploads/files at ${swift.url}`;
    const [fine, ...others] = await findings(swift.settings());
    expect(fine).toMatchObject({
      status: 'ok',
      message: expect.stringContaining(`${name} stores, returns, lists`),
    });
    expect(await swift.keys('files/doctor-')).toEqual([]);
    expect(others).toContainEqual(
      expect.objectContaining({
        status: 'warning',
        message: expect.stringContaining(`1 upload is in s3://uploads/elsewhere at ${swift.url}`),
      }),
    );
    const [missing] = await findings({ ...swift.settings(), JOBTREE_UPLOAD_STORE_URL: 's3://nowhere' });
    expect(missing).toMatchObject({
      status: 'sick',
      message: expect.stringContaining(
        'fails at s3:PutObject: The object store refused with 404 NoSuchBucket.',
      ),
      advice: 'Create the bucket, or correct JOBTREE_UPLOAD_STORE_URL.',
    });
    proxy.cut();
    onTestFinished(() => proxy.mend());
    const [away] = await findings(viaProxy());
    expect(away).toMatchObject({ status: 'sick', advice: expect.stringContaining('Bring it back') });
  });
});
