/** Schedules on a calendar, in a real browser: in the reader's days, by push, with what can be done about them. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, openDashboard, type PageOptions, screenshot, views } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('the calendar of schedules', () => {
  const { app } = useServer();
  let client: ReturnType<typeof createClient>;
  let browser: Browser;
  const template = { type: 'report' };
  beforeAll(async () => {
    client = createClient({ url: app.url });
    browser = await launchBrowser();
    const { schedules } = client;
    await schedules.put({ name: 'nightly', cron: '0 3 * * *', timeZone: 'Europe/Berlin', template });
    await schedules.put({ name: 'heartbeat', everyMs: 1_000, startAt: '2090-01-01T00:00:00Z', template });
    await schedules.put({ name: 'tides', cron: '10 */6 * * *', template });
    await schedules.put({ name: 'closing', cron: '0 20 31 * *', template });
    await schedules.pause('closing');
  });
  afterAll(async () => {
    await browser.close();
    await client.close();
  });

  const newYork = { locale: 'en-GB', timezoneId: 'America/New_York' };
  const open = (path: string, options: PageOptions = {}) =>
    openDashboard(browser, app.url, path, { context: newYork, ...options });
  const entriesOf = async (page: Page, day: string) => {
    const entries = page
      .getByRole('listitem')
      .filter({ has: page.locator(`h3 time[datetime="${day}"]`) })
      .getByRole('listitem');
    await entries.first().waitFor();
    return entries.allInnerTexts();
  };
  const dialog = (page: Page) => page.getByRole('dialog').first();
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim());

  it('has the occurrences in the days of the reader, through changes of the clocks on either side', async () => {
    const { page } = await open('/schedules?view=week&day=2087-03-08');
    // On 9 March 2087 the clocks in New York go forward, three weeks before those in Berlin.
    await page.getByRole('heading', { name: /^3\s*–\s*9 Mar 2087$/ }).waitFor();
    expect(await entriesOf(page, '2087-03-08')).toContain('21:00 nightly');
    expect(await entriesOf(page, '2087-03-09')).toContain('22:00 nightly');
    await page.getByText('Times are yours, in America/New_York.').waitFor();
    await page.getByRole('button', { name: '22:00 nightly' }).click();
    await dialog(page).getByText('10 Mar 2087, 03:00:00').waitFor();
    expect(await dialog(page).innerText()).toContain('In its zone, Europe/Berlin');
    // It is not the next one.
    expect(await dialog(page).getByRole('button', { name: 'Skip this one' }).count()).toBe(0);
    await page.close();
  });

  it('says once what is due too often, and in one entry what is due often in a day', async () => {
    const { page } = await open('/schedules?view=week&day=2090-06-08');
    await page.getByRole('button', { name: 'heartbeat every 1 s' }).waitFor();
    expect(await page.getByText('heartbeat').count()).toBe(1);
    expect(await entriesOf(page, '2090-06-08')).toEqual(['4 × 02:10 – 20:10 tides', '21:00 nightly']);
    await page.close();
  });

  it('goes from range to range by its address, which shows somebody else the same', async () => {
    const { page } = await open('/schedules');
    await page.getByRole('link', { name: 'Month' }).click();
    const month = new Intl.DateTimeFormat('en-GB', {
      month: 'long',
      year: 'numeric',
      timeZone: newYork.timezoneId,
    });
    await page.getByRole('heading', { name: month.format(new Date()) }).waitFor();
    await page.goto(new URL('dashboard/#/schedules?view=month&day=2087-03-31', app.url).href);
    await page.getByRole('heading', { name: 'March 2087' }).waitFor();
    expect(await entriesOf(page, '2087-03-31')).toContain('16:00 closing paused');
    await page.getByRole('link', { name: 'Later' }).click();
    await page.getByRole('heading', { name: 'April 2087' }).waitFor();
    expect(page.url()).toContain('view=month&day=2087-04-01');
    await page.reload();
    await page.getByRole('heading', { name: 'April 2087' }).waitFor();
    await page.getByRole('link', { name: 'Earlier' }).click();
    await page.getByRole('heading', { name: 'March 2087' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'April 2087' }).waitFor();
    await page.close();
  });

  it('is walked with the arrow keys, from day to day and within one', async () => {
    const { page } = await open('/schedules?view=week&day=2087-06-10');
    const first = page
      .getByRole('list', { name: /^9\s*–\s*15 Jun 2087$/ })
      .getByRole('button')
      .first();
    await first.waitFor();
    expect(await page.locator('.calendar button[tabindex="0"]').count()).toBe(1);
    await first.focus();
    const seen: (string | undefined)[] = [await focused(page)];
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'ArrowLeft']) {
      await page.keyboard.press(key);
      seen.push(await focused(page));
    }
    const [tides, nightly] = ['4 × 02:10 – 20:10 tides', '21:00 nightly'];
    expect(seen).toEqual([tides, nightly, tides, tides, nightly, tides]);
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('heading', { name: 'tides' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await focused(page)).toBe(tides);
    await page.close();
  });

  it('skips the next occurrence, runs one now and pauses, and others see it by push', async () => {
    await client.schedules.put({
      name: 'soon',
      everyMs: 86_400_000,
      startAt: new Date(Date.now() + 300_000).toISOString(),
      template,
    });
    // A calendar that has today and tomorrow: of months in whole weeks, tomorrow's has, unless a week begins with it.
    const tomorrow = new Date(Date.now() + 86_400_000).toLocaleDateString('sv', {
      timeZone: newYork.timezoneId,
    });
    const context = { ...newYork, locale: new Date(tomorrow).getUTCDay() === 1 ? 'en-US' : 'en-GB' };
    const path = `/schedules?view=month&day=${tomorrow}`;
    const [{ page }, { page: other }] = [await open(path, { context }), await open(path, { context })];
    const entry = (of: Page) => of.getByRole('button', { name: /soon/ });
    await entry(other).first().waitFor();
    const asked: string[] = [];
    other.on('request', (request) => asked.push(request.url()));
    await entry(page).first().click();
    await dialog(page).getByRole('button', { name: 'Skip this one' }).click();
    const confirm = page.getByRole('dialog').last();
    await confirm.getByText(/^Skip the occurrence of soon at /).waitFor();
    await confirm.getByRole('button', { name: 'Skip this one' }).click();
    await other.getByRole('button', { name: /soon skipped/ }).waitFor();
    await page.getByRole('button', { name: /soon skipped/ }).click();
    await dialog(page).getByText('Somebody skipped it.').waitFor();
    await dialog(page).getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('dialog').last().getByRole('button', { name: 'Run now' }).click();
    await other.getByRole('button', { name: /soon tree created/ }).click();
    await other.getByRole('link', { name: 'Its tree' }).waitFor();
    await other.keyboard.press('Escape');
    expect(asked).toEqual([]);
    await client.schedules.pause('soon');
    await other
      .getByRole('button', { name: /soon paused/ })
      .first()
      .waitFor();
    // Another one has to be calculated.
    await client.schedules.put({ name: 'newcomer', cron: '0 12 * * *', template });
    await other
      .getByRole('button', { name: /newcomer/ })
      .first()
      .waitFor();
    await client.schedules.delete('newcomer');
    await client.schedules.delete('soon');
    await page.close();
    await other.close();
  });

  it.each(views)(
    'axe finds nothing wrong with it, nor with what it opens: %s, %s',
    async (scheme, device, size) => {
      const { page, problems } = await open('/schedules?view=month&day=2090-03-31', { size, scheme });
      await page.getByRole('button', { name: /closing/ }).waitFor();
      await screenshot(page, `calendar-month-${scheme}-${device}`);
      expect(await violations(page)).toEqual([]);
      await page.getByRole('link', { name: 'Week' }).click();
      await page.getByRole('button', { name: /tides/ }).first().waitFor();
      await screenshot(page, `calendar-week-${scheme}-${device}`);
      expect(await excess(page)).toBe(0);
      await page
        .getByRole('button', { name: /nightly/ })
        .first()
        .click();
      await dialog(page).getByText('Europe/Berlin', { exact: false }).first().waitFor();
      await screenshot(page, `calendar-entry-${scheme}-${device}`);
      expect(await violations(page)).toEqual([]);
      expect(problems).toEqual([]);
      await page.close();
    },
  );
});
