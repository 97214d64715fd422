/** `<jobtree-progress>` in a real browser, in a page of an application that allows no inline code or style. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { createJob, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { bundle } from '../support/bundle.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';
import { forge } from '../support/watch-tokens.ts';

describe.skipIf(withoutBrowser)('<jobtree-progress>', () => {
  let db: TestDatabase;
  /** Asks who its callers are. */
  let app: App;
  /** On the same database, for those who work. */
  let open: App;
  let browser: Browser;
  let site: Server;
  let origin: string;
  let markup = '';
  let code = '';
  beforeAll(async () => {
    ({ code } = await bundle({ main: `import 'jobtree-client/element';` }));
    site = createServer(({ url }, response) => {
      if (url === '/page.js') return response.setHeader('content-type', 'text/javascript').end(code);
      const { host } = new URL(app.url);
      response.setHeader(
        'content-security-policy',
        `default-src 'none'; script-src 'self'; style-src 'none'; connect-src http://${host} ws://${host}; require-trusted-types-for 'script'`,
      );
      response.setHeader('content-type', 'text/html');
      return response.end(
        `<!doctype html><html lang="en"><meta name="color-scheme" content="light dark"><title>Orders</title><main><h1>Orders</h1>${markup}</main><script type="module" src="page.js"></script>`,
      );
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    db = await createDatabase();
    app = await startServer(db.url, { JOBTREE_AUTH: 'keys', JOBTREE_ALLOWED_ORIGINS: origin });
    open = await startServer(db.url);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await Promise.all([app.close(), open.close()]);
    site.closeAllConnections();
    site.close();
    await db.drop();
  });

  const begin = (type: string, count = 4) =>
    createJob(open.url, { type, sealed: true, items: Array.from({ length: count }, () => ({})) });
  const tokenOf = (jobId: string, ms = 60_000) =>
    forge(db, { rootId: jobId.replace('Job:', ''), expiresMs: Date.now() + ms });
  const element = async (jobId: string) =>
    `<jobtree-progress url="${app.url}" tree="${jobId}" token="${await tokenOf(jobId)}" label="${jobId}"></jobtree-progress>`;

  const visit = async (html: string, colorScheme: 'light' | 'dark' = 'light') => {
    markup = html;
    const page = await browser.newPage({ colorScheme });
    page.setDefaultTimeout(10_000);
    const problems: string[] = [];
    const sockets: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('websocket', (socket) => sockets.push(socket.url()));
    await page.goto(origin);
    return { page, problems, sockets };
  };
  /** What the events of the first element of the page were. */
  const record = (page: Page) =>
    page.evaluate(() => {
      const seen: string[] = [];
      Object.assign(globalThis, { seen });
      const bar = document.querySelector('jobtree-progress');
      for (const name of ['progress', 'complete', 'error'])
        bar?.addEventListener(name, (event) => {
          const { percent, code } = (event as CustomEvent).detail;
          seen.push(`${name} ${percent ?? code}`);
        });
    });
  const seen = (page: Page) => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);

  it.each(['light', 'dark'] as const)(
    'follows a tree to its end by push, in a page without inline code or style (%s)',
    async (scheme) => {
      const type = `followed-${scheme}`;
      const id = await begin(type);
      const { page, problems } = await visit(await element(id), scheme);
      const bar = page.getByRole('progressbar', { name: id });
      await page.getByText('0 of 4 items, 0%').waitFor();
      await record(page);
      await work(open.url, type, 2);
      await page.getByText('2 of 4 items, 50%').waitFor();
      expect(await bar.getAttribute('aria-valuenow')).toBe('50');
      expect(await bar.getAttribute('aria-valuetext')).toBe('2 of 4 items, 50%');
      const widths = await bar
        .locator('span')
        .evaluateAll((parts) => parts.map((part) => (part as HTMLElement).style.inlineSize));
      expect(widths).toEqual(['50%', '0%', '0%']);
      expect(await violations(page)).toEqual([]);
      await work(open.url, type, 2);
      await expect.poll(() => seen(page)).toContain('complete 100');
      expect((await seen(page)).filter((name) => name.startsWith('complete'))).toEqual(['complete 100']);
      expect(problems).toEqual([]);
      await page.close();
    },
  );

  it('shares one WebSocket with all others of the page', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => begin(`shared-${i}`, 1)));
    const { page, sockets } = await visit((await Promise.all(ids.map(element))).join(''));
    await expect.poll(() => page.getByText('0 of 1 item, 0%').count()).toBe(20);
    await work(open.url, 'shared-7', 1);
    await page.getByText('1 of 1 item, 100%').waitFor();
    expect(sockets).toHaveLength(1);
    await page.close();
  });

  it('says that its token has ended, and goes on with the next one', async () => {
    const id = await begin('renewed');
    markup = '';
    const short = await tokenOf(id, 2_000);
    const { page } = await visit(
      `<jobtree-progress url="${app.url}" tree="${id}" token="${short}"></jobtree-progress>`,
    );
    await page.getByText('0 of 4 items, 0%').waitFor();
    await record(page);
    await page.getByRole('alert').getByText('expired').waitFor();
    expect(await seen(page)).toContain('error UNAUTHENTICATED');
    // What was known stays.
    expect(await page.getByText('0 of 4 items, 0%').count()).toBe(1);
    await page.evaluate(
      (token) => document.querySelector('jobtree-progress')?.setAttribute('token', token),
      await tokenOf(id),
    );
    await work(open.url, 'renewed', 1);
    await page.getByText('1 of 4 items, 25%').waitFor();
    // Empty, it is not there for anybody.
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.close();
  });

  it('takes properties that were set before it was defined, and says its state in other words', async () => {
    const id = await begin('worded');
    const { page } = await visit('<div id="place"></div>');
    await page.evaluate(
      ({ id, url, token }) => {
        const bar = document.createElement('jobtree-progress');
        Object.assign(bar, {
          url,
          tree: id,
          token: async () => token,
          format: ({ percent }: { percent: number }) => `${percent} Prozent`,
        });
        document.getElementById('place')?.append(bar);
      },
      { id, url: app.url, token: await tokenOf(id) },
    );
    await page.getByText('0 Prozent').waitFor();
    await page.close();
  });

  it('speaks its own language, or that around it, or that of the browser', async () => {
    const id = await begin('spoken', 1_000);
    const of = async (attributes: string) =>
      (await element(id)).replace('<jobtree-progress', `<jobtree-progress ${attributes}`);
    const { page } = await visit(
      `${await of('lang="de"')}<div lang="de-CH">${await of('')}</div><p lang="fr">${await of('')}</p>${await of('')}`,
    );
    await expect.poll(() => page.getByText(/^0 von 1.000 Elementen, 0 %$/).count()).toBe(2);
    await expect.poll(() => page.getByText('0 of 1,000 items, 0%').count()).toBe(2);
    // The page no longer says which one it is in: Playwright's browser is English.
    await page.evaluate(() => {
      document.documentElement.removeAttribute('lang');
      document.querySelector('jobtree-progress')?.removeAttribute('lang');
    });
    await expect.poll(() => page.getByText('0 of 1,000 items, 0%').count()).toBe(3);
    await page.close();
  });
});
