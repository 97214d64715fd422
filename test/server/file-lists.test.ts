/** What there is to import, what it would become, and what was imported. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { guessFormat } from '../../src/files/guess-format.ts';
import { ask, data, request } from '../support/api.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { imported, postFile } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer(() => ({}));

const upload = async (bytes: string | Uint8Array): Promise<string> =>
  (await postFile(server.url, bytes)).body.id;

const preview = async (uploadId: string, options = ''): Promise<any> => {
  const query = `query ($id: ID!) { filePreview(uploadId: $id ${options}) {
    format delimiter encoding problem rows { line payload problem }
  } }`;
  return (await data(server.url, query, { id: uploadId })).filePreview;
};

describe('the preview of a file', () => {
  it.each<[title: string, text: string | Uint8Array, guess: object, first: unknown]>([
    [
      'CSV',
      'id,name\n1,"Ada, Countess"\n',
      { format: 'CSV', delimiter: null },
      { id: '1', name: 'Ada, Countess' },
    ],
    [
      'CSV with semicolons',
      'id;price\r\n1;"2,50"\r\n',
      { format: 'CSV', delimiter: ';' },
      { id: '1', price: '2,50' },
    ],
    ['CSV with tabs', 'id\tname\n1\tAda\n', { format: 'CSV', delimiter: '\t' }, { id: '1', name: 'Ada' }],
    ['NDJSON', '{"id": 1}\n{"id": 2}\n', { format: 'NDJSON', delimiter: null }, { id: 1 }],
    ['NDJSON of lists', '[1, 2]\n[3, 4]\n', { format: 'NDJSON' }, [1, 2]],
    ['a JSON array', '[\n  {"id": 1},\n  {"id": 2}\n]\n', { format: 'JSON_ARRAY' }, { id: 1 }],
    ['a JSON array in one line', '[{"id": 1}, {"id": 2}]', { format: 'JSON_ARRAY' }, { id: 1 }],
    ['lines', 'https://example.com/\nhttps://example.org/\n', { format: 'LINES' }, 'https://example.com/'],
    ['gzip', gzipSync('id,name\n1,Ada\n'), { format: 'CSV' }, { id: '1', name: 'Ada' }],
    [
      'text that is not UTF-8',
      Buffer.from('id,name\n1,Gr\xe2ce', 'latin1'),
      { format: 'CSV', encoding: 'windows-1252' },
      { id: '1', name: 'Grâce' },
    ],
  ])('guesses %s', async (_, text, guess, first) => {
    const found = await preview(await upload(text));
    expect(found).toMatchObject({ problem: null, ...guess });
    expect(found.rows[0]).toMatchObject({ payload: first, problem: null });
  });

  it('shows up to 20 rows, with what is wrong with each, read as the arguments say', async () => {
    const id = await upload(`n;m\n${'1;2\n'.repeat(30)}`);
    const { rows } = await preview(id, 'format: CSV, delimiter: ";", header: false');
    expect(rows).toHaveLength(20);
    expect(rows[1]).toEqual({ line: 2, payload: ['1', '2'], problem: null });
    const bad = await preview(await upload('a,b\n1\n'));
    expect(bad.rows).toEqual([
      { line: 2, payload: { line: 2, text: '1' }, problem: expect.stringContaining('1 cell') },
    ]);
  });

  it('checks the rows against the schema of a type', async () => {
    await server.client.types.register({
      type: 'previewed',
      version: 1,
      payload: { type: 'object', required: ['to'] },
    });
    const { rows } = await preview(await upload('{"to": 1}\n{"from": 1}\n'), 'type: "previewed"');
    expect(rows.map(({ problem }: { problem: string | null }) => problem)).toEqual([
      null,
      expect.stringContaining('to'),
    ]);
  });

  it('says why a file can not be read, and refuses what is no complete upload', async () => {
    const cut = gzipSync('id,name\n'.repeat(1_000)).subarray(0, 30);
    expect(await preview(await upload(cut))).toMatchObject({ rows: [], problem: expect.any(String) });
    expect(await preview(await upload(''))).toMatchObject({ rows: [], problem: null });
    const refused = async (id: string, options = '') =>
      (await request(server.url, `{ filePreview(uploadId: "${id}" ${options}) { format } }`)).errors?.[0]
        ?.extensions;
    expect(await refused('Upload:01900000-0000-7000-8000-000000000000')).toMatchObject({ code: 'NOT_FOUND' });
    const options = 'format: LINES, delimiter: ";"';
    expect(await refused(await upload('x'), options)).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'file.delimiter',
    });
    expect(await refused(await upload('x'), 'encoding: "klingon"')).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'file.encoding',
    });
    const begun = await fetch(new URL('api/uploads', server.url), {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '10' },
    });
    const id = decodeURIComponent(begun.headers.get('location')?.replace(/.*\//, '') ?? '');
    expect(await refused(id)).toMatchObject({ code: 'INVALID_INPUT', field: 'uploadId' });
    const { uploads } = await data(
      server.url,
      '{ uploads(first: 1) { nodes { id size length complete sha256 } } }',
    );
    expect(uploads.nodes).toEqual([{ id, size: 0, length: 10, complete: false, sha256: '' }]);
  });

  it('reads no more than a megabyte of text, however large the file and its rows are', async () => {
    const row = `${JSON.stringify('x'.repeat(300_000))}\n`;
    const { rows, problem } = await preview(await upload(gzipSync(row.repeat(200))), 'format: NDJSON');
    expect(problem).toBeNull();
    expect(rows.length).toBeLessThan(4);
  });
});

it('a text whose first line is a lone number is no JSON', () => {
  expect(guessFormat(Buffer.from('17\n18\n'))).toEqual({ format: 'LINES' });
});

it('imports and uploads are listed, the newest first, to their tenant alone', async () => {
  const closed = await startServer(server.db.url, { JOBTREE_AUTH: 'keys' });
  const keys = await Promise.all(
    ['acme', 'rival'].map(async (tenant) => (await makeKey(server.db, ['producer'], { tenant })).key),
  );
  const limited = await makeKey(server.db, ['producer'], { tenant: 'acme', types: ['b*'] });
  const [acme, rival] = keys as [string, string];
  const ids: string[] = [];
  for (const type of ['a', 'b', 'a']) {
    const { body } = await postFile(closed.url, '1\n2\n', { authorization: `Bearer ${acme}` });
    const answer = await ask(
      closed.url,
      acme,
      `mutation ($id: ID!) { createJob(input: { type: "${type}", file: { source: { uploadId: $id }, format: NDJSON } }) {
        ... on CreateJobPayload { job { id } } } }`,
      { id: body.id },
    );
    ids.push(answer.data.createJob.job.id);
  }
  for (const id of ids) await imported(server.client, id);
  const list = async (key: string, args = '(first: 2)') => {
    const { data } = await ask(
      closed.url,
      key,
      `{ imports${args} { nodes { id type import { items status } } pageInfo { endCursor hasNextPage } } }`,
    );
    return data.imports;
  };
  const first = await list(acme);
  expect(first.nodes).toEqual([
    { id: ids[2], type: 'a', import: { items: 2, status: 'COMPLETED' } },
    { id: ids[1], type: 'b', import: { items: 2, status: 'COMPLETED' } },
  ]);
  const rest = await list(acme, `(first: 2, after: "${first.pageInfo.endCursor}")`);
  expect(rest.nodes.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
  expect(rest.pageInfo.hasNextPage).toBe(false);
  expect((await list(acme, '(type: "b")')).nodes).toHaveLength(1);
  expect((await list(limited.key)).nodes.map(({ id }: { id: string }) => id)).toEqual([ids[1]]);
  expect((await list(rival)).nodes).toEqual([]);
  const uploads = async (key: string) =>
    (await ask(closed.url, key, '{ uploads { nodes { size complete } } }')).data.uploads.nodes;
  expect(await uploads(acme)).toEqual(Array(3).fill({ size: 4, complete: true }));
  // A key with a scope sees what it has sent itself.
  expect(await uploads(limited.key)).toEqual([]);
  expect(await uploads(rival)).toEqual([]);
  await closed.close();
});
