/** Each dialog while it is open, and the screens that say why something stands still: no violation of WCAG 2.2 AA, and nothing wider than it may be. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createJob } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { openDashboard, prepare, screenshot, views } from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

/** As long as names that people give, and without a place to break. */
const type = 'billing.recalculate_invoices_of_all_customers_of_the_last_year';
const key = 'customer-00000000000000000000000000000000000000000000000000000017';

describe.skipIf(withoutBrowser)('dialogs of the dashboard', () => {
  const { db, app } = useServer();
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof prepare>>;
  let held: { tree: string; scheduled: string; behind: string };
  beforeAll(async () => {
    browser = await launchBrowser();
    ids = await prepare(app.url);
    await makeKey(db, ['watcher'], { name: 'a screen on the wall' });
    const client = createClient({ url: app.url });
    await client.queues.pause(type);
    const later = { runAt: new Date(Date.now() + 86_400_000).toISOString() };
    const tree = await createJob(app.url, {
      type,
      items: [{ serializeKey: key }, { serializeKey: key }, { ...later, payload: { row: 1 } }],
    });
    const [, behind, scheduled] = (await client.items(tree)).nodes;
    held = { tree, behind: behind?.id as string, scheduled: scheduled?.id as string };
    await client.close();
  });
  afterAll(async () => {
    await browser.close();
  });

  describe.each(views)('%s, %s', (scheme, device, size) => {
    it('have no violation, and nothing in them is wider than they are', { timeout: 240_000 }, async () => {
      const { page, problems } = await openDashboard(browser, app.url, '/', { size, scheme });
      const dialog = page.locator('dialog[open]');
      const found: string[] = [];
      const look = async (name: string) => {
        await page.getByText('Loading…').first().waitFor({ state: 'detached' });
        await screenshot(page, `dialog-${name}-${scheme}-${device}`);
        const wrong = [...(await tooWide(page)), ...(await violations(page))];
        found.push(...wrong.map((one) => `${name}: ${one}`));
      };
      const show = async (path: string) => {
        await page.goto(new URL(`dashboard/#${path}`, app.url).href);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('networkidle');
      };
      const buttons = page.locator('main, .conveniences');
      const press = (name: string) => buttons.getByRole('button', { name, exact: true }).first().click();
      const open = async (name: string) => {
        await press(name);
        await dialog.getByRole('button').last().waitFor();
      };
      const close = async () => {
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      };
      /** Each button, and what its dialog shows. */
      const openEach = async (path: string, names: readonly string[]) => {
        await show(path);
        for (const name of names) {
          await open(name);
          await look(`${name} at ${path.split(/[/?]/)[1] || 'trees'}`);
          await close();
        }
      };

      await openEach('/', ['Search', 'Help']);
      await open('Search');
      await page.keyboard.type('nothing like that');
      await look('search without a result');
      await close();
      await openEach(`/?types=${type}`, ['Cancel all', 'Delete all']);

      await openEach(`/trees/${held.tree}`, [
        ...[
          'Resume type',
          'Run them now',
          'Seal',
          'Cancel',
          'Delete tree',
          'Change retention',
          'Add callback',
        ],
        ...['Share a progress page', 'Revoke links', 'Add item'],
      ]);
      await look('standstills of a tree');
      await open('Share a progress page');
      await dialog.getByRole('button', { name: 'Share a progress page' }).click();
      await dialog.getByLabel('Link').waitFor();
      await look('shared link');
      await close();
      await open('Add item');
      await dialog.getByLabel('Payload, as JSON').fill('{');
      await dialog.getByRole('button', { name: 'Add item' }).click();
      await dialog.getByRole('alert').waitFor();
      await look('refused item');
      await close();
      await press('Add file');
      await page.locator('input[type=file]').setInputFiles(csv);
      await dialog.getByText('Grace').waitFor();
      await look('file for a job');
      await close();

      await openEach(`/trees/${ids.imports}`, ['Replay failures']);
      await openEach(`/items/${held.scheduled}`, ['Change', 'Run now', 'Cancel item']);
      await show(`/items/${held.behind}`);
      await page.getByRole('region', { name: 'Why is it not running?' }).waitFor();
      await look('standstill of an item');
      await openEach(`/items/${ids.failedItem}`, ['Replay']);
      await openEach(`/dead-letters/${ids.group}`, ['Replay all', 'Discard all', 'Note']);
      await open('Replay all');
      const correction = dialog.getByLabel('Change each payload');
      await correction.fill('["row"]');
      await dialog.getByRole('button', { name: 'Replay all', exact: true }).click();
      await dialog.getByText('Enter a JSON object').waitFor();
      await look('wrong correction');
      await correction.fill('{"row": null, "customer": {"name": "Ada", "country": "GB"}}');
      await dialog.getByText('"customer"').first().waitFor();
      await look('correction');
      await close();
      await openEach('/dead-letters?type=import', ['Replay all that match', 'Discard all that match']);
      await openEach('/api-keys', ['Revoke']);
      await openEach('/schedules', ['Run now', 'Skip next', 'Pause']);

      await show('/schedules?view=month&day=2090-03-31');
      await page
        .getByRole('button', { name: /nightly/ })
        .first()
        .click();
      await dialog.getByRole('button').last().waitFor();
      await look('occurrence');
      await dialog.getByRole('button', { name: 'Run now' }).click();
      await dialog.nth(1).waitFor();
      await look('dialog of a dialog');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');

      await show('/imports');
      await page.locator('input[type=file]').setInputFiles(csv);
      await dialog.getByText('Grace').waitFor();
      await look('file for a new job');
      await close();

      await show(`/queues/${type}`);
      await look('queue that stands still');
      await openEach(`/queues/${type}`, ['Resume', 'Limit']);
      await open('Limit');
      await dialog.getByLabel('Items at a time').fill('3');
      await dialog.getByRole('button', { name: 'Limit' }).click();
      await page.getByText('Done: Limit').waitFor();
      await look('undo');
      await press('Undo');
      await page.getByText('Undone: Limit').waitFor();
      await look('undone');
      expect(found).toEqual([]);
      expect(problems).toEqual([]);
      await page.close();
    });
  });
});

const csv = {
  name: 'orders.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from('id;customer\n1;Ada\n2;Grace\n3\n'),
};

/** The page and the open dialogs, where something in them is wider than they are. */
const tooWide = (page: Page) =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('dialog[open]')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(
        ({ tagName, scrollWidth, clientWidth }) => `${tagName} has ${scrollWidth} px in ${clientWidth} px`,
      ),
  );
