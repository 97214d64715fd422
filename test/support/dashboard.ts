/** Pages of the dashboard for tests: in a real browser, at the sizes of a desktop and of a phone. */
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';

/** Set to a folder, tests leave screenshots there. */
const shots = process.env.TEST_SCREENSHOTS;
if (shots !== undefined) mkdirSync(shots, { recursive: true });
const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const desktop = { width: 1280, height: 800 };
const phone = { width: 320, height: 700 };
export const views = [
  ['light', 'desktop', desktop],
  ['dark', 'desktop', desktop],
  ['light', 'phone', phone],
  ['dark', 'phone', phone],
] as const;

/** Opens a screen of the server with this URL, and notes errors and requests to elsewhere. */
export async function openDashboard(
  browser: Browser,
  url: string,
  path: string,
  { size = desktop, scheme = 'light' as 'light' | 'dark' } = {},
) {
  const page = await browser.newPage({ viewport: size, colorScheme: scheme });
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin)) problems.push(request.url());
  });
  await page.goto(new URL(`dashboard/#${path}`, url).href);
  return { page, problems };
}

export async function screenshot(page: Page, name: string): Promise<void> {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/dashboard-${name}.png` });
}

/** By how many pixels a page is wider than the screen. */
export const excess = (page: Page) =>
  page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

/** What axe finds against WCAG 2.2 AA, in a line each. */
export async function violations(page: Page): Promise<string[]> {
  // As a debugger would: the policy of the page lets in no other code.
  await page.evaluate(await axe);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{
          violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
        }>;
      };
    };
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const { violations } = await axe.run({ runOnly: { type: 'tag', values: tags } });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  });
}
