/** The items of a job in the dashboard: found by their payloads, added by hand and from files; and the callbacks of a tree. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createJob, data, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { claim, excess, openDashboard, type PageOptions, screenshot, views } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('items in the dashboard', () => {
  const { db, app } = useServer({ JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8' });
  const browser = useBrowser();
  /** A job of 25,000 items, each with a customer of its own. */
  let large: string;
  beforeAll(async () => {
    large = await createJob(app.url, { type: 'large' });
    const client = createClient({ url: app.url });
    await client.addItems(
      large,
      Array.from({ length: 25_000 }, (_, n) => ({
        payload: { customer: { id: n, name: n % 40 === 0 ? 'Ada' : 'Grace' } },
      })),
    );
    await client.close();
  }, 120_000);

  const open = (path: string, options: PageOptions = {}) => openDashboard(browser, app.url, path, options);
  const items = (page: Page) => page.getByRole('table', { name: 'Items' });

  describe('the search of payloads', () => {
    it('finds an item by what a key leads to, and says how many it has looked at; the address says what is sought', async () => {
      const { page, problems } = await open(`/trees/${large}`);
      await page.getByLabel('Find in payloads').fill('12345');
      await page.getByLabel('Exactly, under this key').fill('customer.id');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('Looked at 25,000 of 25,000: 1 found').waitFor();
      expect(await items(page).getByRole('row').count()).toBe(2);

      const { page: other } = await open(new URL(page.url()).hash.slice(1));
      await other.getByText('Looked at 25,000 of 25,000: 1 found').waitFor();
      await items(other).getByRole('link').first().click();
      await other.getByText('"id": 12345').waitFor();
      await other.close();
      await page.getByRole('button', { name: 'Show all' }).click();
      await items(page).getByRole('row').nth(2).waitFor();
      expect(problems).toEqual([]);
      await page.close();
    });

    it('shows what it finds while it looks, waits after 500, and can be stopped and go on', async () => {
      const { page } = await open(`/trees/${large}?find=ada`);
      await page
        .getByRole('status')
        .getByText(/Looked at 2\d,\d{3} of 25,000: 500 found/)
        .waitFor();
      await page.getByRole('button', { name: 'Go on' }).click();
      await page.getByRole('status').getByText('Looked at 25,000 of 25,000: 625 found').waitFor();
      expect(await page.getByRole('button', { name: 'Go on' }).count()).toBe(0);

      let arrived = () => {};
      const isAsked = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      const isSearch = (body: string | null) => body?.includes('searchItems') === true;
      let reads = 0;
      await page.route('**/graphql', (route) => {
        if (!isSearch(route.request().postData()) || ++reads < 2) return route.continue();
        arrived();
        return undefined;
      });
      await page.getByLabel('Find in payloads').fill('"id":24999');
      await page.getByRole('button', { name: 'Find', exact: true }).click();
      await isAsked;
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('status').getByText('Looked at 10,000 of 25,000: 0 found').waitFor();
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.getByRole('button', { name: 'Go on' }).click();
      await page.getByRole('status').getByText('Looked at 25,000 of 25,000: 1 found').waitFor();
      await page.close();
    });

    it('what was found is followed, as long as it is on the screen', async () => {
      const payload = (n: number) => ({ payload: { name: 'Ada', n } });
      const id = await createJob(app.url, { type: 'found', sealed: true, items: [1, 2, 3].map(payload) });
      const { page, problems } = await open(`/trees/${id}?find=ada`);
      const states = () => items(page).locator('.state').allInnerTexts();
      await expect.poll(states).toEqual(Array(3).fill('○ Ready'));
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.postData() ?? ''));
      await work(app.url, 'found', 2, 'done');
      await expect.poll(states).toEqual(['✓ Succeeded', '✓ Succeeded', '○ Ready']);
      await work(app.url, 'found', 1, 'done');
      await expect.poll(states).toEqual(Array(3).fill('✓ Succeeded'));
      expect(asked.filter((body) => body.includes('searchItems'))).toEqual([]);
      expect(problems).toEqual([]);
      await page.close();
    });

    it('finds items by the code of their last failure, and the one with a dedupe key; the address says which', async () => {
      const coded = [1, 2, 3].map((n) => ({ payload: { n }, dedupeKey: `order-${n}` }));
      const id = await createJob(app.url, { type: 'coded', sealed: true, items: coded });
      await data(app.url, claim, { type: 'coded' }).then(({ claimItems: { assignments } }) =>
        data(
          app.url,
          `mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { __typename } }`,
          {
            reports: assignments.map(({ id: assignmentId }: { id: string }, n: number) => ({
              assignmentId,
              outcome: { failure: { code: n === 0 ? 'TIMEOUT' : 'BAD', message: 'No', permanent: true } },
            })),
          },
        ),
      );
      const { page, problems } = await open(`/trees/${id}`);
      await page.getByLabel('Code of the last failure').fill('BAD');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('Looked at 3 of 3: 2 found').waitFor();
      await page.getByLabel('Dedupe key').fill('order-3');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('Looked at 1 of 1: 1 found').waitFor();
      const { page: other } = await open(new URL(page.url()).hash.slice(1));
      await items(other).getByText('order-3', { exact: true }).waitFor();
      expect(await items(other).getByRole('row').count()).toBe(2);
      await other.close();
      await page.getByRole('button', { name: 'Show all' }).click();
      await items(page).getByText('order-1', { exact: true }).waitFor();
      expect(problems).toEqual([]);
      await page.close();
    });

    it('says there what the server refuses', async () => {
      const { page } = await open(`/trees/${large}?find=1&path=customer..id`);
      await page.getByRole('alert').getByText('path has an empty part').waitFor();
      await page.getByLabel('Exactly, under this key').fill('customer.id');
      await page.getByRole('button', { name: 'Find', exact: true }).click();
      await page.getByText('Looked at 25,000 of 25,000: 1 found').waitFor();
      await page.close();
    });
  });

  describe('a job that is open', () => {
    it('gets an item that somebody writes: what is no JSON, breaks the schema or has a known key is said there', async () => {
      const client = createClient({ url: app.url });
      await client.types.register({
        type: 'typed',
        version: 1,
        payload: { type: 'object', required: ['to'], properties: { to: { type: 'string' } } },
      });
      await client.close();
      const id = await createJob(app.url, { type: 'typed' });
      const { page, problems } = await open(`/trees/${id}`);
      await page.getByRole('button', { name: 'Add item' }).click();
      const dialog = page.getByRole('dialog');
      const add = dialog.getByRole('button', { name: 'Add item' });
      await dialog.getByLabel('Payload, as JSON').fill('{"to"');
      await add.click();
      await dialog.getByRole('alert').getByText('This is not valid JSON: line 1, column 6.').waitFor();
      await dialog.getByLabel('Payload, as JSON').fill('{"to": 7}');
      await add.click();
      await dialog.getByRole('alert').getByText('payload.to').waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog.getByLabel('Payload, as JSON').fill('{"to": "ada@example.com"}');
      await dialog.getByLabel('Dedupe key').fill('ada');
      await add.click();
      await items(page).getByText('ada', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Add item' }).click();
      await add.click();
      await dialog.getByRole('alert').getByText('The job has an item with this dedupe key.').waitFor();
      expect(problems).toEqual([]);
      await page.close();
    });

    it('gets the rows of a file behind its items, whose schema is checked, and is sealed', async () => {
      const id = await createJob(app.url, { type: 'typed', items: [{ payload: { to: 'first' } }] });
      const { page, problems } = await open(`/trees/${id}`);
      await page.getByRole('button', { name: 'Add file' }).click();
      const buffer = Buffer.from('to,name\na@example.com,Ada\nb@example.com,Bo\n');
      await page.locator('input[type=file]').setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer });
      const dialog = page.getByRole('dialog');
      await dialog.getByText('The rows become items of typed').waitFor();
      await dialog.getByText('{"to":"a@example.com","name":"Ada"}').waitFor();
      expect(await dialog.getByLabel('Type of the job').count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      // Items can be read, but none is added: so the tree is read again while the import runs.
      const lock = await db.connect();
      await lock.query('begin; lock table jobtree.job_item in share mode');
      await dialog.getByRole('button', { name: 'Import', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText('import running').waitFor();
      await lock.end();
      await page.getByText('import completed').waitFor();
      await page.getByText('3 items', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: 'Add file' }).count()).toBe(0);
      expect(problems).toEqual([]);
      await page.close();
    });
  });

  describe('the callbacks of a tree', () => {
    it('are added while it is open, refused where they are entered, and shown with what was sent, which can be sent again', async () => {
      await data(
        app.url,
        `mutation { putCallbackEndpoint(input: { name: "shop", url: "http://127.0.0.1:9/hook" }) { __typename } }`,
      );
      const id = await createJob(app.url, { type: 'told', sealed: true, items: [{}] });
      const { page, problems } = await open(`/trees/${id}`);
      await page.getByRole('button', { name: 'Add callback' }).click();
      const dialog = page.getByRole('dialog');
      const add = dialog.getByRole('button', { name: 'Add callback' });
      await dialog.getByLabel('Endpoint').fill('nobody');
      await add.click();
      await dialog.getByRole('alert').getByText('there is no endpoint of that name').waitFor();
      await dialog.getByLabel('Endpoint').fill('shop');
      expect(await violations(page)).toEqual([]);
      await add.click();
      const sent = page.getByRole('region', { name: 'Callbacks' });
      await sent.getByText('There are no callbacks, sent or planned.').waitFor();
      await work(app.url, 'told', 1, 'done');
      await sent.getByRole('row').filter({ hasText: 'shop' }).getByText('TREE').waitFor();
      await sent.getByRole('button', { name: 'Send again' }).click();
      await dialog.getByText('Send this message to shop again?').waitFor();
      await dialog.getByRole('button', { name: 'Not now' }).click();
      expect(problems).toEqual([]);
      await page.close();
    });
  });

  it.each(views)('axe finds nothing wrong: %s, %s', async (scheme, device, size) => {
    const { page } = await open(`/trees/${large}?find=ada`, { size, scheme });
    await page.getByRole('status').getByText('500 found').waitFor();
    await page.getByRole('button', { name: 'Add file' }).click();
    await page.getByLabel('Find in payloads').scrollIntoViewIfNeeded();
    await screenshot(page, `search-${scheme}-${device}`);
    expect(await violations(page)).toEqual([]);
    expect(await excess(page)).toBe(0);
    await page.getByRole('button', { name: 'Add item' }).click();
    await page.getByRole('dialog').waitFor();
    await screenshot(page, `add-item-${scheme}-${device}`);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Add callback' }).click();
    await screenshot(page, `add-callback-${scheme}-${device}`);
    expect(await violations(page)).toEqual([]);
    await page.close();
  });
});
