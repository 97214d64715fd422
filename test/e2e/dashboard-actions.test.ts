/** Each action of the dashboard, by its button: what it does. Firefox does the same in dashboard-firefox.test.ts. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';
import { actions, calledBack, handOf, receiveCallbacks } from '../support/dashboard-actions.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import type { Receiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

describe.skipIf(withoutBrowser)('on the dashboard, somebody', () => {
  let db: TestDatabase;
  let app: App;
  let client: Client;
  let receiver: Receiver;
  let browser: Browser;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url, calledBack);
    client = createClient({ url: app.url });
    receiver = await receiveCallbacks();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await client.close();
    await app.close();
    await receiver.close();
    await db.drop();
  });

  // What is tried once more finds nothing of the first time.
  let attempts = 0;
  it.each(Object.entries(actions))('%s', async (_, carryOut) => {
    const type = `action-${++attempts}`;
    const { page, problems } = await openDashboard(browser, app.url, '/');
    const [ask, is] = await carryOut(handOf(page, app.url), { client, url: app.url, db, receiver, type });
    await expect.poll(ask).toEqual(is);
    expect(problems).toEqual([]);
    await page.close();
  });
});
