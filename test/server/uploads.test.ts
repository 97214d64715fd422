/** Files that come over HTTP: in one request, or by tus with the client that others use. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { Upload as TusUpload } from 'tus-js-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { request as graphql } from '../support/api.ts';
import { closed } from '../support/closed.ts';
import { startProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { storeKinds, useStore } from '../support/stores.ts';
import { digestField, postFile, sha256Of } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';

describe.each(storeKinds)('uploads in %s', (kind) => {
  const store = useStore(kind);
  const server = useServer(() => ({
    JOBTREE_MAX_UPLOAD_BYTES: '5000000',
    JOBTREE_UPLOAD_LIFETIME_MS: '3600000',
    JOBTREE_ALLOWED_ORIGINS: 'https://app.example.com',
    ...store.settings,
  }));

  const tus = { 'tus-resumable': '1.0.0' };
  const body = { ...tus, 'content-type': 'application/offset+octet-stream' };
  const address = (path = '') => new URL(`api/uploads${path}`, server.url);

  async function ask(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    bytes?: Uint8Array | string,
  ) {
    const response = await fetch(address(path), { method, headers, ...(bytes && { body: bytes as string }) });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  async function begin(length: number, headers: Record<string, string> = {}): Promise<string> {
    const { status, headers: answered } = await ask('POST', '', {
      ...tus,
      'upload-length': String(length),
      ...headers,
    });
    expect(status).toBe(201);
    return (answered.get('location') as string).replace('uploads', '');
  }

  /** What is stored of an upload, as it is read for an import. */
  async function stored(id: string): Promise<Buffer> {
    const key = id.replace('Upload:', '');
    const rows = await server.db.query<{ data?: Buffer; name?: string }>(
      store.swift === undefined
        ? 'select data from jobtree.upload_part where upload_id = $1 order by position'
        : 'select name from jobtree.upload_part where upload_id = $1 order by position',
      [key],
    );
    const parts = rows.map(
      ({ data, name }) => data ?? store.swift?.read(`files/${key}/${name}`) ?? Buffer.alloc(0),
    );
    return Buffer.concat(await Promise.all(parts));
  }

  const uploads = async () =>
    (await server.db.query('select id from jobtree.upload where removed_at is null')).length;

  it.each([
    ['a name', 'people.csv', 'people.csv'],
    ['any text', 'Größe 📏, "neu".csv', 'Größe 📏, "neu".csv'],
    ['255 characters of a longer one', '📏'.repeat(300), '📏'.repeat(255)],
    ['what can be shown of it', '\u0000a\nb\u0000', 'a b'],
    ['nothing, without it', undefined, null],
  ])('keeps of the name of a file that tus sends: %s', async (_, sent, kept) => {
    const metadata = sent && {
      'upload-metadata': `type dGV4dA==,filename ${Buffer.from(sent).toString('base64')}`,
    };
    const id = await begin(1, metadata || {});
    const { uploads: listed } = (await graphql(server.url, '{ uploads { nodes { id name } } }')).data;
    expect(listed.nodes.find((one: { id: string }) => id.endsWith(one.id))).toEqual({
      id: id.slice(1),
      name: kept,
    });
    const { headers } = await ask('HEAD', id, tus);
    expect(headers.get('upload-metadata')).toBe(
      kept === null ? null : `filename ${Buffer.from(kept).toString('base64')}`,
    );
  });

  it('a POST returns id, size and SHA-256, and stores the body', async () => {
    const bytes = randomBytes(1_300_000);
    const { status, body: answer, headers } = await postFile(server.url, bytes);
    expect(status).toBe(201);
    expect(answer).toEqual({
      id: expect.stringMatching(/^Upload:[0-9a-f-]{36}$/),
      size: bytes.length,
      sha256: sha256Of(bytes).toString('hex'),
      complete: true,
      expiresAt: expect.any(String),
    });
    expect(headers.get('location')).toBe(`uploads/${answer.id}`);
    expect(headers.get('repr-digest')).toBe(digestField(sha256Of(bytes)));
    expect((await stored(answer.id)).equals(bytes)).toBe(true);
    expect((await ask('GET', `/${answer.id}`)).body).toEqual(answer);
    const empty = await postFile(server.url, '');
    expect(empty.body).toMatchObject({ size: 0, sha256: sha256Of('').toString('hex') });
  });

  it('a body without a length is stored', async () => {
    const bytes = randomBytes(900_000);
    const response = await fetch(address(), {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body: Readable.toWeb(Readable.from([bytes.subarray(0, 7), bytes.subarray(7)])) as ReadableStream,
      duplex: 'half',
    } as RequestInit);
    expect(await response.json()).toMatchObject({
      size: bytes.length,
      sha256: sha256Of(bytes).toString('hex'),
    });
  });

  it.each(['repr-digest', 'content-digest'])(
    'a %s is verified, and a wrong one leaves nothing',
    async (name) => {
      const bytes = randomBytes(600_000);
      const others = `md5=:AAAA:, ${digestField(sha256Of(bytes))}`;
      expect((await postFile(server.url, bytes, { [name]: others })).status).toBe(201);
      const before = await uploads();
      const wrong = await postFile(server.url, bytes, { [name]: digestField(sha256Of('another')) });
      expect([wrong.status, wrong.body.errors[0].extensions.code]).toEqual([422, 'DIGEST_MISMATCH']);
      const unknown = await postFile(server.url, bytes, { [name]: 'sha-512=:AAAA:' });
      expect([unknown.status, unknown.body.errors[0].extensions]).toMatchObject([
        400,
        { code: 'INVALID_INPUT', field: name },
      ]);
      expect(await uploads()).toBe(before);
    },
  );

  it('too large a body is refused before or during the upload, and leaves nothing', async () => {
    const before = await uploads();
    const known = await postFile(server.url, randomBytes(5_000_001));
    expect([known.status, known.body.errors[0].extensions.code]).toEqual([413, 'LIMIT_EXCEEDED']);
    const chunks = Array.from({ length: 60 }, () => randomBytes(100_000));
    const response = await fetch(address(), {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body: Readable.toWeb(Readable.from(chunks)) as ReadableStream,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
    await response.text();
    const tusAnswer = await ask('POST', '', { ...tus, 'upload-length': '5000001' });
    expect([tusAnswer.status, tusAnswer.body.errors[0].extensions.code]).toEqual([413, 'LIMIT_EXCEEDED']);
    await expect.poll(uploads).toBe(before);
  });

  it('a POST that is cut off leaves nothing', async () => {
    const before = await uploads();
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /api/uploads HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: text/csv\r\ncontent-length: 2000000\r\n\r\n`,
    );
    socket.write(randomBytes(900_000));
    await expect.poll(uploads).toBe(before + 1);
    socket.destroy();
    await expect.poll(uploads).toBe(before);
  });

  it('an upload that is cut off resumes where it was, with the digest of the whole', async () => {
    const bytes = randomBytes(4_000_000);
    const path = await begin(bytes.length, { 'repr-digest': digestField(sha256Of(bytes)) });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `PATCH /api/uploads${path} HTTP/1.1\r\nhost: ${hostname}\r\ntus-resumable: 1.0.0\r\nupload-offset: 0\r\ncontent-type: application/offset+octet-stream\r\ncontent-length: 4000000\r\n\r\n`,
    );
    await new Promise((resolve) => socket.write(bytes.subarray(0, 3_234_567), resolve));
    const offset = async () => Number((await ask('HEAD', path, tus)).headers.get('upload-offset'));
    await expect.poll(offset).toBeGreaterThan(1_000_000);
    socket.destroy();
    // What had come of the last chunk is kept, too.
    await expect.poll(offset).toBe(3_234_567);

    const tooFar = await ask(
      'PATCH',
      path,
      { ...body, 'upload-offset': '3300000' },
      bytes.subarray(3_300_000),
    );
    expect([tooFar.status, tooFar.body.errors[0].extensions.code]).toEqual([409, 'OFFSET_CONFLICT']);
    const rest = await ask('PATCH', path, { ...body, 'upload-offset': '3234567' }, bytes.subarray(3_234_567));
    expect([rest.status, rest.headers.get('upload-offset')]).toEqual([204, '4000000']);
    expect((await ask('GET', path)).body).toMatchObject({
      complete: true,
      sha256: sha256Of(bytes).toString('hex'),
    });
    const again = await ask('PATCH', path, { ...body, 'upload-offset': '4000000' }, bytes.subarray(0, 10));
    expect(again.status).toBe(409);
  });

  it('of two callers that send the same part at once, one stores it', async () => {
    const bytes = randomBytes(700_000);
    const path = await begin(bytes.length);
    const statuses = await Promise.all(
      [1, 2].map(async () => (await ask('PATCH', path, { ...body, 'upload-offset': '0' }, bytes)).status),
    );
    expect(statuses.toSorted()).toEqual([204, 409]);
    expect((await ask('GET', path)).body).toMatchObject({
      complete: true,
      sha256: sha256Of(bytes).toString('hex'),
    });
  });

  it('an upload that stalls is cut off, and its bytes are kept', async () => {
    const impatient = await startServer(server.db.url, store.settings, { times: { stalledAfterMs: 300 } });
    onTestFinished(() => impatient.close());
    const path = await begin(10_000);
    const { hostname, port } = new URL(impatient.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      `PATCH /api/uploads${path} HTTP/1.1\r\nhost: ${hostname}\r\ntus-resumable: 1.0.0\r\nupload-offset: 0\r\ncontent-type: application/offset+octet-stream\r\ncontent-length: 10000\r\n\r\n${'x'.repeat(1_000)}`,
    );
    await closed(socket);
    await expect.poll(async () => (await ask('HEAD', path, tus)).headers.get('upload-offset')).toBe('1000');
  });

  it('the rest of a request that was answered early is read only for a limited time', async () => {
    const impatient = await startServer(server.db.url, store.settings, { times: { stalledAfterMs: 300 } });
    onTestFinished(() => impatient.close());
    const { hostname, port } = new URL(impatient.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      `POST /api/jobs/x/results HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n`,
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1.1 405/);
    const drip = setInterval(() => socket.write('x'), 20);
    await closed(socket);
    clearInterval(drip);
  });

  it('an address has a limited number of concurrent uploads, whatever their size', async () => {
    const strict = await startServer(server.db.url, { JOBTREE_CALLER_BYTES_UNDER_WAY: '2500000' });
    onTestFinished(() => strict.close());
    const before = await uploads();
    const { hostname, port } = new URL(strict.url);
    const head = `POST /api/uploads HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: text/csv\r\ncontent-length: 9000000000\r\n\r\n`;
    const [first, second, third] = [1, 2, 3].map(() => connect(Number(port), hostname));
    for (const socket of [first, second]) {
      socket?.on('error', () => {});
      onTestFinished(() => void socket?.destroy());
      socket?.write(head);
    }
    await expect.poll(uploads).toBe(before + 2);
    third?.write(head);
    let answer = '';
    third?.on('data', (text) => {
      answer += String(text);
    });
    // Nobody reads the rest of what is refused.
    await closed(third as Socket);
    expect(answer).toMatch(/^HTTP\/1.1 429/);
    first?.destroy();
    second?.destroy();
    await expect.poll(uploads).toBe(before);
  });

  it('a wrong digest in the last part removes the upload', async () => {
    const path = await begin(10, { 'repr-digest': digestField(sha256Of('other')) });
    const { status, body: answer } = await ask(
      'PATCH',
      path,
      { ...body, 'upload-offset': '0' },
      'a'.repeat(10),
    );
    expect([status, answer.errors[0].extensions.code]).toEqual([422, 'DIGEST_MISMATCH']);
    expect((await ask('HEAD', path, tus)).status).toBe(404);
  });

  it('the last part may state the length, and an upload that ended unnoticed is complete when it is read', async () => {
    const { headers } = await ask('POST', '', { ...tus, 'upload-defer-length': '1' });
    const path = (headers.get('location') as string).replace('uploads', '');
    await ask('PATCH', path, { ...body, 'upload-offset': '0' }, 'hello');
    expect((await ask('GET', path)).body).toMatchObject({ size: 5, complete: false, sha256: null });
    // As if the server had ended right behind the last byte.
    await server.db.query('update jobtree.upload set length = 5 where id = $1', [
      path.replace('/Upload:', ''),
    ]);
    expect((await ask('GET', path)).body).toMatchObject({
      complete: true,
      sha256: sha256Of('hello').toString('hex'),
    });
  });

  it('a foreign tus client uploads over a connection that breaks', async () => {
    const bytes = randomBytes(3_000_000);
    const proxy = await startProxy(server.url);
    onTestFinished(() => proxy.close());
    let broke = false;
    const url = await new Promise<string>((resolve, reject) => {
      const upload = new TusUpload(bytes, {
        endpoint: new URL('api/uploads', proxy.url).href,
        chunkSize: 800_000,
        retryDelays: [0, 50, 100, 500],
        onChunkComplete: () => {
          if (broke) return;
          broke = true;
          proxy.cut();
          proxy.mend();
        },
        onError: reject,
        onSuccess: () => resolve(upload.url ?? ''),
      });
      upload.start();
    });
    expect(broke).toBe(true);
    const { body: answer } = await ask('GET', `/${url.split('/').at(-1)}`);
    expect(answer).toMatchObject({ size: bytes.length, sha256: sha256Of(bytes).toString('hex') });
    const { headers } = await ask('OPTIONS', '');
    expect(headers.get('tus-extension')).toContain('termination');
    await TusUpload.terminate(url);
    expect((await ask('HEAD', `/${url.split('/').at(-1)}`, tus)).status).toBe(404);
  });

  it('the client uploads a path, a Blob or a stream over a connection that breaks', async () => {
    const bytes = randomBytes(4_900_000);
    const proxy = await startProxy(server.url);
    onTestFinished(() => proxy.close());
    const client = createClient({ url: proxy.url, retryMs: 20_000 });
    onTestFinished(() => client.close());
    const sha256 = sha256Of(bytes).toString('hex');
    let cuts = 0;
    const onProgress = () => {
      if (cuts++ > 0) return;
      proxy.cut();
      proxy.mend();
    };
    const expected = { id: expect.stringMatching(/^Upload:/), size: bytes.length, sha256 };
    expect(await client.upload(new Blob([bytes]), { sha256, onProgress })).toEqual(expected);
    cuts = 0;
    expect(
      await client.upload(Readable.from([bytes.subarray(0, 9), bytes.subarray(9)]), { onProgress }),
    ).toEqual(expected);
    expect((await client.upload(Readable.from([]))).size).toBe(0);
    await expect(client.upload(new Blob(['x']), { sha256 })).rejects.toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    await expect(client.upload(new Blob([bytes, bytes]))).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  });

  it('an unneeded upload is removed after its time, and by DELETE at once', async () => {
    const [first, second] = [await begin(600_000), await begin(10)];
    await ask('PATCH', first, { ...body, 'upload-offset': '0' }, randomBytes(600_000));
    const { headers } = await ask('HEAD', second, tus);
    const expires = new Date(headers.get('upload-expires') as string).getTime() - Date.now();
    expect(Math.abs(expires - 3_600_000)).toBeLessThan(60_000);
    await server.db.query(`update jobtree.upload set expires_at = now() - interval '1 s' where id = $1`, [
      first.replace('/Upload:', ''),
    ]);
    expect((await ask('DELETE', second, tus)).status).toBe(204);
    expect((await ask('DELETE', second, tus)).status).toBe(404);
    const left = async () =>
      (
        await server.db.query(
          `select (select count(*) from jobtree.upload where id = any ($1))::int as uploads,
           (select count(*) from jobtree.upload_part where upload_id = any ($1))::int as parts`,
          [[first, second].map((path) => path.replace('/Upload:', ''))],
        )
      )[0];
    if (store.swift !== undefined) {
      const key = `files/${first.replace('/Upload:', '')}/`;
      await expect.poll(() => store.swift?.keys(key), { timeout: 30_000 }).toEqual([]);
      // So long after the removal the store is looked at once more.
      await server.db.query(
        `update jobtree.upload set removed_at = removed_at - interval '10 min', expires_at = now() where id = any ($1)`,
        [[first, second].map((path) => path.replace('/Upload:', ''))],
      );
    }
    await expect.poll(left, { timeout: 30_000 }).toEqual({ uploads: 0, parts: 0 });
  });

  it('invalid requests are refused with codes', async () => {
    const refused = async (method: string, path: string, headers: Record<string, string>, bytes?: string) => {
      const { status, body: answer } = await ask(method, path, headers, bytes);
      return [status, answer?.errors[0].extensions.code, answer?.errors[0].extensions.field];
    };
    const unknown = '/Upload:01890000-0000-7000-8000-000000000000';
    expect(await refused('GET', unknown, {})).toEqual([404, 'NOT_FOUND', 'id']);
    expect(await refused('GET', '/nonsense', {})).toEqual([400, 'INVALID_INPUT', 'id']);
    expect(await refused('PUT', '', {}, 'x')).toEqual([405, 'INVALID_INPUT', undefined]);
    expect(await refused('POST', '', tus)).toEqual([400, 'INVALID_INPUT', 'Upload-Length']);
    expect(await refused('POST', '', { ...tus, 'upload-length': '-1' })).toEqual([
      400,
      'INVALID_INPUT',
      'upload-length',
    ]);
    expect(await refused('PATCH', '/x', {})).toEqual([412, 'INVALID_INPUT', 'Tus-Resumable']);
    expect(await refused('POST', '', { 'tus-resumable': '0.2.2' })).toEqual([
      412,
      'INVALID_INPUT',
      'Tus-Resumable',
    ]);
    const path = await begin(10);
    const part = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    expect(await refused('PATCH', path, part, 'x')).toEqual([412, 'INVALID_INPUT', 'Tus-Resumable']);
    expect(
      await refused('PATCH', path, { ...tus, 'content-type': 'text/csv', 'upload-offset': '0' }, 'x'),
    ).toEqual([415, 'INVALID_INPUT', 'Content-Type']);
    expect(await refused('PATCH', path, body, 'x')).toEqual([400, 'INVALID_INPUT', 'Upload-Offset']);
    expect(await refused('PATCH', path, { ...body, 'upload-offset': '0' }, 'x'.repeat(11))).toEqual([
      413,
      'LIMIT_EXCEEDED',
      undefined,
    ]);
    // A form of another page can send these without asking.
    const form = await fetch(address(), {
      method: 'POST',
      body: 'a=b',
      headers: { 'content-type': 'text/plain' },
    });
    expect(form.status).toBe(415);
    await form.text();
    const elsewhere = await fetch(address(), {
      method: 'OPTIONS',
      headers: { origin: 'https://example.org' },
    });
    expect(elsewhere.status).toBe(403);
    await elsewhere.text();
  });

  it('pages of allowed origins may upload', async () => {
    const origin = { origin: 'https://app.example.com' };
    const preflight = await ask('OPTIONS', '', {
      ...origin,
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'upload-offset',
    });
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('upload-offset');
    const { headers } = await ask('POST', '', { ...tus, ...origin, 'upload-length': '1' });
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(headers.get('access-control-expose-headers')).toContain('location');
  });

  it('a job is created only from a complete upload', async () => {
    const path = await begin(10);
    const create = (uploadId: string, more = '') =>
      graphql(
        server.url,
        `mutation { createJob(input: { type: "t", file: { source: { uploadId: "${uploadId}" }, format: CSV ${more} } }) {
         ... on UserError { code message field } } }`,
      ).then(({ data }) => data.createJob);
    expect(await create(path.slice(1))).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'file.source.uploadId',
    });
    expect(await create('Upload:01890000-0000-7000-8000-000000000000')).toMatchObject({
      code: 'NOT_FOUND',
      field: 'file.source.uploadId',
    });
    expect(await create('Job:x')).toMatchObject({ code: 'INVALID_INPUT', field: 'file.source.uploadId' });
    const { body: complete } = await postFile(server.url, 'a\n1\n');
    expect(await create(complete.id, 'encoding: "klingon"')).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'file.encoding',
    });
    expect(await create(complete.id, 'delimiter: "ab"')).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'file.delimiter',
    });
    expect(await create(complete.id, 'delimiter: "\\""')).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'file.delimiter',
    });
  });
});
