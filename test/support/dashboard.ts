/** Pages of the dashboard in a real browser. */
import type { Browser, Page } from 'playwright-core';

export const desktop = { width: 1280, height: 800 };
export const phone = { width: 320, height: 700 };
export const views = [
  ['light', 'desktop', desktop],
  ['dark', 'desktop', desktop],
  ['light', 'phone', phone],
  ['dark', 'phone', phone],
] as const;

/** Set to a folder, tests leave screenshots there. */
export const shots = process.env.TEST_SCREENSHOTS;

/** `problems` has what the page complains of, and what it asks of anybody but its server. */
export async function openPage(
  browser: Browser,
  url: string,
  { size = desktop, scheme = 'light' as 'light' | 'dark' } = {},
): Promise<{ page: Page; problems: string[] }> {
  const page = await browser.newPage({ viewport: size, colorScheme: scheme });
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    const isOurs = request.url().startsWith(new URL(url).origin) || request.url().startsWith('blob:');
    if (!isOurs) problems.push(request.url());
  });
  await page.goto(url);
  return { page, problems };
}
