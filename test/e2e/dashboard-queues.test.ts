/** Queues in the dashboard: all of them with their total, and a page for each type. */
import type { WebSocketRoute } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Worker } from '../../src/client/index.ts';
import { createJob, data, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, openDashboard, type PageOptions, screenshot, views } from '../support/dashboard.ts';
import type { TestDatabase } from '../support/database.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const items = (count: number) => Array.from({ length: count }, () => ({}));

/** Gives a type a day of figures, in which everything takes longer and longer. */
const fillDay = (db: TestDatabase, type: string) =>
  db.query(
    `insert into jobtree.figure
     select $1, date_trunc('minute', clock_timestamp()) - m * interval '1 minute', gen_random_uuid(), 40 + m % 50, 30 + m % 50, 4, 0, m % 3,
       array[20 + m / 60, 40 + m / 60, 60], array[20 + m % 50, 18, 2], array[70 - m / 60, 80 - m / 60], array[20 + m % 50, 14]
     from generate_series(1, 1439) m`,
    [type],
  );

describe.skipIf(withoutBrowser)('queues in the dashboard', () => {
  const { db, app } = useServer();
  const browser = useBrowser();

  const open = (path: string, { url = app.url, ...options }: PageOptions & { url?: string } = {}) =>
    openDashboard(browser, url, path, options);

  it('figures of a type and of all types move while a worker works, without a request', async () => {
    await createJob(app.url, { type: 'moving', items: items(30) });
    const { page, problems } = await open('/queues?find=MOV');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'moving' }) });
    const total = page.getByRole('row').filter({ hasText: '1 type' });
    const cells = async (of: typeof row) =>
      (await of.getByRole('cell').allInnerTexts()).map((text) => text.trim());
    await expect.poll(async () => (await cells(row)).slice(1, 3)).toEqual(['30', '0']);
    await expect.poll(async () => (await cells(total)).slice(1, 3)).toEqual(['30', '0']);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const worker = new Worker({
      url: app.url,
      types: { moving: { concurrency: 4, handler: async () => null } },
    });
    onTestFinished(() => worker.stop());
    void worker.start();
    for (const of of [row, total]) {
      await expect.poll(async () => (await cells(of))[1]).toBe('0');
      // Rate, wait and processing.
      await expect
        .poll(async () => (await cells(of)).slice(6, 9).every((text) => /[1-9]/.test(text)))
        .toBe(true);
    }
    expect(requests).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('nothing moves while the page is paused', async () => {
    await createJob(app.url, { type: 'still', items: items(3) });
    const { page } = await open('/queues?find=still');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'still' }) });
    const ready = row.getByRole('cell').nth(1);
    await expect.poll(() => ready.innerText()).toBe('3');
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await page.getByText('As of').waitFor();
    await work(app.url, 'still', 2);
    const { page: other } = await open('/queues?find=still');
    await expect.poll(() => other.getByRole('cell').nth(12).innerText()).toBe('1');
    expect(await ready.innerText()).toBe('3');
    await page.getByRole('button', { name: 'Resume updates' }).click();
    await expect.poll(() => ready.innerText()).toBe('1');
    await Promise.all([page.close(), other.close()]);
  });

  it("is live after an outage, also if a change of one's own came before it had noticed the end of that", async () => {
    await createJob(app.url, { type: 'back', items: items(1) });
    const page = await browser.newPage();
    let isAway = false;
    let refused = 0;
    let open: WebSocketRoute | undefined;
    await page.routeWebSocket(/\/graphql$/, (route) => {
      if (isAway) refused++;
      else open = route;
      if (isAway) void route.close({ code: 1012 });
      else route.connectToServer();
    });
    await page.goto(new URL('dashboard/#/queues?find=back', app.url).href);
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'back' }) });
    await row.getByRole('button', { name: 'Pause', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause' });
    isAway = true;
    await open?.close({ code: 1012 });
    await page.getByText('As of').waitFor();
    // Each failure in a row doubles the time until the next try: now it is more than a second.
    await expect.poll(() => refused).toBeGreaterThan(8);
    isAway = false;
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await row.getByText('Paused').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.close();
  });

  it('a filter by name is in the address, and leads back to all', async () => {
    await createJob(app.url, { type: 'filter one', items: items(1) });
    await createJob(app.url, { type: 'other', items: items(1) });
    const { page } = await open('/queues');
    await page.getByRole('link', { name: 'other', exact: true }).waitFor();
    await page.getByLabel('Name contains').fill('TER O');
    await page.getByLabel('Name contains').press('Enter');
    await page.getByRole('link', { name: 'other', exact: true }).waitFor({ state: 'detached' });
    await page.getByText('1 type', { exact: true }).waitFor();
    expect(page.url()).toContain('find=TER');
    await page.getByLabel('Name contains').fill('none such');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('No type has such a name.').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'filter one' }).waitFor();
    await page.close();
  });

  it('a type has a page, whatever its name is: its counts, what limits it and what that does, and links to what belongs to it', async () => {
    const type = 'acme//mail & co? 100%';
    await createJob(app.url, { type, items: items(5) });
    const { page, problems } = await open('/queues?find=acme');
    await page.getByRole('link', { name: type }).click();
    await page.getByRole('heading', { name: `Queue ${type}` }).waitFor();
    const fact = (name: string) =>
      page
        .locator('dl.facts > div')
        .filter({ has: page.getByText(name, { exact: true }) })
        .locator('dd');
    await expect.poll(() => fact('Ready').innerText()).toBe('5');
    await page.getByText(`No worker of ${type} is connected.`).waitFor();
    expect(await fact('At a time').innerText()).toBe('no limit');

    await page.getByRole('button', { name: 'Limit', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Items at a time').fill('2');
    await page.getByRole('dialog').getByRole('button', { name: 'Limit' }).click();
    await expect.poll(() => fact('At a time').innerText()).toBe('2, of which 0 are running');
    await page.getByRole('main').getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => fact('Pause').innerText()).toBe('yes: 5 ready items wait until it is resumed');
    await page.getByText('is paused.').waitFor();
    await page.getByRole('region', { name: 'Why' }).getByRole('button', { name: 'Resume type' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume type' }).click();
    await expect.poll(() => fact('Pause').innerText()).toBe('no');

    const links = page.getByRole('navigation', { name: 'What belongs to this type' });
    expect(await links.getByRole('link').allInnerTexts()).toEqual([
      'Trees',
      expect.stringMatching(/^Dead letters/),
      expect.stringMatching(/^Workers/),
      'Serialize keys',
      'Schedules',
    ]);
    // The same page by its address.
    const { page: other } = await open(new URL(page.url()).hash.slice(1));
    await other.getByRole('heading', { name: `Queue ${type}` }).waitFor();
    await other.close();
    await links.getByRole('link', { name: 'Trees' }).click();
    await page.getByRole('row').getByRole('link', { name: type }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('the history grows without a reload, and its range is in the address', async () => {
    const type = 'told';
    await createJob(app.url, { type, items: items(9) });
    const { page, problems } = await open(`/queues/${type}`);
    await page.getByText('Nothing was done in this time.').waitFor();
    await work(app.url, type, 4);
    const legend = page.getByRole('listitem').filter({ hasText: 'Succeeded' });
    await expect.poll(() => legend.innerText(), { timeout: 30_000 }).toBe('Succeeded: 4');
    await page.getByRole('img', { name: 'How long items waited: 4 in all' }).waitFor();
    await page.getByText('As a table').click();
    const rows = page.getByRole('table', { name: 'History' }).getByRole('row');
    await expect.poll(() => rows.filter({ hasText: '4' }).count()).toBeGreaterThan(0);
    await page.getByLabel('Time').selectOption('2 days');
    await expect.poll(() => page.url()).toContain('range=2d');
    await expect
      .poll(() => page.getByRole('table', { name: 'History' }).getAttribute('aria-rowcount'))
      .toBe('49');
    expect(problems).toEqual([]);
    await page.close();
  });

  it.each(views)(
    'a day of a type, which axe finds nothing wrong with: %s, %s',
    async (scheme, device, size) => {
      const type = `day ${scheme} ${device}`;
      await createJob(app.url, { type, items: items(7) });
      await fillDay(db, type);
      const { page, problems } = await open(`/queues/${encodeURIComponent(type)}?range=24h`, {
        size,
        scheme,
      });
      const heatMap = page.getByRole('img', { name: /^How long attempts took: [\d,]+ in all/ });
      await heatMap.waitFor();
      await page.locator('.chart canvas').waitFor();
      await screenshot(page, `queue-day-${scheme}-${device}`);
      await heatMap.hover();
      await page.getByText(/ – .*: [\d,]+$/).waitFor();
      await heatMap.scrollIntoViewIfNeeded();
      await screenshot(page, `queue-day-below-${scheme}-${device}`);
      expect(problems).toEqual([]);
      expect(await excess(page)).toBe(0);
      expect(await violations(page)).toEqual([]);
      await page.close();
    },
  );

  it('a watcher sees the page, and no way to change it', async () => {
    const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    onTestFinished(() => closed.close());
    const { key } = await makeKey(db, ['watcher'], { name: 'a watcher', types: ['seen'] });
    await createJob(app.url, { type: 'seen', items: items(2) });
    const { page } = await open('/queues/seen', { url: closed.url });
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('No worker of seen is connected.').waitFor();
    for (const name of ['Pause', 'Limit'])
      expect(await page.getByRole('main').getByRole('button', { name, exact: true }).count()).toBe(0);
    const links = page.getByRole('navigation', { name: 'What belongs to this type' });
    expect(await links.getByRole('link').count()).toBe(3);
    await page.close();
  });

  it('ten thousand types are a list that has as many rows as fit on the screen, in pages of a thousand', async () => {
    await db.query(
      `insert into jobtree.queue (type, priority) select 'many ' || lpad(i::text, 5, '0'), 1 from generate_series(1, 10000) i`,
    );
    const { page } = await open('/queues?find=many');
    await page.getByText('All 10,000 types').waitFor();
    await page.getByRole('link', { name: 'many 00001' }).waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.keyboard.press('End');
    await page.getByRole('link', { name: 'many 01000' }).waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => page.getByRole('table').getAttribute('aria-rowcount')).toBe('2002');
    await page.keyboard.press('End');
    const last = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'many 02000' }) });
    await expect.poll(() => last.getByRole('cell').nth(1).innerText()).toBe('0');
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    expect(
      (await data(app.url, '{ queueTotal(nameContains: "many") { typeCount } }')).queueTotal.typeCount,
    ).toBe(10_000);
    // Whoever looks for one is not told of the others.
    await page.getByRole('button', { name: 'Search' }).click();
    const search = page.getByRole('dialog', { name: 'Go to' });
    await search.getByRole('combobox').fill('many 09');
    await search.getByRole('option', { name: 'Queue many 09000' }).waitFor();
    await search.getByRole('combobox').fill('many 09999');
    await search.getByRole('option', { name: 'Queue many 09999' }).click();
    await page.getByRole('heading', { level: 1, name: 'many 09999' }).waitFor();
    await page.goto(new URL('dashboard/#/imports', app.url).href);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('n\n1\n') });
    const known = page.locator('datalist option');
    await expect.poll(() => known.count()).toBe(20);
    await page.getByLabel('Type of the job').fill('many 0777');
    await expect
      .poll(() => known.evaluateAll((all) => all.map((option) => (option as HTMLOptionElement).value)))
      .toContain('many 07770');
    expect(await known.count()).toBe(10);
    await page.close();
  });

  it('workers and keys beyond the first thousand are listed, and what is not on the screen is not told', async () => {
    await db.query(
      `insert into jobtree.worker (server_id, name, version, types, concurrency, connected_at, seen_at)
       select gen_random_uuid(), 'host-' || lpad(i::text, 4, '0'), '1.' || i % 2, array['busy-' || i], array[3], now(), now() + interval '1 hour'
       from generate_series(1, 1200) i`,
    );
    await db.query(
      `insert into jobtree.api_key (id, name, hash, roles, types, root_ids, created_at, created_by)
       select gen_random_uuid(), 'key-' || lpad(i::text, 4, '0'), sha256(i::text::bytea), '{watcher}', '{}', '{}', now(), 'a test'
       from generate_series(1, 1200) i`,
    );
    const { page } = await open('/workers');
    await page.getByRole('link', { name: 'busy-1 0/3' }).waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    const rowsOf = async (name: string) =>
      Number(await page.getByRole('table', { name }).getAttribute('aria-rowcount'));
    await expect.poll(() => rowsOf('Workers')).toBeGreaterThan(1_200);
    await page.getByText('Version 1.1: 600 workers').waitFor();
    await page.getByRole('heading', { name: 'Held items' }).scrollIntoViewIfNeeded();
    await page.getByRole('link', { name: 'busy-1200 0/3' }).waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.goto(new URL('dashboard/#/api-keys', app.url).href);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rowsOf('API keys')).toBeGreaterThan(1_200);
    await page.close();
  });
});
