/** What a tab takes of the server and of its reader, whatever it shows: one WebSocket, and no motion that somebody doesn't want. */
import type { Browser, Page, Route, WebSocket } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { desktop, prepare, screens } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('a tab of the dashboard', () => {
  const { app } = useServer();
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof prepare>>;
  beforeAll(async () => {
    browser = await launchBrowser();
    ids = await prepare(app.url);
  });
  afterAll(async () => {
    await browser.close();
  });

  /** Shows each screen, one after the other. */
  async function walk(page: Page, look: (name: string) => Promise<void>) {
    await page.goto(new URL('dashboard/#/', app.url).href);
    for (const [name, path, shown] of screens(ids)) {
      await page.evaluate((hash) => location.assign(hash), `#${path}`);
      await page.getByRole('main').getByText(shown).first().waitFor();
      await look(name);
    }
  }

  it('has one WebSocket for all screens', async () => {
    const page = await browser.newPage({ viewport: desktop });
    const sockets: WebSocket[] = [];
    page.on('websocket', (socket) => sockets.push(socket));
    await walk(page, async (name) => {
      await page.waitForLoadState('networkidle');
      expect(
        sockets.map((socket) => socket.isClosed()),
        name,
      ).toEqual([false]);
    });
    await page.close();
  });

  it('shows what its address says, though that changed while it began', async () => {
    const page = await browser.newPage({ viewport: desktop, locale: 'de-DE' });
    const held: Route[] = [];
    await page.route(/assets\/de-/, (route) => void held.push(route));
    const opened = page.goto(new URL('dashboard/#/queues', app.url).href);
    await expect.poll(() => held.length).toBe(1);
    await page.evaluate(() => location.assign('#/imports'));
    await held[0]?.continue();
    await opened;
    await page.getByRole('heading', { name: 'Importe', level: 1 }).waitFor();
    await page.close();
  });

  it('fetches a stylesheet of a screen again that could not be fetched', async () => {
    const page = await browser.newPage({ viewport: desktop });
    let losses = 0;
    await page.route(/assets\/schedules-[\w-]+\.css$/, (route) =>
      losses++ < 2 ? route.abort() : route.continue(),
    );
    await page.goto(new URL('dashboard/#/schedules', app.url).href);
    await page.getByRole('heading', { name: 'Schedules', level: 1 }).waitFor();
    const rules = () =>
      page.evaluate(() =>
        [...document.styleSheets]
          .filter(({ href }) => href?.includes('/schedules-'))
          .map(({ cssRules }) => cssRules.length),
      );
    await expect.poll(rules).toEqual([expect.toSatisfy((count: number) => count > 0)]);
    await page.close();
  });

  const motions = (page: Page) =>
    page.evaluate(() =>
      [...document.querySelectorAll('*')].flatMap((one) => {
        const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one);
        const moves =
          /[1-9]/.test(transitionDuration) || animationName !== 'none' || scrollBehavior === 'smooth';
        return moves ? [one.className || one.tagName] : [];
      }),
    );

  it('shows nothing that moves to those who want less motion', async () => {
    const page = await browser.newPage({ viewport: desktop });
    await page.goto(new URL('dashboard/#/', app.url).href);
    await page.locator('.bar').first().waitFor();
    expect(await motions(page)).toContain('succeeded');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await walk(page, async (name) => expect(await motions(page), name).toEqual([]));
    await page.close();
  });
});
