/** Firefox from the system, by WebDriver BiDi: what Playwright drives is a Firefox of its own. Without one its tests are skipped, but never in CI. */
import { existsSync } from 'node:fs';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';

const candidates = [
  process.env.TEST_FIREFOX,
  '/usr/bin/firefox-esr',
  '/usr/bin/firefox',
  '/Applications/Firefox.app/Contents/MacOS/firefox',
];
const found = candidates.find((path) => path !== undefined && existsSync(path));

/** Whether tests in Firefox must be skipped here. */
export const withoutFirefox = found === undefined && process.env.CI !== 'true';
if (withoutFirefox) console.log('Tests in Firefox are skipped: install it, or name one in TEST_FIREFOX.');

export function launchFirefox(): Promise<Browser> {
  return puppeteer.launch({
    browser: 'firefox',
    executablePath: found ?? '/usr/bin/firefox-esr',
    // It asks nobody outside this machine.
    extraPrefsFirefox: {
      'app.update.enabled': false,
      'datareporting.policy.dataSubmissionEnabled': false,
      'network.captive-portal-service.enabled': false,
      'network.connectivity-service.enabled': false,
      'intl.accept_languages': 'en-GB, en',
    },
  });
}

/** `problems` has what the page complains of, and what its Content-Security-Policy refused. */
export async function openInFirefox(browser: Browser, url: string) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.evaluateOnNewDocument(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error(`${violatedDirective} refused ${blockedURI}`),
    );
  });
  await page.goto(url);
  // Keys go to the window in front.
  await page.bringToFront();
  return { page, problems, close: () => context.close() };
}

/** Waits until the page says this somewhere; if it never does, the error has what it says. */
export async function says(page: Page, text: string | RegExp): Promise<void> {
  const [source, flags] = typeof text === 'string' ? [text, undefined] : [text.source, text.flags];
  try {
    await page.waitForFunction(
      (source, flags) => {
        const said = document.body.innerText;
        return flags === undefined ? said.includes(source) : new RegExp(source, flags).test(said);
      },
      {},
      source,
      flags,
    );
  } catch (cause) {
    const said = await page.evaluate(() => document.body.innerText);
    throw new Error(`The page does not say ${text}, but:\n${said}`, { cause });
  }
}
