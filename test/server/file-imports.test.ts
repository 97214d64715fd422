/** Files that become the items of jobs: what a client sends, and what it sees of that. */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { FileSpec } from '../../src/client/index.ts';
import { data } from '../support/api.ts';
import { storeKinds, useStore } from '../support/stores.ts';
import { importBytes, imported, postFile } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';

describe.each(storeKinds)('uploads in %s', (kind) => {
  const store = useStore(kind);
  const server = useServer(() => ({
    JOBTREE_MAX_JSON_BYTES: '10000',
    JOBTREE_MAX_FILE_TEXT_BYTES: '3000000',
    ...store.settings,
  }));

  const read = (bytes: string | Uint8Array, file: Omit<FileSpec, 'uploadId'>) =>
    importBytes(server.url, server.client, bytes, file);

  it('rows of a gzipped CSV become items in order, bad ones dead letters, and the job is sealed', async () => {
    const rows = Array.from({ length: 3_000 }, (_, i) => (i % 1_000 === 7 ? `${i}` : `${i};"row ""${i}"""`));
    const text = `n;text\r\n${rows.join('\r\n')}`;
    const zipped = gzipSync(text);
    const { job, bad } = await read(zipped, { format: 'CSV', delimiter: ';' });
    expect(job.import).toMatchObject({
      status: 'COMPLETED',
      format: 'CSV',
      size: zipped.length,
      bytesRead: zipped.length,
      items: 3_000,
      badLines: 3,
      error: null,
    });
    expect(job.sealedAt).not.toBeNull();
    await expect.poll(async () => (await server.client.job(job.id)).progress.failed).toBe(3);
    expect(bad).toEqual([
      ['BAD_LINE', 'Line 9: the row has 1 cell, the header has 2.', { line: 9, text: '7' }],
    ]);
    const stored = await server.db.query<{ n: string | null }>(
      `select payload ->> 'n' as n from jobtree.job_item where job_id = $1 order by position`,
      [job.id.replace('Job:', '')],
    );
    expect(stored.map(({ n }) => n)).toEqual(rows.map((_, i) => (i % 1_000 === 7 ? null : String(i))));
    const groups = await server.client.deadLetterGroups({ types: [job.type] });
    expect(groups).toMatchObject([{ code: 'BAD_LINE', count: 3 }]);
    const claimed = await server.client.claimItems('w', [{ type: job.type, limit: 1_000 }]);
    expect(claimed[0]?.payload).toEqual({ n: '0', text: 'row "0"' });
    expect(claimed).toHaveLength(1_000);
  });

  it('a job of which only bad lines are finished still waits for its start', async () => {
    const { job } = await read('1\nnonsense\nworse\n', { format: 'NDJSON' });
    await expect
      .poll(async () => (await server.client.job(job.id)).progress)
      .toMatchObject({
        status: 'WAITING',
        startedAt: null,
        percent: 66,
        message: 'Waiting for job to start, 2 of 3 items are finished already…',
      });
  });

  it('a file of which none of the first rows is good is refused with the row and the rule, and no job is created', async () => {
    const type = `typed-${randomBytes(4).toString('hex')}`;
    const payload = { type: 'object', required: ['to'] };
    await server.client.types.register({ type, version: 1, payload });
    const bad = async (text: string, format: FileSpec['format']) => {
      const { body } = await postFile(server.url, text);
      const file = { uploadId: body.id, format };
      const root = { type: `${type}-root`, sealed: true, children: [{ type, file }] };
      return server.client.createJob(root).catch((error: unknown) => error);
    };
    expect(await bad(`\n${'{"too":"Ada"}\n'.repeat(20)}`, 'NDJSON')).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'children[0].file',
      message: `children[0].file: The first 10 rows are all bad. Line 2: payload.to is missing (version 1 of ${type}).`,
    });
    expect(await bad('to;no\nAda;1\n', 'NDJSON')).toMatchObject({
      message: expect.stringMatching(/The first 2 rows are all bad. Line 1: not JSON/),
    });
    expect(await bad('{}', 'NDJSON')).toMatchObject({
      message: expect.stringContaining('The only row is bad.'),
    });
    expect((await server.client.jobs({ filter: { types: [`${type}-root`] } })).nodes).toEqual([]);
    expect(await bad(`${'{}\n'.repeat(9)}{"to":"Ada"}\n`, 'NDJSON')).toMatchObject({ created: true });
  });

  it('a line with bytes that Postgres can not store is a bad one, and the others are imported', async () => {
    const { job, bad } = await read('1\n\0\0\0\n{"a":"\\u0000","a":2}\n3\n', { format: 'NDJSON' });
    expect(job.import).toMatchObject({ status: 'COMPLETED', items: 4, badLines: 1 });
    expect(bad).toMatchObject([['BAD_LINE', expect.stringContaining('Line 2'), { line: 2 }]]);
    // What is stored can be read by path.
    expect(
      await server.db.query(
        "select payload #>> '{a}' as a from jobtree.job_item where job_id = $1 and payload ->> 'a' is not null",
        [job.id.replace('Job:', '')],
      ),
    ).toEqual([{ a: '2' }]);
  });

  it('a bad line can be replayed with a corrected payload', async () => {
    const { job } = await read('1\nnonsense\n', { format: 'NDJSON' });
    await server.client.replayDeadLetters(
      { itemIds: [(await server.client.items(job.id, { statuses: ['FAILED'] })).nodes[0]?.id as string] },
      { payload: 2 },
    );
    const claimed = await server.client.claimItems('w', [{ type: job.type, limit: 10 }]);
    expect(claimed.map(({ payload }) => payload)).toEqual([1, 2]);
  });

  it('rows that violate the schema of their type are dead letters with the line and the path', async () => {
    const type = `typed-${randomBytes(4).toString('hex')}`;
    const of = (name: string) => ({
      type: 'object',
      required: [name],
      properties: { [name]: { type: 'string', minLength: 2 } },
    });
    await server.client.types.register({ type, version: 1, payload: of('mail') });
    await server.client.types.register({ type, version: 2, payload: of('to') });
    const lines = ['{"to":"ada"}', '{"mail":"bob"}', '{"to":"x"}', 'nonsense', '{}', '{"to":"eve"}'];
    const { body } = await postFile(server.url, lines.join('\n'));
    const { id } = await server.client.createJob({ type, file: { uploadId: body.id, format: 'NDJSON' } });
    expect((await imported(server.client, id)).import).toMatchObject({ items: 6, badLines: 3 });
    const { nodes } = await server.client.items(id, { statuses: ['FAILED'] });
    expect(nodes.map(({ failures, payload }) => [failures[0]?.code, failures[0]?.message, payload])).toEqual([
      [
        'INVALID_PAYLOAD',
        `Line 3: payload.to must NOT have fewer than 2 characters (version 2 of ${type}).`,
        { to: 'x' },
      ],
      ['BAD_LINE', expect.stringMatching(/^Line 4: not JSON/), { line: 4, text: 'nonsense' }],
      ['INVALID_PAYLOAD', `Line 5: payload.to is missing (version 2 of ${type}).`, {}],
    ]);
    const claimed = await server.client.claimItems('w', [{ type, limit: 10 }]);
    expect(claimed.map(({ payload }) => payload)).toEqual([{ to: 'ada' }, { mail: 'bob' }, { to: 'eve' }]);
    // A replay puts it right.
    await server.client.replayDeadLetters({ itemIds: [nodes[0]?.id as string] }, { payload: { to: 'xy' } });
    const [replayed] = await server.client.claimItems('w', [{ type, limit: 10 }]);
    expect(replayed?.payload).toEqual({ to: 'xy' });
  });

  it('rows of CSV are validated as texts, and those of other types are not validated', async () => {
    const type = `typed-${randomBytes(4).toString('hex')}`;
    const payload = { type: 'object', properties: { n: { type: 'string', pattern: '^[0-9]+$' } } };
    await server.client.types.register({ type, version: 1, payload });
    const text = `n\n${Array.from({ length: 2_500 }, (_, i) => (i % 500 === 7 ? 'x' : i)).join('\n')}\n`;
    const { body } = await postFile(server.url, text);
    for (const [of, bad] of [
      [type, 5],
      [`${type}-other`, 0],
    ] as const) {
      const { id } = await server.client.createJob({ type: of, file: { uploadId: body.id, format: 'CSV' } });
      expect((await imported(server.client, id)).import).toMatchObject({ items: 2_500, badLines: bad });
    }
  });

  it.each<[string, string | Buffer, Omit<FileSpec, 'uploadId'>, unknown[]]>([
    [
      'NDJSON, with all digits',
      '{"n":12345678901234567890}\n[]\n',
      { format: 'NDJSON' },
      [{ n: 12345678901234567890n }, []],
    ],
    ['a JSON array', '[{"a":1},\n 2, "x"]', { format: 'JSON_ARRAY' }, [{ a: 1 }, 2, 'x']],
    ['an empty JSON array', ' [ ] ', { format: 'JSON_ARRAY' }, []],
    ['lines', 'a\r\nb\n\nc', { format: 'LINES' }, ['a', 'b', 'c']],
    ['an empty file', '', { format: 'CSV' }, []],
    [
      'UTF-16 with a byte order mark',
      Buffer.from('\ufeffä,b\n1,2\n', 'utf16le'),
      { format: 'CSV' },
      [{ ä: '1', b: '2' }],
    ],
    ['UTF-8 with a byte order mark', '\ufeff[1]', { format: 'JSON_ARRAY' }, [1]],
    [
      'Windows-1252 by its name',
      Buffer.from('a\n\xe9\n', 'latin1'),
      { format: 'CSV', encoding: 'windows-1252' },
      [{ a: 'é' }],
    ],
    [
      'CSV without a header',
      '1,2\n3,4\n',
      { format: 'CSV', header: false },
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
  ])('%s', async (_, bytes, file, payloads) => {
    const { job, bad } = await read(bytes, file);
    expect(job.import).toMatchObject({ status: 'COMPLETED', items: payloads.length, badLines: 0 });
    expect(bad).toEqual([]);
    const rows = await server.db.query<{ payload: string }>(
      'select payload::text as payload from jobtree.job_item where job_id = $1 order by position',
      [job.id.replace('Job:', '')],
    );
    const text = (value: unknown) =>
      JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `#${part}#` : part)).replaceAll(
        /"#|#"/g,
        '',
      );
    expect(rows.map(({ payload }) => payload)).toEqual(payloads.map(text));
  });

  const lines = (count: number) => Array.from({ length: count }, (_, i) => `{"line":${i}}\n`).join('');

  it.each<[string, string | Buffer, Omit<FileSpec, 'uploadId'>, string, number]>([
    [
      'a gzip that is cut off',
      gzipSync(randomBytes(90_000).toString('hex').replaceAll(/.{90}/g, '"$&"\n')).subarray(0, 60_000),
      { format: 'NDJSON' },
      'NOT_DECOMPRESSED',
      500,
    ],
    [
      'a gzip that is none behind its first bytes',
      Buffer.concat([gzipSync('a').subarray(0, 10), randomBytes(100)]),
      { format: 'LINES' },
      'NOT_DECOMPRESSED',
      0,
    ],
    [
      'a JSON array that ends early',
      `[${'{"a":1},'.repeat(3_000)}`,
      { format: 'JSON_ARRAY' },
      'BAD_STRUCTURE',
      3_000,
    ],
    [
      'another encoding in the middle',
      Buffer.concat([Buffer.from(lines(20_000)), Buffer.from('"\xe9"\n', 'latin1')]),
      { format: 'NDJSON' },
      'NOT_TEXT',
      10_000,
    ],
    ['a name that stands twice in the header', 'a,a\n1,2\n', { format: 'CSV' }, 'BAD_STRUCTURE', 0],
    [
      'too many columns',
      `${Array.from({ length: 1_001 }, (_, i) => `c${i}`).join(',')}\n`,
      { format: 'CSV' },
      'LIMIT_EXCEEDED',
      0,
    ],
    [
      'more text than is allowed, by a small gzip',
      gzipSync('{"a":1}\n'.repeat(400_000)),
      { format: 'NDJSON' },
      'LIMIT_EXCEEDED',
      100_000,
    ],
  ])('%s ends the import: the job fails, and imported items stay', async (_, bytes, file, code, atLeast) => {
    const { job } = await read(bytes, file);
    expect(job.import).toMatchObject({ status: 'FAILED', error: { code, message: expect.any(String) } });
    await expect.poll(async () => (await server.client.job(job.id)).progress.status).toBe('COMPLETED');
    const { progress, failedAt, treeOutcome } = await server.client.job(job.id);
    expect(failedAt).not.toBeNull();
    expect(treeOutcome).toBe('FAILED');
    expect(progress).toMatchObject({ outcome: 'FAILED', cancelReason: 'FAILURES', message: 'Job failed' });
    expect(progress.itemCount).toBeGreaterThanOrEqual(atLeast);
    expect(progress.itemCount).toBe(job.import?.items);
    await expect(server.client.addItems(job.id, [{ payload: 1 }])).rejects.toMatchObject({
      code: 'JOB_SEALED',
    });
  });

  it('one endless line is one failed item', async () => {
    const { job, bad } = await read(gzipSync('x'.repeat(2_900_000)), { format: 'LINES' });
    expect(job.import).toMatchObject({ status: 'COMPLETED', items: 1, badLines: 1 });
    expect(bad).toEqual([
      ['BAD_LINE', 'Line 1: it is longer than 10000 bytes.', { line: 1, text: 'x'.repeat(1_000) }],
    ]);
  });

  it('a file in a tree is imported beside items and in a child, and jobs that wait for it continue', async () => {
    const { body } = await postFile(server.url, 'a\nb\n');
    const file = { uploadId: body.id, format: 'LINES' } as const;
    const { id } = await server.client.createJob({
      type: 'root-of-file',
      sealed: true,
      children: [
        { type: 'child-of-file', file, items: [{ payload: 'first' }] },
        { type: 'after-file', after: ['child-of-file'], sealed: true, items: [{ payload: 'last' }] },
      ],
    });
    const { children } = await server.client.job(id);
    const child = await imported(server.client, children[0]?.id as string);
    expect(child.import).toMatchObject({ items: 2 });
    const claimed = await server.client.claimItems('w', [
      { type: 'child-of-file', limit: 10 },
      { type: 'after-file', limit: 10 },
    ]);
    expect(claimed.map(({ payload }) => payload)).toEqual(['first', 'a', 'b']);
    await server.client.reportOutcomes(claimed.map((one) => ({ assignmentId: one.id, result: null })));
    await expect
      .poll(async () => (await server.client.claimItems('w', [{ type: 'after-file', limit: 10 }])).length)
      .toBe(1);
  });

  const importFile = `mutation ($jobId: ID!, $uploadId: ID!, $format: FileFormat!) {
    importFile(input: { jobId: $jobId, file: { source: { uploadId: $uploadId }, format: $format } }) {
      ... on ImportFilePayload { job { id } } ... on UserError { code field message }
    }
  }`;

  it('a file is added to a job that is open, behind its items and while others are added, and seals it', async () => {
    const type = `open-${randomBytes(4).toString('hex')}`;
    const { id } = await server.client.createJob({ type, items: [{ payload: 'first' }] });
    const { body } = await postFile(server.url, '"a"\n"b"\n');
    const variables = { jobId: id, uploadId: body.id, format: 'NDJSON' };
    expect(await data(server.url, importFile, variables)).toEqual({ importFile: { job: { id } } });
    const job = await imported(server.client, id);
    expect(job.import).toMatchObject({ status: 'COMPLETED', items: 2 });
    expect(job.sealedAt).not.toBeNull();
    const { nodes } = await server.client.items(id, { first: 10 });
    expect(nodes.map(({ payload }) => payload)).toEqual(['first', 'a', 'b']);
    expect(await data(server.url, importFile, variables)).toMatchObject({
      importFile: { code: 'JOB_SEALED', field: 'jobId' },
    });
  });

  it('a job takes one file, none that its parent feeds, and none of which no row is good', async () => {
    const type = `open-${randomBytes(4).toString('hex')}`;
    const open = await server.client.createJob({ type, children: [{ type: `${type}-fed`, feed: {} }] });
    const fed = (await server.client.jobs({ filter: { types: [`${type}-fed`], rootsOnly: false } })).nodes[0];
    const { body } = await postFile(server.url, 'no JSON\n');
    const add = async (jobId: string | undefined, format: string, uploadId = body.id) =>
      (await data(server.url, importFile, { jobId, uploadId, format })).importFile;
    expect(await add(fed?.id, 'LINES')).toMatchObject({ code: 'JOB_FED_BY_PARENT' });
    expect(await add(open.id, 'NDJSON')).toMatchObject({ code: 'INVALID_INPUT', field: 'file' });
    const strange = 'Upload:00000000-0000-7000-8000-000000000000';
    expect(await add(open.id, 'LINES', strange)).toMatchObject({ code: 'NOT_FOUND' });
    const [one, other] = await Promise.all([add(open.id, 'LINES'), add(open.id, 'LINES')]);
    expect([one, other].filter(({ job }) => job !== undefined)).toHaveLength(1);
    await imported(server.client, open.id);
  });

  it('bad lines count as failures, and beyond the tolerance the job fails and the import ends', async () => {
    const { body } = await postFile(server.url, `1\n${'no\n'.repeat(100_000)}`);
    const { id } = await server.client.createJob({
      type: 'intolerant',
      toleratedFailureCount: 10,
      file: { uploadId: body.id, format: 'NDJSON' },
    });
    const job = await imported(server.client, id);
    await expect.poll(async () => (await server.client.job(id)).treeOutcome).toBe('FAILED');
    // Where the fold comes late all of it may be read.
    expect(['CANCELLED', 'COMPLETED']).toContain(job.import?.status);
  });

  it('cancelling or sealing the job ends its import, and deleting it leaves nothing', async () => {
    const { body } = await postFile(server.url, lines(200_000).slice(0, 2_900_000));
    const file = { uploadId: body.id, format: 'NDJSON' } as const;
    const [cancelled, sealed] = await Promise.all(
      ['cancelled', 'sealed'].map((name) => server.client.createJob({ type: `ends-${name}`, file })),
    );
    await server.client.cancelJob(cancelled?.id as string);
    await server.client.sealJob(sealed?.id as string);
    for (const created of [cancelled, sealed]) {
      const job = await imported(server.client, created?.id as string);
      if (job.import?.status === 'CANCELLED') expect(job.import.error?.code).toBe('JOB_SEALED');
      else expect(job.import?.status).toBe('COMPLETED');
    }
    await server.client.deleteJob(cancelled?.id as string);
    await expect
      .poll(
        async () =>
          (
            await server.db.query('select from jobtree.file_import where job_id = $1', [
              cancelled?.id.replace('Job:', ''),
            ])
          ).length,
      )
      .toBe(0);
  });

  it('a job with a dedupe key is created from its file once', async () => {
    const { body } = await postFile(server.url, 'a\n');
    const spec = { type: 'once', dedupeKey: 'k', file: { uploadId: body.id, format: 'LINES' } } as const;
    const first = await server.client.createJob(spec);
    expect(await server.client.createJob(spec)).toEqual({ id: first.id, created: false });
    await imported(server.client, first.id);
    expect((await server.client.items(first.id)).nodes).toHaveLength(1);
  });

  it("a schedule can't have a file, nor can a fed or sealed job", async () => {
    const { body } = await postFile(server.url, 'a\n');
    const file = { uploadId: body.id, format: 'LINES' } as const;
    await expect(
      server.client.schedules.put({ name: 'with-file', everyMs: 60_000, template: { type: 'x', file } }),
    ).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(server.client.createJob({ type: 'x', sealed: true, file })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'file',
    });
    await expect(
      server.client.createJob({ type: 'x', children: [{ type: 'y', feed: {}, file }] }),
    ).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'children[0].file' });
  });

  it('an upload is kept during its import, and can be imported again until it expires', async () => {
    const { body } = await postFile(server.url, 'a\n');
    const id = body.id.replace('Upload:', '');
    const make = () =>
      server.client.createJob({ type: 'again', file: { uploadId: body.id, format: 'LINES' } });
    const first = await make();
    await imported(server.client, first.id);
    const second = await make();
    expect((await imported(server.client, second.id)).import?.items).toBe(1);
    await server.db.query(
      `update jobtree.file_import set finished_at = null, leased_until = now() + interval '1 h' where job_id = $1`,
      [second.id.replace('Job:', '')],
    );
    const remove = async () => fetch(new URL(`api/uploads/${body.id}`, server.url), { method: 'DELETE' });
    const refused = await remove();
    expect([refused.status, ((await refused.json()) as any).errors[0].extensions.code]).toEqual([
      409,
      'UPLOAD_IN_USE',
    ]);
    await server.db.query(`update jobtree.upload set expires_at = now() - interval '1 s' where id = $1`, [
      id,
    ]);
    const prune = async () => {
      const name = `${store.settings.JOBTREE_UPLOAD_STORE_URL} at ${store.settings.JOBTREE_UPLOAD_STORE_ENDPOINT}`;
      const [row] =
        kind === 'Postgres'
          ? await server.db.query<{ pruned: boolean }>('select jobtree.prune_uploads() as pruned')
          : await server.db.query<{ pruned: boolean }>(
              'select jobtree.lease_removal($1, 60000) is not null as pruned',
              [name],
            );
      return row?.pruned;
    };
    expect(await prune()).toBe(false);
    await server.db.query('update jobtree.file_import set finished_at = now() where job_id = $1', [
      second.id.replace('Job:', ''),
    ]);
    await prune();
    expect((await remove()).status).toBe(404);
  });

  it('lists show the state of an import', async () => {
    const { job } = await read('a\nb\n', { format: 'LINES' });
    const answer = await data(
      server.url,
      `query ($type: String!) { jobs(filter: { types: [$type] }) { edges { node { import { status items uploadId } } } } }`,
      { type: job.type },
    );
    expect(answer.jobs.edges).toEqual([
      { node: { import: { status: 'COMPLETED', items: 2, uploadId: expect.stringMatching(/^Upload:/) } } },
    ]);
  });
});
