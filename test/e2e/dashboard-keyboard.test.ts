/** The dashboard by the keyboard: the search, the keys of rows and screens, and where the focus goes. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJob } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, openDashboard, type PageOptions, prepare, screenshot, views } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('the dashboard by the keyboard', () => {
  const { app } = useServer();
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof prepare>>;
  let ordered: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    ids = await prepare(app.url);
    ordered = await createJob(app.url, { type: 'order', dedupeKey: 'A 17', items: [{}] });
  });
  afterAll(async () => {
    await browser.close();
  });

  /** When the keys are heard. */
  const open = async (path: string, options?: PageOptions) => {
    const { page } = await openDashboard(browser, app.url, path, options);
    await page.getByRole('button', { name: 'Help' }).waitFor();
    return page;
  };
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '');

  describe('the search', () => {
    const search = async (page: Page, text: string) => {
      await page.keyboard.press('Control+k');
      const field = page.getByRole('combobox', { name: /^A page/ });
      await field.fill(text);
      return field;
    };

    it('opens by a button and by Ctrl K, and goes to a page', async () => {
      const page = await open('/');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
      expect(await focused(page)).toBe('Search');
      const field = await search(page, 'e');
      const options = page.getByRole('listbox').getByRole('option');
      const second = await options.nth(1).innerText();
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      const id = await field.getAttribute('aria-activedescendant');
      expect(await page.locator(`[id="${id}"]`).innerText()).toBe(second);
      expect(await page.getByRole('listbox').getByRole('option', { selected: true }).allInnerTexts()).toEqual(
        [second],
      );
      await field.fill('sched');
      await page.getByRole('status').getByText('1 choice').waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Schedules' }).waitFor();
      await expect.poll(() => focused(page)).toBe('Schedules');
      await page.close();
    });

    it('finds trees of a type, a tree by its dedupe key, and anything by its id', async () => {
      const page = await open('/queues');
      await search(page, 'payr');
      await page.getByRole('option', { name: 'Trees of type payroll' }).click();
      await expect.poll(() => page.url()).toMatch(/#\/\?types=.*payroll/);
      await search(page, 'order A 17');
      await page
        .getByRole('option', { name: 'Look for the tree of type order with the dedupe key A 17' })
        .waitFor();
      await page.keyboard.press('Enter');
      await expect.poll(() => page.url()).toContain(encodeURIComponent(ordered));
      await page.getByRole('heading', { name: 'Tree order' }).waitFor();
      await search(page, 'order B 18');
      await page.getByRole('listbox').getByRole('option').first().click();
      await page.getByRole('status').getByText('Nothing is found.').waitFor();
      await page.getByRole('combobox', { name: /^A page/ }).fill(ids.failedItem);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: /^import/ }).waitFor();
      await search(page, ids.payroll.slice('Job:'.length));
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Tree payroll' }).waitFor();
      await page.close();
    });

    it.each(views)(
      'axe finds nothing wrong with it, nor with the help: %s, %s',
      async (scheme, device, size) => {
        const page = await open('/', { size, scheme });
        await search(page, 'e');
        await page.getByRole('listbox').getByRole('option').first().waitFor();
        await screenshot(page, `search-${scheme}-${device}`);
        expect(await violations(page)).toEqual([]);
        await page.keyboard.press('Escape');
        await page.keyboard.press('?');
        await page.getByText('Largest request').waitFor();
        await screenshot(page, `help-${scheme}-${device}`);
        expect(await violations(page)).toEqual([]);
        expect(await excess(page)).toBe(0);
        await page.close();
      },
    );
  });

  it('j and k, and the arrows, go from row to row; Enter opens, and Escape leaves', async () => {
    const page = await open('/');
    const links = page.getByRole('row').getByRole('link');
    await links.nth(2).waitFor();
    const names = await links.allInnerTexts();
    await page.keyboard.press('j');
    expect(await focused(page)).toBe(names[0]);
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toBe(names[2]);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('k');
    expect(await focused(page)).toBe(names[0]);
    await page.keyboard.press('Escape');
    expect(await focused(page)).toBe('Trees');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Tree / }).waitFor();
    await page.close();
  });

  it('walks through rows that are not in the page yet', async () => {
    const page = await open(`/trees/${ids.large}`);
    await page.getByRole('button', { name: 'Show more' }).waitFor();
    for (let row = 0; row < 80; row++) await page.keyboard.press('j');
    const index = await page.evaluate(
      () => document.activeElement?.closest<HTMLElement>('[data-index]')?.dataset.index,
    );
    // The first row is that of the job.
    expect(index).toBe('78');
    await page.close();
  });

  it('r and x ask what the buttons of the row or the screen ask, and e changes', async () => {
    const page = await open(`/trees/${ids.imports}`);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Replay failures' }).waitFor();
    await page.keyboard.press('r');
    await dialog.getByRole('heading', { name: 'Replay failures' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('x');
    await dialog.getByRole('heading', { name: 'Cancel' }).waitFor();
    await page.keyboard.press('Escape');
    await page.goto(new URL('dashboard/#/queues', app.url).href);
    await expect.poll(() => focused(page)).toBe('Queues');
    const row = page.getByRole('row').nth(2);
    const name = await row.locator('> div').first().innerText();
    // What a type has is asked for once its row is on the screen.
    await row.getByRole('button').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('e');
    await dialog
      .getByText(name.trim().split('\n')[0] as string)
      .first()
      .waitFor();
    await page.close();
  });

  it('letters that are typed do nothing, nor do any when they are turned off', async () => {
    const page = await open('/');
    await page.getByText('Filter', { exact: true }).click();
    const field = page.getByRole('textbox', { name: 'Type' });
    await field.pressSequentially('jkexr?');
    expect(await field.inputValue()).toBe('jkexr?');
    expect(await page.getByRole('dialog').count()).toBe(0);
    // Otherwise it would be a filter once it is left.
    await field.fill('');
    await page.getByRole('button', { name: 'Help' }).click();
    await page.getByLabel('Shortcuts of a single letter').uncheck();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.getByRole('button', { name: 'Help' }).waitFor();
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('?');
    await page.keyboard.press('j');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('BODY');
    // This is no single key.
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^A page/ }).waitFor();
    await page.close();
  });

  it('on each new screen the focus is at its heading, after which the window is named', async () => {
    const page = await open('/');
    expect(await page.title()).toBe('Trees – jobtree');
    for (const name of ['Dead letters', 'Serialize keys', 'Imports']) {
      await page.getByRole('navigation').getByRole('link', { name }).press('Enter');
      await expect.poll(() => page.title()).toBe(`${name} – jobtree`);
      expect(await focused(page)).toBe(name);
    }
    await page.goBack();
    await expect.poll(() => focused(page)).toBe('Serialize keys');
    await page.getByRole('button', { name: 'Skip to the content' }).press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
    await page.close();
  });
});
