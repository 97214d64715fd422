/** Pages of an application that show jobs to its own users, in a real browser: the hooks, the examples of the docs, and a whole application. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { createElement } from 'react';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import { useJobProgress } from '../../src/client/react.ts';
import type { App } from '../../src/server/create-app.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { bundle } from '../support/bundle.ts';
import { example, examples } from '../support/documentation.ts';
import { makeKey } from '../support/keys.ts';
import { freePort, startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { forge } from '../support/watch-tokens.ts';

const db = useDatabase();
let app: App;
let client: Client;
let key: string;
let browser: Browser;
/** Of the application: its page, and what gives tokens. */
let site: Server;
let origin: string;
let code = '';
let giveToken: (jobId: string) => Promise<string>;
let given = 0;

beforeAll(async () => {
  site = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const imported = /^\/imports\/(.+)\/token$/.exec(pathname)?.[1];
    if (pathname === '/token' || imported !== undefined) {
      given++;
      try {
        response.end(await giveToken(imported ?? searchParams.get('job') ?? ''));
      } catch {
        response.destroy();
      }
    } else if (pathname === '/page.js') {
      response.setHeader('content-type', 'text/javascript').end(code);
    } else {
      response.setHeader('content-type', 'text/html');
      response.end(
        '<!doctype html><body><div id="page"></div><script type="module" src="/page.js"></script>',
      );
    }
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  app = await startServer(db.url, { JOBTREE_AUTH: 'keys', JOBTREE_ALLOWED_ORIGINS: origin });
  key = (await makeKey(db, ['producer', 'worker'])).key;
  client = createClient({ url: app.url, token: key });
  if (!withoutBrowser) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await client.close();
  site.closeAllConnections();
  site.close();
  await app.close();
});

const begin = async (type: string, count = 4) =>
  (await client.createJob({ type, sealed: true, items: Array.from({ length: count }, () => ({})) })).id;

async function work(type: string, count: number): Promise<void> {
  const assignments = await client.claimItems('w', [{ type, limit: count }]);
  await client.reportOutcomes(assignments.map(({ id }) => ({ assignmentId: id, result: null })));
}

/** Each text that the page has shown, in the order in which it did. */
async function open(main: string, jobId: string, from = origin, modules: Record<string, string> = {}) {
  ({ code } = await bundle({ main: `${recorder}\n${main}`, ...modules }));
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  const faults: string[] = [];
  const sockets: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('websocket', (socket) => sockets.push(socket.url()));
  await page.goto(`${from}/?job=${jobId}`);
  const shown = async () => (await page.evaluate('window.shown')) as string[];
  const shows = (text: string) =>
    expect.poll(async () => [(await shown()).at(-1), faults], { timeout: 15_000 }).toEqual([text, []]);
  return { page, shown, shows, sockets };
}

const recorder = `
  const root = document.getElementById('page');
  window.shown = [];
  new MutationObserver(() => {
    const text = root.innerText.trim();
    if (text !== window.shown.at(-1)) window.shown.push(text);
  }).observe(root, { childList: true, subtree: true, characterData: true });
  const jobId = new URLSearchParams(location.search).get('job');
  const token = async () => {
    const response = await fetch('/token?job=' + jobId);
    return response.text();
  };`;

const hook = (call: string) => `
  import { StrictMode } from 'react';
  import { createRoot } from 'react-dom/client';
  import { useJobProgress, useJobTreeProgress } from 'jobtree-client/react';
  const url = ${JSON.stringify(app.url)};
  ${call}
  createRoot(root).render(<StrictMode><Page /></StrictMode>);`;

const bar = `const Page = () => {
  const { progress, error } = useJobProgress(jobId, { url, token: () => token() });
  return <p>{error?.message ?? progress?.percent ?? 'nothing'}</p>;
};`;

const rootOf = (jobId: string) => jobId.replace('Job:', '');
const shortLived = (jobId: string, ms = 2_000) =>
  forge(db, { rootId: rootOf(jobId), expiresMs: Date.now() + ms });

describe.skipIf(withoutBrowser)('a hook', () => {
  it('continues when its token expires, again and again, without a gap or a repeated state', async () => {
    giveToken = (jobId) => shortLived(jobId);
    given = 0;
    const startedAt = performance.now();
    const id = await begin('renewed', 4);
    const { shown, shows, sockets } = await open(hook(bar), id);
    await shows('0');
    for (let done = 1; done <= 3; done++) {
      const before = given;
      await expect.poll(() => given, { timeout: 15_000 }).toBeGreaterThan(before);
      await work('renewed', 1);
      await shows(String(25 * done));
    }
    await work('renewed', 1);
    await shows('100');
    expect(await shown()).toEqual(['nothing', '0', '25', '50', '75', '100']);
    expect(sockets).toHaveLength(1);
    // One in two seconds, and none is asked for twice.
    expect(given).toBeGreaterThan(3);
    expect(given).toBeLessThan(3 + (performance.now() - startedAt) / 1_500);
  });

  it('continues when its token is revoked, and after the application gave none for a while', async () => {
    let isAway = true;
    giveToken = async (jobId) => {
      if (isAway) throw new Error('away');
      return (await client.createWatchToken(jobId)).token;
    };
    given = 0;
    const id = await begin('revoked', 2);
    const { shown, shows } = await open(hook(bar), id);
    await expect.poll(() => given, { timeout: 15_000 }).toBeGreaterThan(1);
    isAway = false;
    await shows('0');
    const before = given;
    await client.revokeWatchTokens(id);
    await expect.poll(() => given, { timeout: 15_000 }).toBeGreaterThan(before);
    await work('revoked', 2);
    await shows('100');
    expect(await shown()).toEqual(['nothing', '0', '100']);
  });

  it('says why nothing comes when the token is refused for good, or opens another tree', async () => {
    giveToken = async () => 'jobtree_watch_nonsense';
    const id = await begin('refused', 1);
    const refused = await open(hook(bar), id);
    await expect
      .poll(async () => (await refused.shown()).at(-1))
      .toContain('The watch token is not one of this service');
    const other = await begin('refused', 1);
    giveToken = () => shortLived(other, 60_000);
    const strange = await open(hook(bar), id);
    await strange.shows(`There is no job Job:${rootOf(id)}.`);
  });

  it('shares one connection and one subscription among all that show a tree', async () => {
    giveToken = async (jobId) => (await client.createWatchToken(jobId)).token;
    const root = await client.createJob({
      type: 'shared',
      sealed: true,
      children: [{ type: 'shared', sealed: true, items: [{}] }],
    });
    const { children } = await client.job(root.id);
    const childId = children[0]?.id;
    const bars = `
      const options = () => ({ url, token: () => token(), rootId: jobId });
      const Bar = ({ id }) => <p>{useJobProgress(id, options()).progress?.status}</p>;
      const Tree = () => <p>{String(useJobTreeProgress(jobId, options()).progress?.complete)}</p>;
      const Page = () => <>{[1, 2, 3].map((n) => <Bar key={n} id="${childId}" />)}<Bar id={jobId} /><Tree /></>;`;
    given = 0;
    const { shows, sockets, page } = await open(hook(bars), root.id);
    const lines = (...texts: string[]) => texts.join('\n\n');
    await shows(lines('WAITING', 'WAITING', 'WAITING', 'COMPLETED', 'false'));
    await work('shared', 1);
    await shows(lines('COMPLETED', 'COMPLETED', 'COMPLETED', 'COMPLETED', 'true'));
    expect(sockets).toHaveLength(1);
    expect(given).toBe(1);
    await page.close();
  });

  it('shares one connection among bars of fifty trees, each with its own token', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => begin('many', 1)));
    const [lost = '', ...others] = ids;
    let isLost = false;
    giveToken = async (jobId) => {
      if (jobId === lost && isLost) return 'jobtree_watch_nonsense';
      return (await client.createWatchToken(jobId)).token;
    };
    given = 0;
    const bars = `
      const ids = ${JSON.stringify(ids)};
      const tokenOf = (id) => async () => (await fetch('/token?job=' + id)).text();
      const Bar = ({ id }) => {
        const { progress, error } = useJobProgress(id, { url, token: tokenOf(id) });
        return <p>{error ? 'refused' : (progress?.percent ?? 'nothing')}</p>;
      };
      const Page = () => <>{ids.map((id) => <Bar key={id} id={id} />)}</>;`;
    const { page, shown, sockets } = await open(hook(bars), lost);
    const now = async () => (await shown()).at(-1)?.split(/\n+/) ?? [];
    const all = (text: string) => others.map(() => text);
    await expect.poll(now).toEqual(['0', ...all('0')]);
    expect(sockets).toHaveLength(1);
    expect(given).toBe(50);
    // One of them may not be seen any more: the others hear nothing of that.
    isLost = true;
    await client.revokeWatchTokens(lost);
    await expect.poll(now).toEqual(['refused', ...all('0')]);
    await work('many', 50);
    await expect.poll(now).toEqual(['refused', ...all('100')]);
    expect(sockets).toHaveLength(1);
    expect(given).toBeLessThan(55);
    await page.close();
  });

  it('gets nothing on a page of another origin, even with a token', async () => {
    giveToken = (jobId) => shortLived(jobId, 60_000);
    given = 0;
    const id = await begin('elsewhere', 1);
    const { shown } = await open(hook(bar), id, origin.replace('127.0.0.1', 'localhost'));
    await expect.poll(shown).toEqual(['nothing']);
    const { page } = await open('window.ready = true', id, origin.replace('127.0.0.1', 'localhost'));
    const asked = await page.evaluate(
      async ([url, token]) =>
        fetch(url as string, { method: 'POST', headers: { authorization: `Bearer ${token}` } }).then(
          () => 'answered',
          () => 'refused',
        ),
      [app.url, await shortLived(id, 60_000)],
    );
    expect(asked).toBe('refused');
    await work('elsewhere', 1);
    expect(await shown()).toEqual(['nothing']);
  });
});

it('shows and opens nothing when rendered on a server', async () => {
  const { renderToString } = await import('react-dom/server' as string);
  const Bar = () =>
    createElement('p', null, JSON.stringify(useJobProgress('Job:x', { url: 'http://127.0.0.1:9/' })));
  expect(renderToString(createElement(Bar))).toBe('<p>{}</p>');
});

describe('the page on watch tokens', () => {
  it('has only examples that are tested', () => {
    expect([...examples('watch-tokens.md').keys()].sort()).toEqual([
      'event-source',
      'many',
      'react',
      'server',
    ]);
  });

  it('gives users tokens for their own jobs', async () => {
    const { code } = await bundle({ main: example('watch-tokens.md', 'server') }, 'node');
    const settings = { JOBTREE_URL: app.url, JOBTREE_TOKEN: key };
    const before = Object.fromEntries(Object.keys(settings).map((name) => [name, process.env[name]]));
    Object.assign(process.env, settings);
    onTestFinished(() => {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    const { tokenFor } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const id = await begin('documented');
    expect(await tokenFor({ jobIds: [id] }, id)).toMatch(/^jobtree_watch_/);
    await expect(tokenFor({ jobIds: [] }, id)).rejects.toThrow('Not found');
  });

  it.skipIf(withoutBrowser)('event-source works in a browser, from another origin', async () => {
    giveToken = (jobId) => shortLived(jobId);
    given = 0;
    const id = await begin('streamed', 2);
    const main = `import { follow } from './example';
      follow(${JSON.stringify(app.url)}, jobId, token, (message, percent) => { root.innerText = percent; });`;
    const { shown, shows } = await open(main, id, origin, {
      example: example('watch-tokens.md', 'event-source'),
    });
    await shows('0');
    await expect.poll(() => given, { timeout: 15_000 }).toBeGreaterThan(2);
    await work('streamed', 1);
    await shows('50');
    await work('streamed', 1);
    await shows('100');
    expect(await shown()).toEqual(['0', '50', '100']);
  });

  it.skipIf(withoutBrowser)('react works in a browser', async () => {
    giveToken = async (jobId) => (await client.createWatchToken(jobId)).token;
    const id = await begin('component', 1);
    const main = `import { ImportBar } from './example';
      import { createRoot } from 'react-dom/client';
      createRoot(root).render(<ImportBar jobId={jobId} url=${JSON.stringify(app.url)} />);`;
    const text = example('watch-tokens.md', 'react');
    const { shows } = await open(main, id, origin, { example: text });
    await shows('Waiting for job to start…');
    await work('component', 1);
    await shows('Job complete');
  });

  it.skipIf(withoutBrowser)('many works in a browser, from another origin', async () => {
    giveToken = (jobId) => shortLived(jobId);
    given = 0;
    const id = await begin('without-react', 2);
    const main = `import { follow } from './example';
      follow(jobId, { set value(percent) { root.innerText = percent; } });`;
    const text = example('watch-tokens.md', 'many').replace('https://jobs.example.com/graphql', app.url);
    const { shown, shows } = await open(main, id, origin, { example: text });
    await shows('0');
    await expect.poll(() => given, { timeout: 15_000 }).toBeGreaterThan(2);
    await work('without-react', 2);
    await shows('100');
    expect(await shown()).toEqual(['0', '100']);
  });
});

it('examples/progress-page starts without JOBTREE_URL', async () => {
  const program = fileURLToPath(new URL('../../examples/progress-page/server.mjs', import.meta.url));
  const { JOBTREE_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [program], { env: { ...env, PORT: '0' } });
  onTestFinished(() => void child.kill());
  const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  expect(String(line)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\n$/);
});

describe.skipIf(withoutBrowser)('examples/progress-page', () => {
  let child: ChildProcess;
  let other: App;
  let url: string;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}/`;
    other = await startServer(db.url, { JOBTREE_AUTH: 'keys', JOBTREE_ALLOWED_ORIGINS: url.slice(0, -1) });
    const program = fileURLToPath(new URL('../../examples/progress-page/server.mjs', import.meta.url));
    child = spawn(process.execPath, [program], {
      env: { ...process.env, PORT: String(port), JOBTREE_URL: other.url, JOBTREE_TOKEN: key },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
  });
  afterAll(async () => {
    child.kill();
    await once(child, 'exit');
    await other.close();
  });

  const bars = (page: Page) =>
    page.locator('progress').evaluateAll((all) => all.map((one) => (one as HTMLProgressElement).value));

  it.each([
    ['desktop', 'light', 1280],
    ['desktop', 'dark', 1280],
    ['phone', 'light', 390],
    ['phone', 'dark', 390],
  ] as const)(
    'shows a user their fifty imports over one connection, on a %s in %s',
    async (device, colorScheme, width) => {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
      onTestFinished(() => page.close());
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      let sockets = 0;
      page.on('websocket', () => sockets++);
      await page.goto(url);
      const length = 50;
      for (let i = 1; i <= length; i++) {
        await page.getByRole('button').click();
        await page
          .locator('progress')
          .nth(i - 1)
          .waitFor();
      }
      await page
        .getByText('Waiting for job to start…')
        .nth(length - 1)
        .waitFor();
      const some = [...Array.from({ length: 25 }, () => 100), 65, ...Array.from({ length: 24 }, () => 0)];
      await work('import', 25 * 20 + 13);
      await expect.poll(() => bars(page)).toEqual(some);
      const folder = process.env.TEST_SCREENSHOTS;
      if (folder !== undefined)
        await page.screenshot({ path: `${folder}/${device}-${colorScheme}.png`, fullPage: true });
      await work('import', 24 * 20 + 7);
      await expect.poll(() => bars(page)).toEqual(some.map(() => 100));
      expect(sockets).toBe(1);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(faults).toEqual([]);
    },
  );

  it('gives nobody a token for imports of others', async () => {
    const session = async () => (await fetch(url)).headers.get('set-cookie')?.split(';')[0] ?? '';
    const [mine, others] = [await session(), await session()];
    const post = (path: string, cookie: string) => fetch(url + path, { method: 'POST', headers: { cookie } });
    const { id } = (await (await post('imports', mine)).json()) as { id: string };
    expect((await post(`imports/${id}/token`, mine)).status).toBe(200);
    for (const cookie of [others, '', 'session=x'])
      expect((await post(`imports/${id}/token`, cookie)).status).toBe(404);
    await client.cancelJob(id);
  });
});
