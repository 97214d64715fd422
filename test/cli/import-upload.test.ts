import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { storeKinds, useStore } from '../support/stores.ts';
import { imported } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';
import { makeFile } from './folder.ts';
import { run } from './program.ts';

describe.each(storeKinds)('uploads in %s', (kind) => {
  const store = useStore(kind);
  const server = useServer(() => store.settings);

  const importFile = (file: string, ...options: string[]) =>
    run(['import', file, '--type', 'rows', ...options], { env: server.env });

  it('with --upload the server reads the file, and the command ends earlier', async () => {
    const file = await makeFile('rows.csv', 'a;b\n1;2\n3\n');
    const { code, stdout, stderr } = await importFile(
      file,
      '--upload',
      '--delimiter',
      ';',
      '--priority',
      '7',
    );
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('The server is adding the items'),
    });
    const job = await imported(server.client, stdout.trim());
    expect(job).toMatchObject({ priority: 7, import: { items: 2, badLines: 1 } });
    expect((await server.client.items(job.id)).nodes.map(({ payload }) => payload)).toEqual([
      { a: '1', b: '2' },
      { line: 3, text: '3' },
    ]);
  });

  it('compressed files, JSON arrays and files of more than 10 MB are uploaded automatically', async () => {
    const zipped = await makeFile('rows.ndjson.gz', gzipSync('1\n2\n'));
    const { stdout } = await importFile(zipped, '--json');
    const { jobId, uploadId, created } = JSON.parse(stdout);
    expect([created, uploadId]).toEqual([true, expect.stringMatching(/^Upload:/)]);
    expect((await imported(server.client, jobId)).import?.items).toBe(2);
    const array = await makeFile('rows.json', '[1,2,3]');
    const watched = await importFile(array, '--patience', '10s');
    expect((await imported(server.client, watched.stdout.trim())).import?.items).toBe(3);
    const large = await makeFile('rows.txt', `${'x'.repeat(999_999)}\n`.repeat(11));
    const { stderr } = await importFile(large);
    expect(stderr).toContain('11,000,000 bytes sent');
  });

  it('a file that fails its job is what watch says of the job', async () => {
    const object = await makeFile('rows.json', '{"name": "not-a-list"}');
    const { code, stderr, stdout } = await importFile(object, '--watch');
    expect(code).toBe(3);
    expect(stderr).toContain('Job failed');
    expect(stdout).toMatch(/The file could not be read to its end: BAD_STRUCTURE: \S/);
    expect((await run(['jobs'], { env: server.env })).stdout).toContain('failed: BAD_STRUCTURE');
    const [line] = (await run(['jobs', '--json'], { env: server.env })).stdout.split('\n');
    expect(JSON.parse(line ?? '').import.error.code).toBe('BAD_STRUCTURE');
    const watched = await run(['watch', JSON.parse(line ?? '').id, '--json'], { env: server.env });
    expect(JSON.parse(watched.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      event: 'summary',
      outcome: 'FAILED',
      fileError: { code: 'BAD_STRUCTURE' },
    });
  });

  it('files that only the server can read require an upload, and options that only the command supports refuse one', async () => {
    const zipped = await makeFile('rows.csv.gz', gzipSync('a\n1\n'));
    expect(await importFile(zipped, '--no-upload')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('only the server can read such a file'),
    });
    expect(await importFile(zipped, '--serialize-key', 'a')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("can't be combined with --serialize-key"),
    });
    expect(await importFile('-', '--upload', '--format', 'csv')).toMatchObject({ code: 2 });
    expect(await importFile('/nowhere/rows.csv', '--upload')).toMatchObject({
      stderr: expect.stringContaining('no such file'),
    });
  });

  it.each([
    [
      'rows.csv',
      '\uFEFFname,"say ""what"""\r\n\r\nAda,"two\nlines, one cell"\r\n  Bob  ,\n"",""\n\n"Ö\r\n","1,5"\nlast,row',
    ],
    ['rows.ndjson', '\uFEFF{"a": 1, "b": [null, "é"]}\r\n\n  7  \n \n"x"\r\nnull'],
    ['rows.txt', '\uFEFF one \r\n\r\n\ttwo\t\n" "\nlast'],
  ])('%s creates the same items with --upload and without', async (name, text) => {
    const file = await makeFile(name, text);
    const itemsOf = async (option: string) => {
      const { code, stdout } = await importFile(file, option);
      expect(code).toBe(0);
      const id = stdout.trim();
      if (option === '--upload') await imported(server.client, id);
      return (await server.client.items(id)).nodes.map(({ payload }) => payload);
    };
    const items = await itemsOf('--upload');
    expect(items.length).toBeGreaterThan(3);
    expect(await itemsOf('--no-upload')).toEqual(items);
  });
});
