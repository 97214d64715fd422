/** The dashboard as each role has it, however somebody signs in: nothing on it fails, and nothing is offered that the server then refuses. */
import type { Browser, Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Role } from '../../src/domain/access/rights.ts';
import type { App } from '../../src/server/create-app.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { openDashboard, prepare, screens } from '../support/dashboard.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startIssuer } from '../support/issuer.ts';
import { makeKey } from '../support/keys.ts';
import { freePort, startServer } from '../support/server.ts';

interface Restriction {
  readonly types?: readonly string[];
  readonly tenant?: string;
  /** To one tree, in which items have failed. */
  readonly isOfTree?: boolean;
}

type Way = 'a key' | 'an issuer' | 'a proxy';

const types = ['import', 'ship'];
/** With how many pages the menu has. */
const rights: readonly (readonly [Role, Restriction, Way, pages: number])[] = [
  ['admin', {}, 'a key', 12],
  ['admin', { tenant: 'acme' }, 'a proxy', 11],
  ['operator', { types }, 'a key', 6],
  ['operator', { isOfTree: true }, 'a key', 0],
  ['producer', {}, 'an issuer', 8],
  ['watcher', { types }, 'a key', 6],
  ['worker', {}, 'a key', 0],
];

/** Of those that end what the others are about. */
const isLast = (name: string) => /delete|cancel|discard|revoke/i.test(name);

/** What the page is told that it may not, over HTTP and over its socket. */
function refusalsOf(page: Page): string[] {
  const told: string[] = [];
  const note = (text: string) => {
    if (/FORBIDDEN|INTERNAL|not allowed|needs the role/.test(text)) told.push(text.slice(0, 500));
  };
  page.on('response', async (response) => {
    if (response.url().endsWith('/graphql')) note(await response.text().catch(() => ''));
  });
  page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => note(String(payload))));
  return told;
}

/** Those that open a dialog, each name once. */
async function buttonsOf(page: Page): Promise<string[]> {
  const buttons = page.getByRole('main').locator('button[aria-haspopup=dialog]');
  const names = await buttons.evaluateAll((all) =>
    all.filter((one) => one.checkVisibility()).map((one) => one.textContent),
  );
  return [...new Set(names)].toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)));
}

/** Until all that the screen asks for is there. */
async function settle(page: Page): Promise<void> {
  await page.getByRole('main').locator(':is(h1, [role=status])').first().waitFor();
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
}

/** Until the code of the next screen is there, the last one stays, with its buttons: the router says when it has gone. */
async function goTo(page: Page, url: string): Promise<void> {
  await page.goto(url);
  const { pathname } = new URL(new URL(url).hash.slice(1), url);
  await page.waitForFunction((shown) => {
    const { __TSR_ROUTER__: router } = globalThis as unknown as { __TSR_ROUTER__: Router };
    return router.state.resolvedLocation?.pathname === shown;
  }, pathname);
  await settle(page);
}

interface Router {
  readonly state: { readonly resolvedLocation?: { readonly pathname: string } };
}

async function carryOut(page: Page, name: string): Promise<void> {
  const button = page.getByRole('main').getByRole('button', { name, exact: true }).first();
  // What was done before may have ended what it is about.
  if (!(await button.isVisible())) return;
  await button.click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await expect.poll(() => dialog.getByText('Loading…').count()).toBe(0);
  for (const field of await dialog.locator('input[required]').all()) await field.fill('x');
  await dialog.locator('button[type=submit]').click();
  await dialog.locator('button[type=submit]:disabled').waitFor({ state: 'detached' });
  if (await dialog.isVisible()) await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await settle(page);
}

interface Scope {
  readonly types?: readonly string[];
  readonly tenant?: string;
  readonly rootIds?: readonly string[];
}
type Enter = (browser: Browser, db: TestDatabase, role: Role, scope: Scope) => Promise<Entered>;
interface Entered extends Awaited<ReturnType<typeof openDashboard>> {
  readonly app: App;
}

/** Signs in as somebody who has one role. */
const enter: Readonly<Record<Way, Enter>> = {
  'a key': async (browser, db, role, scope) => {
    const app = await start(db, { JOBTREE_AUTH: 'keys' });
    const { key } = await makeKey(db, [role], scope);
    const opened = await openDashboard(browser, app.url, '/');
    await opened.page.getByLabel('Key or token').fill(key);
    await opened.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await opened.page.getByRole('button', { name: 'Sign out' }).waitFor();
    return { app, ...opened };
  },
  'an issuer': async (browser, db, role) => {
    const port = String(await freePort());
    const issuer = await startIssuer([`http://127.0.0.1:${port}/dashboard/`]);
    onTestFinished(() => issuer.close());
    issuer.roles.set('eve', [role]);
    const app = await start(db, { ...issuer.settings, JOBTREE_PORT: port });
    const opened = await openDashboard(browser, app.url, '/', { origins: [issuer.url] });
    await opened.page.getByRole('button', { name: /^Sign in at localhost/ }).click();
    await opened.page.getByLabel('Name').fill('eve');
    await opened.page.getByRole('button', { name: 'Continue' }).click();
    await opened.page.getByText('token eve').waitFor();
    return { app, ...opened };
  },
  'a proxy': async (browser, db, role, { tenant = '' }) => {
    const secret = 'a secret of 32 characters or more';
    const app = await start(db, { JOBTREE_AUTH: 'proxy', JOBTREE_PROXY_SECRET: secret });
    const extraHTTPHeaders = {
      'jobtree-proxy-secret': secret,
      'x-forwarded-user': 'eve',
      'x-forwarded-roles': role,
      'x-forwarded-tenant': tenant,
    };
    const opened = await openDashboard(browser, app.url, '/', { context: { extraHTTPHeaders } });
    await opened.page.getByText('user eve').waitFor();
    return { app, ...opened };
  },
};

async function start(db: TestDatabase, settings: Record<string, string>): Promise<App> {
  const app = await startServer(db.url, settings);
  onTestFinished(() => app.close());
  return app;
}

describe.skipIf(withoutBrowser)('the dashboard by role', () => {
  const browser = useBrowser();

  it.each(rights)('%s %j by %s', { timeout: 240_000 }, async (role, { isOfTree, ...scope }, way, pages) => {
    const db = await createDatabase();
    const open = await startServer(db.url);
    onTestFinished(async () => {
      await open.close();
      await db.drop();
    });
    const ids = await prepare(open.url);
    const rootIds = isOfTree ? { rootIds: [ids.imports.slice('Job:'.length)] } : {};
    // The first of all keys is revoked, which must not be its own.
    const { app, page, problems } = await enter[way](browser, db, role, { ...scope, ...rootIds });
    await makeKey(db, ['watcher'], { ...scope, name: '1' });
    await settle(page);
    expect(await page.getByRole('navigation', { name: 'Pages' }).locator('a').count()).toBe(pages);
    const refusals = refusalsOf(page);
    // Whoever reads no job is told so by the server, of each.
    const shown = screens(ids).filter(([, path]) => role !== 'worker' || !/^\/(trees|items)\//.test(path));
    const offered = new Set<string>();
    for (const [name, anyPath] of shown) {
      // That of another type is refused to whoever has a scope, and its address is not offered.
      const path = anyPath.replace('/queues/payroll', '/queues/import');
      await goTo(page, new URL(`dashboard/#${path}`, app.url).href);
      expect([name, refusals, await page.getByRole('alert').allInnerTexts()]).toEqual([name, [], []]);
      for (const action of await buttonsOf(page)) {
        offered.add(action);
        await carryOut(page, action);
        expect([name, action, refusals]).toEqual([name, action, []]);
      }
    }
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    if (role === 'watcher') expect([...offered]).toEqual(['Share a progress page']);
    await page.close();
  });
});
