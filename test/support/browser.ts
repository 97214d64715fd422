/** A real browser: Chromium from the system. Nothing is downloaded; without one its tests are skipped, but never in CI. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { late } from './late.ts';

const candidates = [
  process.env.TEST_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const found = candidates.find((path) => path !== undefined && existsSync(path));

/** Whether tests of pages must be skipped here. */
export const withoutBrowser = found === undefined && process.env.CI !== 'true';
if (withoutBrowser)
  console.log('Tests of pages are skipped: install Chromium, or name one in TEST_CHROMIUM.');

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: found ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** One for the tests of a `describe`. */
export function useBrowser(): Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  return late(() => browser as Browser);
}
