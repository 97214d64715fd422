/** What somebody does in a morning with trouble, from the first screen on, by what the pages say: no address is typed. */
import { expect, it, onTestFinished } from 'vitest';
import { currencyProblem, haveBillingTrouble, printerProblem } from '../support/billing-trouble.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

const { app, client } = useServer();

it.skipIf(withoutBrowser)(
  'finds what fails and why, replays one cause with a corrected payload, frees a key, imports a file and shares a progress page',
  async () => {
    const { treeId, stop } = await haveBillingTrouble(client, app.url);
    onTestFinished(stop);
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const { page, problems } = await openDashboard(browser, app.url, '');
    const dialog = page.getByRole('dialog');

    // What fails, and why.
    await page.getByRole('link', { name: 'Dead letters', exact: true }).click();
    const causes = page.getByRole('table', { name: 'Dead letters' });
    for (const [problem, count] of [
      [currencyProblem, '200'],
      [printerProblem, '100'],
    ] as const)
      await causes.getByRole('row').filter({ hasText: problem }).getByText(count, { exact: true }).waitFor();

    // One cause, with what was wrong corrected.
    await causes.getByRole('link', { name: currencyProblem }).click();
    await page.getByRole('button', { name: 'Replay all', exact: true }).click();
    await dialog.getByText('Replay 200 items?').waitFor();
    await dialog.getByRole('textbox').fill('{"currency": "EUR"}');
    await dialog.getByRole('button', { name: 'Replay all', exact: true }).click();
    await dialog.getByText('200 items are tried again').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Nothing of this group is left').waitFor();

    // The key that a failed item keeps.
    await page.getByRole('link', { name: 'Serialize keys', exact: true }).click();
    const line = page.getByRole('row').filter({ hasText: 'customer-17' });
    await line.getByText('The bank refused the account').waitFor();
    await line.getByRole('button', { name: 'Replay', exact: true }).click();
    await dialog.getByRole('textbox').fill('{"iban": "DE3", "amount": 103}');
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
    await dialog.getByText('1 item is tried again').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('No serialize key is in use').waitFor();

    // A file.
    await page.getByRole('link', { name: 'Imports', exact: true }).click();
    const customers = Buffer.from('name;town\nAda;London\nGrace;New York\n');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer: customers });
    await dialog.getByText('{"name":"Ada","town":"London"}').waitFor();
    await dialog.getByLabel('Type of the job').fill('customer');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Tree customer' }).waitFor();
    await page.getByText('import completed').waitFor();

    // A page for others.
    await page.getByRole('link', { name: 'Trees', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'invoice' }).getByRole('link').first().click();
    await page.getByRole('button', { name: 'Share a progress page' }).click();
    await dialog.getByRole('button', { name: 'Share a progress page' }).click();
    const link = await dialog.getByLabel('Link', { exact: true }).inputValue();
    const visitor = await browser.newPage();
    await visitor.goto(link);
    await visitor.getByRole('heading', { name: 'Progress of invoice' }).waitFor();

    const { progress } = await client.job(treeId);
    expect(progress).toMatchObject({ succeeded: 800, failed: 0 });
    expect(problems).toEqual([]);
  },
);
