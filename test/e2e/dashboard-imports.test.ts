/** Files in the dashboard: uploaded by button and by drag and drop, looked at, imported, and what came of them. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { violations } from '../support/axe.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { desktop, openPage, shots, views } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('imports in the dashboard', () => {
  const { app } = useServer();
  const browser = useBrowser();

  const open = (size = desktop, scheme: 'light' | 'dark' = 'light') =>
    openPage(browser, new URL('dashboard/#/imports', app.url).href, { size, scheme });
  const fileOf = (name: string, text: string | Buffer) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(text),
  });

  it('a file becomes a tree: its first rows are shown as they were guessed, and as somebody corrects them', async () => {
    const { page, problems } = await open();
    await page
      .locator('input[type=file]')
      .setInputFiles(fileOf('orders.csv', 'id;customer\n1;Ada\n2;Grace\n3\n'));
    const dialog = page.getByRole('dialog');
    await dialog.getByText('{"id":"1","customer":"Ada"}').waitFor();
    await dialog.getByText('the row has 1 cell').waitFor();
    expect(await dialog.getByLabel('Separator').inputValue()).toBe(';');
    await dialog.getByLabel('The first row names the columns').uncheck();
    await dialog.getByText('["id","customer"]').waitFor();
    await dialog.getByLabel('The first row names the columns').check();
    await dialog.getByText('{"id":"1","customer":"Ada"}').waitFor();
    await dialog.getByLabel('Type of the job').fill('order');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Tree order' }).waitFor();
    await page.getByText('import completed, 1 bad line').waitFor();

    await page.getByRole('link', { name: 'Imports' }).click();
    const row = page.getByRole('table', { name: 'Imports' }).getByRole('row').nth(1);
    await row.getByText('Complete').waitFor();
    await row.getByText('orders.csv').waitFor();
    await page
      .getByRole('table', { name: 'Uploaded files' })
      .getByRole('row')
      .filter({ hasText: 'orders.csv' })
      .getByText('imported')
      .waitFor();
    const download = page.waitForEvent('download');
    await row.getByRole('button', { name: 'Download bad lines' }).click();
    const lines = (await readFile(await (await download).path(), 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { problem: 'Line 4: the row has 1 cell, the header has 2.', payload: { line: 4, text: '3' } },
    ]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('a file that is dropped is uploaded part by part, goes on after a lost connection, and is listed', async () => {
    const { page } = await open();
    let losses = 0;
    await page.route('**/api/uploads/*', async (route) => {
      if (route.request().method() === 'PATCH' && losses++ === 1) await route.abort();
      else await route.continue();
    });
    const zone = page.getByRole('region', { name: 'Choose a file' });
    await zone.waitFor();
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([`{"n": 1${' '.repeat(92)}}\n`.repeat(108_000)], 'large.ndjson'));
      return transfer;
    });
    await zone.dispatchEvent('dragover', { dataTransfer: data });
    await zone.dispatchEvent('drop', { dataTransfer: data });
    await page.getByRole('dialog').getByText('{"n":1}').first().waitFor();
    expect(losses).toBeGreaterThan(3);
    await page.getByRole('button', { name: 'Not now' }).click();
    const stored = page
      .getByRole('table', { name: 'Uploaded files' })
      .getByRole('row')
      .filter({ hasText: 'large.ndjson' });
    await stored.waitFor();
    expect(await stored.getByText('imported').count()).toBe(0);
    await stored.getByRole('button', { name: 'Import' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type of the job').fill('large');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Tree large' }).waitFor();
    await page.getByRole('link', { name: 'Imports' }).click();
    const row = page.getByRole('table', { name: 'Imports' }).getByRole('row').filter({ hasText: 'large' });
    // By push: the page has asked once.
    const requests: string[] = [];
    await row.getByText(/of 11 MB read/).waitFor();
    page.on('request', (request) => requests.push(request.url()));
    await row.getByText('11 MB of 11 MB read').waitFor();
    await row.getByText('Complete').waitFor();
    expect(requests).toEqual([]);
    await page.close();
  }, 240_000);

  it('an upload can be stopped, and what can not be imported says why', async () => {
    const { page } = await open();
    let arrived = () => {};
    const isSent = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await page.route('**/api/uploads/*', (route) => {
      if (route.request().method() !== 'PATCH') return route.continue();
      arrived();
      return undefined;
    });
    const choose = page.locator('input[type=file]');
    await choose.setInputFiles(fileOf('a.txt', 'x\n'));
    await isSent;
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await choose.setInputFiles(fileOf('b.json', '{"a": 1}\n'));
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type of the job').fill('refused');
    await dialog.getByLabel('Format').selectOption('JSON_ARRAY');
    await dialog.locator('.problem').waitFor();
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Tree refused' }).waitFor();
    await page.getByText('import failed').waitFor();
    await page.getByRole('link', { name: 'Imports' }).click();
    await page.getByRole('button', { name: 'Import', exact: true }).first().click();
    await dialog.getByLabel('Type of the job').fill('refused');
    await dialog.getByLabel('Encoding').fill('klingon');
    await dialog.getByLabel('Encoding').blur();
    await dialog.getByRole('alert').getByText('there is no such encoding').waitFor();
    await page.close();
  });

  it.each(views)('axe finds nothing wrong: %s, %s', async (scheme, device, size) => {
    const { page, problems } = await open(size, scheme);
    await page
      .locator('input[type=file]')
      .setInputFiles(
        fileOf('people.csv', 'id,name,address\n1,Ada,"12 St James\'s Square, London"\n2,Grace\n'),
      );
    await page.getByRole('dialog').getByText('"name":"Ada"').waitFor();
    if (shots !== undefined)
      await page.screenshot({ path: `${shots}/dashboard-import-${scheme}-${device}.png` });
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('table', { name: 'Uploaded files' }).waitFor();
    if (shots !== undefined)
      await page.screenshot({ path: `${shots}/dashboard-imports-${scheme}-${device}.png` });
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    expect(problems).toEqual([]);
    await page.close();
  });
});
