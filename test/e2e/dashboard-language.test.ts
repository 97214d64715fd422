/** The dashboard in German: each screen, in which no English text may be left. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { messageOf } from '../../src/dashboard/data/message-of.ts';
import { isolated } from '../../src/dashboard/texts/isolated.ts';
import { schema } from '../../src/schema/index.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, openDashboard, prepare, screens, screenshot, views } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

it('names that are written from right to left turn nothing else round', () => {
  const { ask } = isolated({ ask: (name: string, count: number) => `Pause ${name}, ${count}?` });
  expect(ask('mail', 2)).toBe('Pause mail, 2?');
  expect(ask('שלום', 2)).toBe('Pause \u2068שלום\u2069, 2?');
  expect(ask('bill\u202egpj.exe', 2)).toBe('Pause bill\ufffdgpj.exe, 2?');
});

it('such names within sentences of the server turn nothing else round either', () => {
  const { message } = { message: 'The queue "שלום 2 עולם", 3: bill\u202egpj.exe' };
  const shown = 'The queue "\u2068שלום 2 עולם\u2069", 3: bill\ufffdgpj.exe';
  expect(messageOf(new Error(message))).toBe(shown);
  expect(messageOf({ message })).toBe(shown);
  expect(messageOf('No such queue: mail')).toBe('No such queue: mail');
});

it('settings are not rounded', async () => {
  vi.stubGlobal('navigator', { languages: [] });
  const { formatExactly } = await import('../../src/dashboard/texts/formats.ts');
  vi.unstubAllGlobals();
  const shown = [5_400_000, 75_000, 90_000, 6_000_000, 86_400_000, 172_800_000, 1_500, 60_000].map(
    formatExactly,
  );
  expect(shown).toEqual(['90 min', '75 s', '90 s', '100 min', '24 h', '2 d', '1,500 ms', '1 min']);
});

/** Formats ask the browser as they are loaded, and not every Node has it. */
async function loadTexts() {
  vi.stubGlobal('navigator', { languages: [] });
  const [{ en }, { de }] = await Promise.all([
    import('../../src/dashboard/texts/en.ts'),
    import('../../src/dashboard/texts/de.ts'),
  ]);
  vi.unstubAllGlobals();
  return { en, de };
}

it('each action in the audit has words', async () => {
  const audited = Object.values(schema.getMutationType()?.getFields() ?? {}).flatMap(
    ({ name, extensions }) =>
      (extensions.pothosOptions as { audited?: unknown }).audited === undefined ? [] : [name],
  );
  for (const { audit } of Object.values(await loadTexts()))
    expect(Object.keys(audit.actions).toSorted()).toEqual([...audited, 'applyRoles'].toSorted());
});

describe.skipIf(withoutBrowser)('the dashboard in German', () => {
  const { app } = useServer();
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof prepare>>;
  let isEnglish: (text: string) => boolean;
  beforeAll(async () => {
    browser = await launchBrowser();
    ids = await prepare(app.url);
    const { en, de } = await loadTexts();
    isEnglish = englishIn(en, de);
  });
  afterAll(async () => {
    await browser.close();
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
      await page.getByRole('button', { name, exact: true }).click();
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
