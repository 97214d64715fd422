/** GraphiQL in a real browser, without any network but the server: a mutation, then a subscription that moves. */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { work } from '../support/api.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';

/** Set to a folder, the test leaves screenshots there. */
const shots = process.env.TEST_SCREENSHOTS;

describe.skipIf(withoutBrowser)('GraphiQL', () => {
  let db: TestDatabase;
  let app: App;
  let browser: Browser;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url);
    browser = await launchBrowser();
    if (shots !== undefined) mkdirSync(shots, { recursive: true });
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
    await db.drop();
  });

  const shoot = async (page: Page, name: string) => {
    if (shots !== undefined) await page.screenshot({ path: `${shots}/graphiql-${name}.png` });
  };
  /** The response as the editor shows it, which puts a span around every word. */
  const response = async (page: Page) =>
    (await page.locator('.graphiql-response').innerText()).replace(/\s/g, '');
  const shows = (page: Page, text: string) =>
    expect.poll(() => response(page)).toContain(text.replace(/\s/g, ''));

  it.each(['light', 'dark'] as const)(
    'runs a mutation and a moving subscription, offline (%s)',
    async (name) => {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: name });
      const elsewhere: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(new URL(app.url).origin) && !/^(data|blob):/.test(request.url()))
          elsewhere.push(request.url());
      });
      await page.goto(app.url);
      await page.getByRole('tab', { name: /CreateJob/ }).waitFor();
      await page.getByRole('button', { name: /Execute query/i }).click();
      await shows(page, '"itemCount": 3');
      const id = /Job:[0-9a-f-]{36}/.exec(await response(page))?.[0] ?? '';
      await shoot(page, `${name}-mutation`);

      const watch = encodeURIComponent(
        `subscription { jobProgress(jobId: "${id}") { message percent itemProgress itemCount } }`,
      );
      await page.goto(`${app.url}?query=${watch}`);
      await page.getByRole('button', { name: /Execute query/i }).click();
      await shows(page, 'Waiting for job to start…');
      await work(app.url, 'hello', 1);
      await shows(page, '33% complete');
      await shoot(page, `${name}-running`);
      await work(app.url, 'hello', 2);
      await shows(page, 'Job complete');
      await shoot(page, `${name}-complete`);
      expect(elsewhere).toEqual([]);
      await page.close();
    },
  );
});
