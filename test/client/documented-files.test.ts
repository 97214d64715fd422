/** The very code of docs/files.md, with a server. */

import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import { makeFile } from '../cli/folder.ts';
import { data } from '../support/api.ts';
import { bundle } from '../support/bundle.ts';
import { example } from '../support/documentation.ts';
import { imported } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
let client: Client;
beforeAll(() => {
  client = createClient({ url: server.url });
});
afterAll(() => client.close());

async function load(name: string): Promise<any> {
  const { code } = await bundle({ main: example('files.md', name) }, 'node');
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

it('a path becomes the items of a job', async () => {
  const file = await makeFile('orders.csv.gz', gzipSync('n,name\n1,Ada\n2,Grâce\n'));
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const { importOrders } = await load('import');
  const importing = importOrders(client, file);
  const work = async () => {
    const claimed = await client.claimItems('w', [{ type: 'bookOrder', limit: 10 }]);
    await Promise.all(claimed.map(({ id }) => client.reportOutcomes([{ assignmentId: id, result: null }])));
    return claimed.map(({ payload }) => payload);
  };
  const done: unknown[] = [];
  await expect
    .poll(async () => {
      done.push(...(await work()));
      return done;
    })
    .toEqual([
      { n: '1', name: 'Ada' },
      { n: '2', name: 'Grâce' },
    ]);
  const id = await importing;
  expect(log).toHaveBeenCalledWith('2 orders');
  expect(await data(server.url, example('files.md', 'state'), { id })).toEqual({
    job: {
      import: {
        status: 'COMPLETED',
        bytesRead: expect.any(Number),
        size: expect.any(Number),
        items: 2,
        badLines: 0,
        error: null,
      },
      progress: { message: 'Job complete', itemCount: 2 },
    },
  });
});

it('curl and a mutation do the same', async () => {
  const file = await makeFile('orders.csv', Buffer.from('n;name\n1;Gr\xe2ce\n', 'latin1'));
  const command = example('files.md', 'post')
    .replace('@orders.csv', `@${file}`)
    .replace('http://127.0.0.1:4000/', new URL('/', server.url).href);
  const { stdout } = await promisify(execFile)('sh', ['-c', command]);
  const upload = JSON.parse(stdout);
  expect(Object.keys(upload)).toEqual(['id', 'size', 'sha256', 'complete', 'expiresAt']);
  const { createJob } = await data(server.url, example('files.md', 'create'), { upload: upload.id });
  expect(createJob.job.import.status).toMatch(/^(WAITING|RUNNING)$/);
  await imported(client, createJob.job.id);
  expect((await client.items(createJob.job.id)).nodes[0]?.payload).toEqual({ n: '1', name: 'Grâce' });
});

it('curl creates a job in one request with its file', async () => {
  const file = await makeFile('orders.csv', 'n;name\n');
  const command = example('files.md', 'multipart')
    .replace('@orders.csv', `@${file}`)
    .replace('http://127.0.0.1:4000/graphql', server.url);
  const { stdout } = await promisify(execFile)('sh', ['-c', command]);
  const { createJob } = JSON.parse(stdout).data;
  expect((await imported(client, createJob.job.id)).import).toMatchObject({ status: 'COMPLETED', items: 0 });
});

it('tus-js-client uploads a file', async () => {
  // As it is installed here, not as it is for browsers.
  const library = pathToFileURL(createRequire(import.meta.url).resolve('tus-js-client')).href;
  const code = example('files.md', 'tus').replace("'tus-js-client'", JSON.stringify(library));
  const { send } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const url = await new Promise<string>((resolve) => {
    send(Buffer.from('a\nb\n'), new URL('api/uploads', server.url).href, resolve);
  });
  const uploadId = url.split('/').at(-1) as string;
  const { id } = await client.createJob({ type: 'tus', file: { uploadId, format: 'LINES' } });
  expect((await imported(client, id)).import?.items).toBe(2);
});
