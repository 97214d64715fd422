/** Pages of the dashboard for tests: in a real browser, at the sizes of a desktop and of a phone, with something to see on each screen. */
import { mkdirSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { createClient } from '../../src/client/index.ts';
import { createJob, data, work } from './api.ts';

/** Set to a folder, tests leave screenshots there. */
export const shots = process.env.TEST_SCREENSHOTS;
if (shots !== undefined) mkdirSync(shots, { recursive: true });
export const desktop = { width: 1280, height: 800 };
export const phone = { width: 320, height: 700 };
export const allViews = [
  ['light', 'desktop', desktop],
  ['dark', 'phone', phone],
  ['dark', 'desktop', desktop],
  ['light', 'phone', phone],
] as const;
/** Both sizes and both schemes, each once; for screenshots each with each. */
export const views = allViews.slice(0, shots === undefined ? 2 : 4);

export interface PageOptions {
  readonly size?: { readonly width: number; readonly height: number };
  readonly scheme?: 'light' | 'dark';
  readonly context?: BrowserContextOptions;
  /** Where else it may ask, besides its server. */
  readonly origins?: readonly string[];
}

/** `problems` has what the page complains of, and what it asks of anybody but its server. */
export async function openPage(browser: Browser, url: string, options: PageOptions = {}) {
  const { size = desktop, scheme = 'light', context = {}, origins = [] } = options;
  const page = await browser.newPage({ viewport: size, colorScheme: scheme, ...context });
  const problems: string[] = [];
  const known = [new URL(url).origin, ...origins];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    if (!known.includes(new URL(request.url()).origin)) problems.push(request.url());
  });
  await page.goto(url);
  return { page, problems };
}

/** Opens a screen of the server with this URL. */
export const openDashboard = (browser: Browser, url: string, path: string, options: PageOptions = {}) =>
  openPage(browser, new URL(`dashboard/#${path}`, url).href, options);

export async function screenshot(page: Page, name: string): Promise<void> {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/dashboard-${name}.png` });
}

/** By how many pixels a page is wider than the screen. */
export const excess = (page: Page) =>
  page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

/** How long the slowest answer took from when it was asked for, in milliseconds. */
export const slowestAnswer = (page: Page) =>
  page.evaluate(() =>
    Math.max(
      ...(performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name }) => name.endsWith('/graphql'))
        .map(({ requestStart, responseEnd }) => responseEnd - requestStart),
    ),
  );

export const claim = `mutation ($type: String!) {
  claimItems(input: { worker: "test", requests: [{ type: $type, limit: 100 }] }) {
    ... on ClaimItemsPayload { assignments { id payload } }
  }
}`;

export async function failAll(url: string, type: string, code: string, message: string): Promise<void> {
  const { claimItems } = await data(url, claim, { type });
  const reports = claimItems.assignments.map(({ id }: { id: string }) => ({
    assignmentId: id,
    outcome: { failure: { code, message, permanent: true } },
  }));
  await data(
    url,
    `mutation ($reports: [ReportInput!]!) {
      reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
    }`,
    { reports },
  );
}

/** What a person could find: trees in all states, failures of two causes, a blocked key, a schedule. */
export async function prepare(url: string) {
  const client = createClient({ url });
  const greet = await createJob(url, {
    type: 'greet',
    sealed: true,
    items: [{ payload: 'Ada' }, { payload: 'Grace' }],
  });
  await work(url, 'greet', 2, 'Hello!');
  const items = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: { row: i + 1 } }));
  const payroll = await createJob(url, {
    type: 'payroll',
    sealed: true,
    items: items(40),
    children: [{ type: 'check', feed: {}, children: [{ type: 'archive', feed: {} }] }],
  });
  await work(url, 'payroll', 25, { amount: 1200 });
  await work(url, 'check', 10, 'sent');
  const imports = await createJob(url, { type: 'import', maxFailuresPerItem: 0, items: items(12) });
  const { claimItems } = await data(url, claim, { type: 'import' });
  const reports = claimItems.assignments.map(({ id }: { id: string }, i: number) => ({
    assignmentId: id,
    outcome:
      i % 3 === 0
        ? {
            failure: {
              code: 'NOT_FOUND',
              message: 'No such customer: 17',
              stack: 'Error: No such customer\n    at find (customers.ts:12:9)',
              permanent: true,
            },
          }
        : i % 3 === 1
          ? { failure: { code: 'TIMEOUT', message: 'No answer within 5 s', permanent: true } }
          : { success: { result: i } },
  }));
  await data(
    url,
    `mutation ($reports: [ReportInput!]!) {
      reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
    }`,
    { reports },
  );
  await createJob(url, {
    type: 'ship',
    sealed: true,
    items: [{ serializeKey: 'acme' }, { serializeKey: 'acme' }, { serializeKey: 'acme' }],
  });
  const large = await createJob(url, { type: 'large', items: items(1_000) });
  await client.schedules.put({ name: 'nightly', cron: '0 3 * * *', template: { type: 'report' } });
  const { deadLetterGroups } = await data(url, `{ deadLetterGroups { id pattern example { id } } }`);
  const group = deadLetterGroups.find(({ pattern }: { pattern: string }) => pattern.includes('customer'));
  await client.close();
  return { greet, payroll, imports, large, group: group.id, failedItem: group.example.id };
}

/** Each screen: its name, its path, and what is shown when it is there. */
export const screens = (
  ids: Awaited<ReturnType<typeof prepare>>,
): readonly (readonly [name: string, path: string, shown: string | RegExp])[] => [
  ['trees', '/', 'greet'],
  ['tree', `/trees/${ids.payroll}`, 'Tree payroll'],
  ['tree-failed', `/trees/${ids.imports}?job=${ids.imports}&status=FAILED`, 'Tree import'],
  ['item', `/items/${ids.failedItem}`, 'No such customer'],
  ['dead-letters', '/dead-letters', 'No such customer'],
  ['dead-letter-group', `/dead-letters/${ids.group}`, 'Replay all'],
  ['queues', '/queues', 'payroll'],
  ['queues-history', '/queues?range=1h', 'As a table'],
  ['queue', '/queues/payroll', 'As a table'],
  ['workers', '/workers', 'Held items'],
  ['keys', '/keys', 'acme'],
  ['schedules', '/schedules', 'nightly'],
  // Of this week there may be no occurrence left.
  ['calendar', '/schedules?view=week&day=2090-03-31', /nightly/],
  ['operations', '/operations', 'Operations'],
  ['callbacks', '/callbacks', 'There are no callbacks'],
  ['imports', '/imports', 'Uploaded files'],
  ['api-keys', '/api-keys', 'API keys'],
  ['audit', '/audit', 'Audit'],
  ['system', '/system', /[✓⚠✕]/],
];
