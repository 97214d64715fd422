/** GraphiQL in a real browser, without any network but the server: at the sizes of a desktop and of a phone, in light and dark. */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { work } from '../support/api.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

/** Set to a folder, the test leaves screenshots there. */
const shots = process.env.TEST_SCREENSHOTS;
/** What CodeMirror adds to its element. */
interface WithEditor {
  CodeMirror: { getScrollInfo(): Record<'width' | 'clientWidth' | 'height' | 'clientHeight', number> };
}

const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

describe.skipIf(withoutBrowser)('GraphiQL', () => {
  const { db, app } = useServer();
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
    if (shots !== undefined) mkdirSync(shots, { recursive: true });
  });
  afterAll(async () => {
    await browser.close();
  });

  const shoot = async (page: Page, name: string) => {
    if (shots !== undefined) await page.screenshot({ path: `${shots}/graphiql-${name}.png` });
  };
  /** The response as the editor shows it, which puts a span around every word. */
  const response = async (page: Page) =>
    (await page.locator('.result-window').innerText()).replace(/\s/g, '');
  const shows = (page: Page, text: string) =>
    expect.poll(() => response(page)).toContain(text.replace(/\s/g, ''));
  const run = (page: Page) => page.getByRole('button', { name: /Execute query/i }).click();
  const open = async (size: typeof desktop, colorScheme: 'light' | 'dark', url = app.url) => {
    const page = await browser.newPage({ viewport: size, colorScheme });
    const problems: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(new URL(url).origin) && !/^(data|blob):/.test(request.url()))
        problems.push(request.url());
    });
    await page.goto(url);
    await page.getByRole('tab', { name: /CreateJob/ }).waitFor();
    return { page, problems };
  };

  it.each([
    ['light', 'desktop', desktop],
    ['dark', 'desktop', desktop],
    ['light', 'phone', phone],
    ['dark', 'phone', phone],
  ] as const)('runs a mutation and a live subscription, offline (%s, %s)', async (scheme, device, size) => {
    const { page, problems } = await open(size, scheme);
    await run(page);
    await shows(page, '"itemCount": 3');
    const id = /Job:[0-9a-f-]{36}/.exec(await response(page))?.[0] ?? '';
    await shoot(page, `${scheme}-${device}-mutation`);

    const watch = encodeURIComponent(
      `subscription { jobProgress(jobId: "${id}") { message percent itemProgress itemCount } }`,
    );
    await page.goto(`${app.url}?query=${watch}`);
    await run(page);
    await shows(page, 'Waiting for job to start…');
    await work(app.url, 'hello', 1);
    await shows(page, '33% complete');
    await shoot(page, `${scheme}-${device}-running`);
    await work(app.url, 'hello', 2);
    await shows(page, 'Job complete');
    expect(problems).toEqual([]);
    await page.close();
  });

  it.each([
    ['desktop', desktop],
    ['phone', phone],
  ] as const)('shows each example whole at the first click on its tab (%s)', async (device, size) => {
    const { page, problems } = await open(size, 'light');
    for (const [name, first] of [
      ['Watch', 'subscription Watch'],
      ['Claim', 'mutation Claim'],
      ['Report', 'mutation Report'],
      ['Jobs', 'query Jobs'],
      ['Items', 'query Items'],
      ['CreateJob', 'mutation CreateJob'],
    ] as const) {
      await page.getByRole('tab', { name }).click();
      const editor = page.locator('.graphiql-query-editor .CodeMirror');
      await expect.poll(() => editor.innerText()).toContain(first);
      await shoot(page, `${device}-${name}`);
      const isWhole = await editor.evaluate((node) => {
        const { width, clientWidth, height, clientHeight } = (
          node as unknown as WithEditor
        ).CodeMirror.getScrollInfo();
        return { inWidth: width <= clientWidth, inHeight: height <= clientHeight };
      });
      // A phone shows the response below: there one scrolls down, but never to the side.
      expect(isWhole, name).toMatchObject({ inWidth: true, ...(device === 'desktop' && { inHeight: true }) });
    }
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBe(size.width);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('sends the headers that the user enters, with subscriptions too', async () => {
    const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    const { key } = await makeKey(db, ['admin']);
    const { page } = await open(desktop, 'light', closed.url);
    await run(page);
    await shows(page, 'UNAUTHENTICATED');
    const enterKey = async () => {
      await page.getByRole('button', { name: 'Headers', exact: true }).click();
      await page.locator('.graphiql-editor-tool .graphiql-editor:not(.hidden) .CodeMirror').click();
      await page.keyboard.insertText(JSON.stringify({ authorization: `Bearer ${key}` }));
    };
    await enterKey();
    await run(page);
    await shows(page, '"itemCount": 3');
    const id = /Job:[0-9a-f-]{36}/.exec(await response(page))?.[0] ?? '';
    const watch = `subscription { jobProgress(jobId: "${id}") { message } }`;
    await page.goto(`${closed.url}?query=${encodeURIComponent(watch)}`);
    await enterKey();
    await run(page);
    await shows(page, 'Waiting for job to start…');
    await page.close();
    await closed.close();
  });
});
