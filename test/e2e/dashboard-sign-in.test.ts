/** People at the dashboard, in a real browser: at a real issuer by OpenID Connect, by a key, through a proxy; and when that ends. */

import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { revokeApiKey } from '../../src/domain/access/api-keys.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, screenshot, views } from '../support/dashboard.ts';
import { clientId, type Issuer, startIssuer } from '../support/issuer.ts';
import { makeKey, statementsOf } from '../support/keys.ts';
import { freePort, startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('signing in to the dashboard', () => {
  const db = useDatabase();
  let browser: Browser;
  let issuer: Issuer;
  /** With everybody let in, for what happens meanwhile. */
  let open: App;
  let app: App;
  let byIdToken: App;
  let context: BrowserContext;
  /** The issuer leads back there, too. */
  let thirdPort: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    const ports = [String(await freePort()), String(await freePort()), String(await freePort())] as const;
    thirdPort = ports[2];
    issuer = await startIssuer(ports.map((port) => `http://127.0.0.1:${port}/dashboard/`));
    app = await startServer(db.url, { ...issuer.settings, JOBTREE_PORT: ports[0] });
    // Its access tokens are then for the issuer alone.
    byIdToken = await startServer(db.url, {
      ...issuer.settings,
      JOBTREE_PORT: ports[1],
      JOBTREE_JWT_AUDIENCE: clientId,
      JOBTREE_DASHBOARD_SIGN_IN_PARAMETERS: '',
    });
    open = await startServer(db.url);
    await createJob(open.url, { type: 'greet', items: [{}, {}] });
  });
  afterAll(async () => {
    await browser.close();
    await Promise.all([app.close(), byIdToken.close(), open.close()]);
    await issuer.close();
  });
  beforeEach(async () => {
    issuer.tokenSeconds = 3_600;
    issuer.givesRefreshTokens = true;
    context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  });
  afterEach(() => context.close());

  const visit = async (path = '/', url = app.url) => {
    const page = await context.newPage();
    await page.goto(new URL(`dashboard/#${path}`, url).href);
    return page;
  };
  const atIssuer = async (page: Page, name: string) => {
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  const signIn = async (page: Page, name = 'ada') => {
    await page.getByRole('button', { name: /^Sign in at localhost/ }).click();
    await atIssuer(page, name);
  };
  const signedIn = (page: Page, name = 'ada') => page.getByText(`token ${name}`).waitFor();

  it('leads to the issuer and back to the same screen, keeps the token for the tab, and the audit names the person', async () => {
    const page = await visit('/?type=greet');
    await signIn(page);
    await signedIn(page);
    await page.getByRole('link', { name: 'greet' }).waitFor();
    await page.getByText('Live').waitFor();
    const { origin } = new URL(app.url);
    expect(page.url()).toBe(`${origin}/dashboard/#/?type=greet`);
    expect(await context.cookies(origin)).toEqual([]);
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([]);
    await page.getByRole('link', { name: 'Queues' }).click();
    const row = page.getByRole('row').filter({ hasText: 'greet' });
    await row.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await row.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await row.getByRole('button', { name: 'Pause' }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('link', { name: 'Audit' }).click();
    const entry = page.getByRole('row').filter({ hasText: 'Change the settings of a type' }).first();
    expect(await entry.innerText()).toContain('token ada');
    // Another tab has to sign in itself.
    const other = await visit();
    await other.getByRole('button', { name: /^Sign in at localhost/ }).waitFor();
  });

  it('may ask the server and the issuer, and nobody else', async () => {
    const policy = async (url: string) =>
      (await fetch(new URL('dashboard/', url), { headers: { accept: 'text/html' } })).headers.get(
        'content-security-policy',
      );
    expect(await policy(app.url)).toContain(`connect-src 'self' ${issuer.url};`);
    expect(await policy(open.url)).toContain("connect-src 'self';");
  });

  it('signs in at an issuer that makes its tokens at another origin, which its metadata names', async () => {
    issuer.tokensAt = issuer.elsewhere;
    const apart = await startServer(db.url, { ...issuer.settings, JOBTREE_PORT: thirdPort });
    try {
      const page = await visit('/', apart.url);
      const asked = page.waitForRequest((request) => request.url() === `${issuer.elsewhere}/token`);
      await signIn(page);
      await asked;
      await signedIn(page);
    } finally {
      issuer.tokensAt = undefined;
      await apart.close();
    }
  });

  it('renews a token that has expired, without a word', async () => {
    const page = await visit('/?types=renewed');
    issuer.tokenSeconds = 3;
    await createJob(open.url, { type: 'renewed', sealed: true, items: [{}, {}] });
    const renewal = page.waitForRequest((request) =>
      /grant_type=refresh_token/.test(request.postData() ?? ''),
    );
    await signIn(page);
    await page.getByText('0 of 2 items').waitFor();
    issuer.tokenSeconds = 3_600;
    await renewal;
    await work(open.url, 'renewed', 2);
    await page.getByText('2 of 2 items').waitFor();
    await page.getByText('Live').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('takes id tokens of an issuer whose access tokens are not for this server', async () => {
    const page = await visit('/', byIdToken.url);
    await signIn(page);
    await signedIn(page);
    await page.getByRole('link', { name: 'greet' }).waitFor();
  });

  it('asks to sign in again when a token can not be renewed, and everything on the screen goes on as it was', async () => {
    issuer.givesRefreshTokens = false;
    // Long enough to open a dialog, on a busy machine, too.
    issuer.tokenSeconds = 10;
    const page = await visit('/queues');
    await signIn(page);
    await signedIn(page);
    issuer.tokenSeconds = 3_600;
    const row = page.getByRole('row').filter({ hasText: 'greet' });
    await page.getByText(/^until /).waitFor();
    await row.getByRole('button', { name: 'Limit' }).click();
    const limit = page.getByRole('dialog', { name: 'Limit' });
    await limit.getByLabel(/at a time/).fill('17');
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.waitFor();
    await page.getByText('As of').waitFor();
    await screenshot(page, 'sign-in-again');
    expect(await violations(page)).toEqual([]);
    const [window] = await Promise.all([
      page.waitForEvent('popup'),
      again.getByRole('button', { name: /^Sign in at/ }).click(),
    ]);
    // The issuer knows her still, so its page leads on by itself.
    await window.waitForEvent('close');
    await again.waitFor({ state: 'hidden' });
    expect(await limit.getByLabel(/at a time/).inputValue()).toBe('17');
    await limit.getByRole('button', { name: 'Limit' }).click();
    await row.getByText('17 at a time').waitFor();
    await page.getByText('Live').waitFor();
  });

  it('shows nothing of the last person to the next one', async () => {
    issuer.givesRefreshTokens = false;
    issuer.tokenSeconds = 3;
    issuer.roles.set('bob', ['watcher']);
    const page = await visit();
    await signIn(page);
    await signedIn(page);
    issuer.tokenSeconds = 3_600;
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.waitFor();
    await context.clearCookies();
    const reload = page.waitForEvent('load');
    const [window] = await Promise.all([
      page.waitForEvent('popup'),
      again.getByRole('button', { name: /^Sign in at/ }).click(),
    ]);
    await atIssuer(window, 'bob');
    await reload;
    await signedIn(page, 'bob');
    expect(await page.getByRole('link', { name: 'Audit', includeHidden: true }).count()).toBe(0);
  });

  it('signs out at the issuer, too', async () => {
    const page = await visit();
    await signIn(page);
    await signedIn(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out here' }).click();
    await page.getByRole('button', { name: /^Sign in at localhost/ }).click();
    await page.getByLabel('Name').waitFor();
  });

  const change = (page: Page, name: string) =>
    page.route(`${issuer.url}/auth?**`, (route) => {
      const url = new URL(route.request().url());
      url.searchParams.set(name, 'of another sign-in');
      return route.continue({ url: url.href });
    });
  const refusals: [string, string | RegExp, (page: Page) => Promise<unknown>][] = [
    ['another state', /its state differs/, (page) => change(page, 'state').then(() => signIn(page))],
    ['another nonce', /its nonce differs/, (page) => change(page, 'nonce').then(() => signIn(page))],
    ['a refusal of the issuer', 'access_denied: You are not known here', (page) => signIn(page, '')],
    [
      'no role',
      'but this server refuses you: The token has no role: its claim jobtree_roles is missing or empty.',
      (page) => signIn(page, 'eve'),
    ],
    ['an unknown role', /refuses you: .*king/, (page) => signIn(page, 'rex')],
  ];
  it.each(refusals)('says what is wrong with %s, and lets nobody in', async (_, text, act) => {
    issuer.roles.set('rex', ['king']);
    const page = await visit('/queues');
    await act(page);
    await page.getByRole('alert').getByText(text).waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem('jobtree-session'))).toBeNull();
    // The code is gone from the address, and the screen is the same.
    expect(new URL(page.url()).search).toBe('');
    expect(new URL(page.url()).hash).toBe('#/queues');
    await page.getByRole('button', { name: /^Sign in at localhost/ }).waitFor();
  });

  it('takes no answer to a sign-in that the tab did not begin', async () => {
    const page = await context.newPage();
    await page.goto(`${new URL('dashboard/', app.url).href}?code=stolen&state=guessed`);
    await page.getByRole('alert').getByText('This tab has not begun the sign-in').waitFor();
  });

  it('says that the issuer is away, and stays where it is', async () => {
    const page = await visit();
    const button = page.getByRole('button', { name: /^Sign in at localhost/ });
    await button.waitFor();
    await page.route(`${issuer.url}/**`, (route) => route.abort());
    await button.click();
    await page
      .getByRole('alert')
      .getByText(/^localhost:\d+ can't be reached/)
      .waitFor();
  });

  it('says to somebody who may do something else that the role does not include the page', async () => {
    issuer.roles.set('wes', ['worker']);
    const page = await visit('/audit');
    await signIn(page, 'wes');
    await signedIn(page, 'wes');
    await page.getByRole('status').getByText('Your role does not include this page').waitFor();
  });

  it.each(views)('axe finds nothing wrong with its page: %s, %s', async (scheme, device, size) => {
    await context.close();
    context = await browser.newContext({ viewport: size, colorScheme: scheme });
    const page = await visit();
    await page.getByRole('button', { name: /^Sign in at localhost/ }).waitFor();
    await screenshot(page, `sign-in-${scheme}-${device}`);
    expect(await violations(page)).toEqual([]);
    expect(await excess(page)).toBe(0);
    await signIn(page, 'eve');
    await page.getByRole('alert').waitFor();
    await screenshot(page, `sign-in-refused-${scheme}-${device}`);
    expect(await violations(page)).toEqual([]);
  });

  it('by a key: says why it is refused, and asks for another one when it is revoked', async () => {
    const keys = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    const first = await makeKey(db, ['admin'], { name: 'first' });
    const page = await visit('/queues', keys.url);
    const field = page.getByLabel('Key or token');
    await field.fill('jobtree_nonsense');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').getByText('There is no such API key').waitFor();
    await field.fill(first.key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('key first').waitFor();
    await page.getByRole('row').filter({ hasText: 'greet' }).waitFor();
    await revokeApiKey(statementsOf(db), first.id);
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByLabel('Key or token').fill(first.key);
    await again.getByRole('button', { name: 'Sign in', exact: true }).click();
    await again.getByRole('alert').waitFor();
    await page.getByRole('row').filter({ hasText: 'greet' }).waitFor();
    const second = await makeKey(db, ['admin'], { name: 'second' });
    await again.getByLabel('Key or token').fill(second.key);
    await again.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('key second').waitFor();
    await keys.close();
  });

  it('through a proxy nothing is asked, and without it nothing can be entered', async () => {
    const proxied = await startServer(db.url, {
      JOBTREE_AUTH: 'proxy',
      JOBTREE_PROXY_SECRET: 'a secret of 32 characters or more',
    });
    const page = await visit('/queues', proxied.url);
    await page.getByText('signs people in, and this page has not come through it').waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
    await page.close();
    await context.setExtraHTTPHeaders({
      'jobtree-proxy-secret': 'a secret of 32 characters or more',
      'x-forwarded-user': 'ada',
      'x-forwarded-roles': 'admin',
    });
    const through = await visit('/audit', proxied.url);
    await through.getByText('user ada').waitFor();
    expect(await through.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
    await proxied.close();
  });
});
