/** Every example of docs/watching.md follows a job to its end: in a shell, in Node, and in a real browser. */
import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { createJob, request, subscribe, work } from '../support/api.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { bundle } from '../support/bundle.ts';
import { example, examples, watchingExample } from '../support/documentation.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let app: App;
beforeAll(async () => {
  app = await startServer(db.url);
});
afterAll(async () => {
  await app.close();
});

const begin = (type: string) => createJob(app.url, { type, sealed: true, items: [{}, {}] });

/** The examples for browsers, and what each is called with. */
const programs: [string, string][] = [
  ['event-source', `follow(jobId, show);`],
  ['graphql-ws', `follow('ws://' + location.host + '/graphql', jobId, show);`],
  ['graphql-sse', `follow(location.origin + '/graphql', jobId, show);`],
  ['watch-job', `follow(jobId, show);`],
];

it.skipIf(spawnSync('curl', ['--version']).status !== 0 && process.env.CI !== 'true')('curl', async () => {
  const id = await begin('curl');
  const command = example('watching.md', 'curl')
    .replace('http://127.0.0.1:4000/graphql', app.url)
    .replace('Job:…', id);
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', () => void work(app.url, 'curl', 2));
  const output = await text(child.stdout);
  expect(output).toContain('"message":"Waiting for job to start…"');
  expect(output).toContain('"message":"Job complete"');
  expect(output.trimEnd()).toMatch(/event: complete\ndata:?$/);
});

it('is tested for each example of the page', () => {
  expect([...examples('watching.md').keys()].sort()).toEqual(
    ['curl', 'list-graphql', 'live', ...programs.map(([name]) => name)]
      .filter((name) => name !== 'graphql-sse')
      .sort(),
  );
});

it('the list of trees is answered', async () => {
  const since = '2020-01-01T00:00:00Z';
  const { errors, data } = await request(app.url, example('watching.md', 'list-graphql'), { since });
  expect([errors, data.jobs.nodes, data.jobCount.buckets.length]).toEqual([undefined, [], 24]);
});

it('any query is watched', async () => {
  const watch = subscribe(app.url, example('watching.md', 'live'));
  const { value } = await watch[Symbol.asyncIterator]().next();
  expect(value.data.live).toEqual({ deadLetterGroups: [], workers: expect.any(Array) });
  await watch.close();
});

describe('in Node', () => {
  const load = async (name: string): Promise<{ follow: (...args: any[]) => Promise<void> }> => {
    const { code } = await bundle({ main: watchingExample(name) }, 'node');
    return import(`data:text/javascript,${encodeURIComponent(code)}`);
  };

  it.each(['graphql-ws', 'graphql-sse'])('the published client works: %s', async (name) => {
    const { follow } = await load(name);
    const id = await begin(name);
    const shown: [string, number][] = [];
    const show = (message: string, percent: number) => {
      if (shown.length === 0) void work(app.url, name, 2);
      shown.push([message, percent]);
    };
    const url = name === 'graphql-ws' ? app.url.replace('http', 'ws') : app.url;
    await follow(url, id, show, { webSocketImpl: WebSocket });
    expect(shown[0]).toEqual(['Waiting for job to start…', 0]);
    expect(shown.at(-1)).toEqual(['Job complete', 100]);
  });
});

describe.skipIf(withoutBrowser)('in a browser', () => {
  const browser = useBrowser();

  /** Opens a page of the server's origin that runs the program, with the job's id in its address. */
  async function open(code: string, jobId: string) {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    // A page that the server really serves: what a test only makes up, Chromium keeps away from this machine.
    await page.goto(`${new URL(app.url).origin}/healthz?${encodeURIComponent(jobId)}`);
    await page.evaluate('document.body.replaceChildren()');
    await page.addScriptTag({ type: 'module', content: code });
    const shows = (words: string) =>
      expect.poll(async () => [(await page.innerText('body')).trim(), faults]).toEqual([words, []]);
    return { page, shows };
  }

  const jobId = `const jobId = decodeURIComponent(location.search.slice(1));`;
  const show = `const show = (message, percent) => { document.body.innerText = message + ' ' + percent; };`;
  it.each(programs)('%s', async (name, call) => {
    const main = `import { follow } from './example'; ${jobId} ${show} ${call}`;
    const { code } = await bundle({ main, example: watchingExample(name) });
    const type = `browser ${name}`;
    const { page, shows } = await open(code, await begin(type));
    await shows('Waiting for job to start… 0');
    await work(app.url, type, 1);
    await shows('Job running, 50% complete… 50');
    await work(app.url, type, 1);
    await shows('Job complete 100');
    await page.close();
  });

  it('watchJob continues when the server restarts', async () => {
    const port = new URL(app.url).port;
    const main = `import { follow } from './example'; ${jobId} ${show} follow(jobId, show);`;
    const { code } = await bundle({ main, example: example('watching.md', 'watch-job') });
    const { page, shows } = await open(code, await begin('restart'));
    await shows('Waiting for job to start… 0');
    await app.close();
    app = await startServer(db.url, { JOBTREE_PORT: port });
    await work(app.url, 'restart', 2);
    await shows('Job complete 100');
    await page.close();
  });
});

it('the client needs nothing of Node in a browser, and is small', async () => {
  const { code, metafile } = await bundle({ main: `export { watchJob } from 'jobtree-client';` });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  expect(imports).toEqual([]);
  const { gzipSync } = await import('node:zlib');
  expect(gzipSync(code).length).toBeLessThan(25_000);
});
