/** The screen of a tree: its jobs by keyboard, and the items of one as a strip. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJob, data, work } from '../support/api.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('the screen of a tree', () => {
  const { app } = useServer();
  let browser: Browser;
  let root: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    root = await createJob(app.url, {
      type: 'scan',
      sealed: true,
      items: Array.from({ length: 500 }, (_, n) => ({ payload: n })),
      children: [{ type: 'index', feed: {}, children: [{ type: 'publish', feed: {} }] }],
    });
    await work(app.url, 'scan', 100);
    await failOne(app.url);
  });
  afterAll(async () => {
    await browser.close();
  });

  const open = async (search = '') => (await openDashboard(browser, app.url, `/trees/${root}${search}`)).page;
  const strip = (page: Page) => page.getByRole('slider', { name: 'Items in their order' });
  const valueText = (page: Page) => strip(page).getAttribute('aria-valuetext');

  it('says in words what the strip shows, and what became of the items', async () => {
    const page = await open();
    await strip(page).waitFor();
    expect(await valueText(page)).toBe('At the cursor: items 1024 to 1123 (1 to 100 of 500): 100 succeeded');
    const legend = page.locator('.legend');
    for (const text of ['Succeeded 100', 'Failed 1', 'Ready 399']) await legend.getByText(text).waitFor();
    await legend.getByText('per second').waitFor();
    await legend.getByText('left').waitFor();
    await page.getByText('100 succeeded in scan became 100 items of index').waitFor();
    await page.getByText('scan: 1 failed, 0 cancelled, 399 to go').waitFor();
    await page.close();
  });

  it.each(['light', 'dark'] as const)('is drawn in the colours of the page: %s', async (colorScheme) => {
    const page = await open();
    await page.emulateMedia({ colorScheme });
    await strip(page).waitFor();
    // In the middle of what succeeded, and of what is ready.
    const drawn = () =>
      page.evaluate(() => {
        const context = document
          .querySelector<HTMLCanvasElement>('[role=slider] canvas, .strip canvas')
          ?.getContext('2d');
        if (context == null) return [];
        const { width, height } = context.canvas;
        return (
          [
            ['--succeeded', 0.1],
            ['--line', 0.6],
          ] as const
        ).map(([name, at]) => {
          const probe = document.createElement('i');
          probe.style.color = `var(${name})`;
          document.body.append(probe);
          const wanted = getComputedStyle(probe).color;
          probe.remove();
          const [red, green, blue] = context.getImageData(width * at, height / 2, 1, 1).data;
          return `rgb(${red}, ${green}, ${blue})` === wanted;
        });
      });
    await expect.poll(drawn).toEqual([true, true]);
    await page.close();
  });

  it('leads by keyboard from all items to one, by a URL that shows somebody else the same', async () => {
    const page = await open();
    await strip(page).waitFor();
    await strip(page).focus();
    await page.keyboard.press('End');
    await expect.poll(() => valueText(page)).toContain('(102 to 500 of 500): 399 ready');
    await page.keyboard.press('Home');
    for (let shown = 500; shown > 4; ) {
      await page.keyboard.press('+');
      const before = shown;
      await expect
        .poll(async () => Number(await strip(page).getAttribute('aria-valuemax')))
        .toBeLessThan(before);
      shown = Number(await strip(page).getAttribute('aria-valuemax'));
    }
    const other = await browser.newPage();
    await other.goto(page.url());
    await expect.poll(() => valueText(other).catch(() => null)).toContain('succeeded');
    expect(await strip(other).getAttribute('aria-valuemax')).toBe(
      await strip(page).getAttribute('aria-valuemax'),
    );
    await other.close();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('#/items/');
    await page.close();
  });

  it('shows the whole job if the address names places that there can not be', async () => {
    const page = await open('?from=-5&to=1e300');
    await page.getByText('500 of 500 items shown').waitFor();
    await page.close();
  });

  it('zooms with buttons, and back to the whole job', async () => {
    const page = await open();
    await page.getByText('500 of 500 items shown').waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.getByText(/^(6\d|1[0-3]\d) of 500 items shown/).waitFor();
    await page.getByRole('button', { name: 'Later items' }).click();
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await page.getByRole('button', { name: 'Whole job' }).click();
    await page.getByText('500 of 500 items shown').waitFor();
    await page.close();
  });

  it('opens the item that is clicked, once it is wide enough, and zooms in before', async () => {
    const page = await open();
    await page.getByText('500 of 500 items shown').waitFor();
    await page.locator('.strip canvas').click({ position: { x: 5, y: 10 } });
    await page.getByText(/^\d{2} of 500 items shown/).waitFor();
    await page.locator('.strip canvas').click({ position: { x: 5, y: 10 } });
    await expect.poll(() => page.url()).toContain('#/items/');
    await page.close();
  });

  it('walks the jobs with arrow keys, folds them, and chooses one', async () => {
    const page = await open();
    const rows = page.getByRole('treegrid', { name: 'Jobs' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(4);
    await rows.nth(1).focus();
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => focusedRow(page)).toBe('3');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => rows.count()).toBe(3);
    expect(await rows.nth(2).getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => rows.count()).toBe(4);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => focusedRow(page)).toBe('4');
    expect(await rows.nth(3).getAttribute('aria-level')).toBe('3');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => focusedRow(page)).toBe('3');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Items: index/ }).waitFor();
    await page.close();
  });
});

const focusedRow = (page: Page) =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex') ?? null);

async function failOne(url: string): Promise<void> {
  const { claimItems } = await data(
    url,
    `mutation { claimItems(input: { worker: "test", requests: [{ type: "scan", limit: 1 }] }) {
      ... on ClaimItemsPayload { assignments { id } }
    } }`,
  );
  const [{ id }] = claimItems.assignments;
  await data(
    url,
    `mutation ($id: ID!) { reportOutcomes(input: { reports: [{
      assignmentId: $id, outcome: { failure: { code: "E", message: "no", permanent: true } }
    }] }) { ... on ReportOutcomesPayload { entries { status } } } }`,
    { id },
  );
}
