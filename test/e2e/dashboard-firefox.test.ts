/** The dashboard in Firefox: what a person does most, on each screen. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, ElementHandle, Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, work } from '../support/api.ts';
import { prepare, screens } from '../support/dashboard.ts';
import { actions, calledBack, dropIn, type Hand, receiveCallbacks } from '../support/dashboard-actions.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { launchFirefox, openInFirefox, says, withoutFirefox } from '../support/firefox.ts';
import { makeKey } from '../support/keys.ts';
import type { Receiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { forge } from '../support/watch-tokens.ts';

describe.skipIf(withoutFirefox)('the dashboard in Firefox', () => {
  let db: TestDatabase;
  /** Lets everybody in. */
  let app: App;
  /** Asks who its callers are. */
  let guarded: App;
  let client: Client;
  let receiver: Receiver;
  let browser: Browser;
  let folder: string;
  let ids: Awaited<ReturnType<typeof prepare>>;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url, calledBack);
    // It sends callbacks, too.
    guarded = await startServer(db.url, { ...calledBack, JOBTREE_AUTH: 'keys' });
    client = createClient({ url: app.url });
    receiver = await receiveCallbacks();
    folder = await mkdtemp(join(tmpdir(), 'jobtree-firefox-'));
    ids = await prepare(app.url);
    browser = await launchFirefox();
  });
  afterAll(async () => {
    await browser.close();
    await client.close();
    await Promise.all([app.close(), guarded.close(), receiver.close()]);
    await db.drop();
    await rm(folder, { recursive: true });
  });

  const open = (path: string, { url } = app) =>
    openInFirefox(browser, new URL(`dashboard/#${path}`, url).href);
  const button = (page: Page, name: string, inside = '') =>
    page.locator(`${inside} ::-p-aria([name="${name}"][role="button"])`);

  it('shows each screen, and neither complains nor asks for what its policy refuses', async () => {
    const { page, problems, close } = await open('/');
    for (const [name, path, shown] of screens(ids)) {
      await page.evaluate((path) => location.assign(`#${path}`), path);
      await says(page, shown);
      expect(await page.$eval('h1', ({ textContent }) => textContent), name).toMatch(/\w/);
      expect(problems, name).toEqual([]);
    }
    await close();
  });

  it('a bar moves by push', async () => {
    const { page, problems, close } = await open('/?types=moving');
    await createJob(app.url, { type: 'moving', sealed: true, items: [{}, {}, {}, {}] });
    await says(page, '0 of 4 items');
    await work(app.url, 'moving', 2);
    await says(page, '2 of 4 items');
    expect(problems).toEqual([]);
    await close();
  });

  it('signs in by key, for the tab', async () => {
    const { key } = await makeKey(db, ['admin']);
    const { page, close } = await open('/dead-letters', guarded);
    await page.locator('input[type=password]').fill(key);
    await button(page, 'Sign in').click();
    await says(page, 'No such customer');
    await page.reload();
    await says(page, 'No such customer');
    await close();
  });

  it('an action asks first, in a dialog', async () => {
    const { page, problems, close } = await open(
      `/trees/${await createJob(app.url, { type: 'halted', items: [{}] })}`,
    );
    await button(page, 'Cancel').click();
    await page.waitForSelector('dialog[open]');
    expect(await page.evaluate(() => document.activeElement?.closest('dialog') !== null)).toBe(true);
    expect(problems).toEqual([]);
    await close();
  });

  it('the keyboard finds a screen, and walks its rows', async () => {
    const { page, problems, close } = await open('/');
    await says(page, 'greet');
    await page.keyboard.down('Control');
    await page.keyboard.press('k');
    await page.keyboard.up('Control');
    await page.waitForSelector('.palette[open]');
    await page.keyboard.type('dead let');
    await says(page, /Dead letters/);
    await page.keyboard.press('Enter');
    await says(page, 'No such customer');
    await page.keyboard.press('j');
    expect(await page.evaluate(() => document.activeElement?.closest('[data-index]') !== null)).toBe(true);
    expect(problems).toEqual([]);
    await close();
  });

  it('the page of one tree moves by push', async () => {
    const id = await createJob(app.url, { type: 'watched', sealed: true, items: [{}, {}] });
    const token = await forge(db, {
      rootId: id.replace('Job:', ''),
      sees: 'PROGRESS',
      expiresMs: Date.now() + 60_000,
    });
    const link = new URL(`dashboard/watch/#${new URLSearchParams({ tree: id, token })}`, guarded.url);
    const { page, problems, close } = await openInFirefox(browser, link.href);
    await says(page, 'Waiting');
    await work(app.url, 'watched', 2);
    await says(page, 'Complete');
    expect(problems).toEqual([]);
    await close();
  });

  const handOf = (page: Page): Hand => ({
    async open(path) {
      await page.evaluate((path) => location.assign(`#${path}`), path);
    },
    async press(name, row) {
      const found = await page.waitForFunction(
        (name, row) => {
          const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
          const rows = [...document.querySelectorAll('.row[data-index]')];
          const place =
            dialog ??
            (row === undefined ? document.body : rows.find(({ textContent }) => textContent.includes(row)));
          const buttons = [...(place?.querySelectorAll('button') ?? [])];
          return buttons.find(({ innerText, disabled }) => innerText.trim() === name && !disabled);
        },
        {},
        name,
        row,
      );
      // Once it stands still: what a dialog says above it may arrive just now.
      await (found.asElement() as ElementHandle).asLocator().click();
    },
    async seesDialog() {
      await page.waitForSelector('dialog[open]');
    },
    async fill(label, text) {
      const found = await page.waitForFunction(
        (label) => {
          const labels = [...document.querySelectorAll<HTMLLabelElement>('dialog[open] label')];
          const field = labels.find(({ innerText }) => innerText.trim().startsWith(label))?.control;
          return field?.matches(':enabled') && field;
        },
        {},
        label,
      );
      const field = found.asElement() as ElementHandle<HTMLInputElement>;
      await field.evaluate((input) => input.select());
      await field.type(text);
    },
    says: (text) => says(page, text),
    async chooseFile(name, text) {
      await writeFile(join(folder, name), text);
      const input = await page.waitForSelector('input[type=file]');
      await (input as ElementHandle<HTMLInputElement>).uploadFile(join(folder, name));
    },
    drop: (selector, name, text) => page.$eval(selector, dropIn, { name, text }),
    async click(selector, x, y) {
      const found = await page.waitForSelector(selector);
      await found?.click({ offset: { x, y } });
    },
    async key(name, selector) {
      if (selector !== undefined) await page.focus(selector);
      await page.keyboard.press(name);
    },
    async closeDialog() {
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => document.querySelector('dialog[open]') === null);
    },
  });

  // What is tried once more finds nothing of the first time.
  let attempts = 0;
  it.each(Object.entries(actions))('%s', async (_, carryOut) => {
    const type = `action-${++attempts}`;
    const { page, problems, close } = await open('/');
    const [ask, is] = await carryOut(handOf(page), { client, url: app.url, db, receiver, type });
    await expect.poll(ask).toEqual(is);
    expect(problems).toEqual([]);
    await close();
  });
});
