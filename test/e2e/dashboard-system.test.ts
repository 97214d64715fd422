/** The screen of the system, on a Postgres that is as it should be: what the doctor finds and which servers run, without a reload. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import type { NewApiKey } from '../../src/domain/access/api-keys.ts';
import type { Role } from '../../src/domain/access/rights.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded/start.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data, subscribe } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { desktop, excess, openDashboard, phone, screenshot } from '../support/dashboard.ts';
import { createDatabase } from '../support/database.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';

/** A server looks every ten seconds, and is asked every two. */
const timeout = 40_000;

describe.skipIf(withoutBrowser)('the system', () => {
  let folder: string;
  let postgres: EmbeddedPostgres;
  let db: pg.Client;
  let app: App;
  let browser: Browser;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jobtree-system-'));
    postgres = await startEmbeddedPostgres({ dataDirectory: folder, settings: { shared_buffers: '16MB' } });
    app = await startServer(postgres.url);
    db = new pg.Client({ connectionString: postgres.url });
    await db.connect();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await db?.end();
    await postgres?.stop();
    for (const path of [postgres?.dataDirectory, folder])
      if (path) await rm(path, { recursive: true, force: true });
  });

  it('says that all is well; a finding appears with what to do about it, and goes', async () => {
    const client = createClient({ url: app.url });
    await client.callbacks.putEndpoint({ name: 'shop', url: 'https://93.184.216.34/hook' });
    await client.close();
    const context = { permissions: ['clipboard-read', 'clipboard-write'] };
    const { page, problems } = await openDashboard(browser, app.url, '/system', { context });
    await page.getByText('All is well.').waitFor({ timeout });
    await page.getByText(/\d+ checks found nothing wrong/).click();
    await page.getByText(/migrations of this version are applied/).waitFor();
    await screenshot(page, 'system-well');

    await db.query(`update jobtree.callback_endpoint set gone_at = now() where name = 'shop'`);
    const findings = page.getByRole('region', { name: 'Findings' });
    await findings.getByText('The endpoint shop answered 410 (gone)').waitFor({ timeout });
    await findings.getByText('Warning').waitFor();
    await findings.getByRole('button', { name: 'Copy' }).first().click();
    await findings.getByText('✓ Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('jobtree callback put shop URL');
    for (const [name, size] of [
      ['desktop', desktop],
      ['phone', phone],
    ] as const)
      for (const scheme of ['light', 'dark'] as const) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme: scheme });
        await screenshot(page, `system-finding-${scheme}-${name}`);
        expect(await excess(page)).toBe(0);
        expect(await violations(page)).toEqual([]);
      }

    await db.query(`update jobtree.callback_endpoint set gone_at = null where name = 'shop'`);
    await page.getByText('All is well.').waitFor({ timeout });
    expect(problems).toEqual([]);
    await page.close();
  });

  it('a worker and each of its types lead to the items that it holds', async () => {
    const claimOne = (worker: string, type: string) =>
      data(
        app.url,
        `mutation ($worker: String!, $type: String!) {
          claimItems(input: { worker: $worker, requests: [{ type: $type, limit: 1 }] }) { __typename }
        }`,
        { worker, type },
      );
    for (const type of ['mail', 'print']) await createJob(app.url, { type, items: [{}, {}] });
    await claimOne('ann', 'mail');
    await claimOne('ann', 'print');
    await claimOne('bob', 'mail');
    const stop = ['1.0.0', '2.0.0'].map((version) =>
      subscribe(
        app.url,
        `subscription { workAvailable(types: ["mail"], worker: { name: "v${version}", version: "${version}" }) { types } }`,
      ),
    );
    for (const hints of stop) await hints[Symbol.asyncIterator]().next();
    const { page, problems } = await openDashboard(browser, app.url, '/workers');
    await page.getByText('Version 1.0.0: 1 worker; Version 2.0.0: 1 worker').waitFor({ timeout });
    const rows = page.getByRole('table', { name: 'Held items' }).getByRole('row');
    const have = (count: number) => expect.poll(() => rows.count()).toBe(count + 1);
    await have(3);
    await page.getByRole('link', { name: 'ann', exact: true }).first().click();
    await page.getByText('Only ann', { exact: false }).waitFor();
    await have(2);
    await page.getByRole('row').filter({ hasText: 'ann' }).getByRole('link', { name: 'print 1' }).click();
    await page.getByText('Only ann, print').waitFor();
    await have(1);
    expect(page.url()).toContain('worker=ann&type=print');
    await screenshot(page, 'workers-of-one');
    await page.setViewportSize(phone);
    expect(await excess(page)).toBe(0);
    expect(await violations(page)).toEqual([]);
    await screenshot(page, 'workers-of-one-phone');
    await page.getByRole('link', { name: 'Show all' }).click();
    await have(3);
    expect(problems).toEqual([]);
    await page.close();
    await Promise.all(stop.map((hints) => hints.close()));
  });

  it('a second server appears, and is gone when it ends', async () => {
    const { page } = await openDashboard(browser, app.url, '/system');
    const rows = page.getByRole('table', { name: 'Servers' }).getByRole('row');
    const have = (count: number) =>
      expect.poll(() => rows.count(), { timeout, interval: 100 }).toBe(count + 1);
    await have(1);
    const other = await startServer(postgres.url);
    await have(2);
    await other.close();
    await have(1);
    await page.close();
  });
});

describe.skipIf(withoutBrowser)('who may see the system', () => {
  it('is an admin of no tenant: others have no link to it', async () => {
    const db = await createDatabase();
    const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    const browser = await launchBrowser();
    const linkOf = async (role: Role, options: Partial<NewApiKey> = {}) => {
      const page = await browser.newPage();
      const { key } = await makeKey(db, [role], options);
      await page.goto(new URL('dashboard/', app.url).href);
      await page.getByLabel('Key or token').fill(key);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('link', { name: 'Queues', exact: true }).waitFor();
      const count = await page
        .getByRole('link', { name: 'System', exact: true, includeHidden: true })
        .count();
      await page.close();
      return count;
    };
    expect(await linkOf('admin')).toBe(1);
    expect(await linkOf('admin', { tenant: 'acme' })).toBe(0);
    expect(await linkOf('operator')).toBe(0);
    await browser.close();
    await app.close();
    await db.drop();
  });
});
