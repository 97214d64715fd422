/** What somebody enters for one thing is not there for another, which the same screen shows next. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { failAll, openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('what is entered', () => {
  const { app, client } = useServer();
  const browser = useBrowser();

  const go = async (page: Page, path: string, heading: string | RegExp) => {
    await page.evaluate(`location.hash = ${JSON.stringify(path)}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  };
  const write = async (page: Page, button: string, label: string, text: string) => {
    await page.getByRole('button', { name: button, exact: true }).first().click();
    await page.getByRole('dialog').getByLabel(label).fill(text);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const read = async (page: Page, button: string, label: string) => {
    await page.getByRole('button', { name: button, exact: true }).first().click();
    return page.getByRole('dialog').getByLabel(label).inputValue();
  };

  it.each([
    ['Change retention', 'Days', '9'],
    ['Replay failures', 'Change each payload', '{"to": "Ada"}'],
  ])('for one tree is not there for another: %s', async (button, label, text) => {
    const paths: string[] = [];
    for (const type of ['one', 'other']) {
      const { id } = await client.createJob({ type, sealed: true, maxFailuresPerItem: 0, items: [{}] });
      await failAll(app.url, type, 'BAD', 'It is bad');
      paths.push(`/trees/${id}`);
    }
    const [one = '', other = ''] = paths;
    const { page } = await openDashboard(browser, app.url, other);
    await page.getByRole('button', { name: button }).waitFor();
    await go(page, one, 'Tree one');
    await write(page, button, label, text);
    // It is known already, so nothing is shown between the two.
    await go(page, other, 'Tree other');
    expect(await read(page, button, label)).not.toBe(text);
    await page.close();
  });

  it('for the dead letters of one code is not there for those of another', async () => {
    for (const code of ['ONE', 'OTHER']) {
      await client.createJob({ type: 'coded', sealed: true, maxFailuresPerItem: 0, items: [{}] });
      await failAll(app.url, 'coded', code, `It is ${code}`);
    }
    const { page } = await openDashboard(browser, app.url, '/dead-letters?code=ONE');
    await write(page, 'Replay all that match', 'Change each payload', '{"to": "Ada"}');
    await page.evaluate('location.hash = "/dead-letters?code=OTHER"');
    await page.getByRole('link', { name: 'It is OTHER' }).waitFor();
    expect(await read(page, 'Replay all that match', 'Change each payload')).toBe('');
    await page.close();
  });
});
