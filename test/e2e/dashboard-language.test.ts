/** The dashboard in German: each screen, in which no English text may be left. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, openDashboard, prepare, screens, screenshot, views } from '../support/dashboard.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';

describe.skipIf(withoutBrowser)('the dashboard in German', () => {
  let db: TestDatabase;
  let app: App;
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof prepare>>;
  let isEnglish: (text: string) => boolean;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url);
    browser = await launchBrowser();
    ids = await prepare(app.url);
    // Formats ask it as they are loaded, and not every Node has it.
    vi.stubGlobal('navigator', { languages: [] });
    const [{ en }, { de }] = await Promise.all([
      import('../../src/dashboard/texts/en.ts'),
      import('../../src/dashboard/texts/de.ts'),
    ]);
    vi.unstubAllGlobals();
    isEnglish = englishIn(en, de);
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
    await db.drop();
  });

  const german = { locale: 'de-DE', timezoneId: 'Europe/Berlin' };

  it('finds an English text', () => {
    expect(['Dead letters', '3 items', '17 of 40 items', 'Replay payroll?'].map(isEnglish)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(['Fehlschläge', '3 Elemente', 'payroll', 'Worker'].some(isEnglish)).toBe(false);
  });

  it.each(views)(
    'each screen is German alone, and axe finds nothing wrong with it: %s, %s',
    async (scheme, device, size) => {
      for (const [name, path] of screens(ids)) {
        const { page, problems } = await openDashboard(browser, app.url, path, {
          size,
          scheme,
          context: german,
        });
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByRole('button', { name: 'Hilfe' }).waitFor();
        await page.waitForLoadState('networkidle');
        await screenshot(page, `${name}-de-${scheme}-${device}`);
        expect(problems, name).toEqual([]);
        expect((await textsOf(page)).filter(isEnglish), name).toEqual([]);
        expect(await excess(page), name).toBe(0);
        expect(await violations(page), name).toEqual([]);
        await page.close();
      }
    },
  );

  it('dialogs are, too, and what they say is formatted as Germans do', async () => {
    const { page } = await openDashboard(browser, app.url, `/trees/${ids.large}`, { context: german });
    await page.getByText('1.000 Elemente').first().waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
    for (const name of ['Abbrechen', 'Baum löschen']) {
      await page.getByRole('button', { name }).click();
      expect((await textsOf(page)).filter(isEnglish)).toEqual([]);
      await page.keyboard.press('Escape');
    }
    await page.getByRole('banner').getByRole('button', { name: 'Suchen' }).click();
    await page.getByRole('option', { name: 'Zeitpläne' }).waitFor();
    expect((await textsOf(page)).filter(isEnglish)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Hilfe' }).click();
    await page.getByText('Größte Anfrage').waitFor();
    expect((await textsOf(page)).filter(isEnglish)).toEqual([]);
    await page.close();
  });

  it('another language can be chosen, and stays', async () => {
    const { page } = await openDashboard(browser, app.url, '/', { context: german });
    await page.getByRole('heading', { name: 'Bäume' }).waitFor();
    const time = page.locator('time').first();
    expect(await time.innerText()).toMatch(/^\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d$/);
    await page.getByRole('button', { name: 'Hilfe' }).click();
    await page.getByLabel('Sprache').selectOption('English');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { name: 'Trees' }).waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('en');
    expect(await page.title()).toBe('Trees – jobtree');
    expect(await time.innerText()).toMatch(/[AP]M$/);
    await page.reload();
    await page.getByRole('heading', { name: 'Trees' }).waitFor();
    await page.close();
  });
});

/** Every text that can be seen or heard. */
function textsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const texts: string[] = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node !== null; node = walk.nextNode())
      // The names of languages are in those languages.
      if (node.parentElement?.closest('script, noscript, pre, [lang]:not(html)') === null)
        texts.push(node.textContent ?? '');
    for (const name of ['aria-label', 'aria-valuetext', 'title', 'placeholder', 'data-title'])
      for (const element of document.querySelectorAll(`[${name}]`))
        texts.push(element.getAttribute(name) ?? '');
    return texts.map((text) => text.trim()).filter((text) => text !== '');
  });
}

/** Whether a text is one of the English ones, unless it is the same in German. What they are made from is left open. */
function englishIn(en: object, de: object): (text: string) => boolean {
  const patterns: RegExp[] = [];
  const collect = (one: unknown, other: unknown) => {
    if (typeof one === 'object' && one !== null)
      for (const [name, value] of Object.entries(one))
        collect(value, (other as Record<string, unknown>)[name]);
    else if (typeof one === 'function')
      for (const part of ['7', '1']) collect(sayWith(one, part), sayWith(other, part));
    else if (one !== other) patterns.push(patternOf(String(one).trim()));
  };
  collect(en, de);
  // What is nothing but what it is made from says nothing.
  const telling = patterns.filter(({ source }) => /[a-z]{2}/i.test(source.replaceAll('.+', '')));
  return (text) => telling.some((pattern) => pattern.test(text));
}

const sayWith = (say: unknown, part: string) =>
  String((say as (...parts: string[]) => string)(part, part, part));

const patternOf = (text: string) =>
  new RegExp(`^${text.replace(/[.*+?^${'$'}{}()|[\]\\]/g, '\\$&').replace(/[71]/g, '.+')}$`);
