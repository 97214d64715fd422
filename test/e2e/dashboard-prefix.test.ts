/** The dashboard behind nginx, under a path of its own: its page and files, sign-in, WebSocket, an import, and the page of one tree. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { createJob, work } from '../support/api.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { openPage } from '../support/dashboard.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { makeKey } from '../support/keys.ts';
import { type Nginx, startNginx, withoutNginx } from '../support/nginx.ts';
import { startServer } from '../support/server.ts';

describe.skipIf(withoutBrowser || withoutNginx)('behind nginx, under /tools/jobtree/', () => {
  let db: TestDatabase;
  let app: App;
  /** On the same database, for those who work. */
  let free: App;
  let nginx: Nginx;
  let browser: Browser;
  let base: URL;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    free = await startServer(db.url);
    nginx = await startNginx([app.url, app.url], '/tools/jobtree/');
    base = new URL('.', nginx.url);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await nginx.stop();
    await Promise.all([app.close(), free.close()]);
    await db.drop();
  });

  it('signs in, follows a tree by push, imports a file, and shares a page that needs no sign-in', async () => {
    const { key } = await makeKey(db, ['admin']);
    const { page, problems } = await openPage(browser, base.href);
    await page.getByLabel('Key or token').waitFor();
    expect(new URL(page.url()).pathname).toBe('/tools/jobtree/dashboard/');
    const paths: string[] = [];
    page.on('request', (request) => paths.push(new URL(request.url()).pathname));
    page.on('websocket', (socket) => paths.push(new URL(socket.url()).pathname));
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Live').waitFor();
    await createJob(free.url, { type: 'proxied', sealed: true, items: [{}, {}] });
    await page.getByText('0 of 2 items, 0%').waitFor();
    await work(free.url, 'proxied', 1);
    await page.getByText('1 of 2 items, 50%').waitFor();

    await page.getByRole('link', { name: 'Imports' }).click();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('id,n\n1,a\n2,b\n3,c\n') });
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type of the job').fill('ordered');
    await dialog.getByText('{"id":"1","n":"a"}').waitFor();
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('0 of 3 items, 0%').first().waitFor();

    await page.getByRole('button', { name: 'Share a progress page' }).click();
    await dialog.getByRole('button', { name: 'Share a progress page' }).click();
    const link = await dialog.getByLabel('Link', { exact: true }).inputValue();
    expect(new URL(link).pathname).toBe('/tools/jobtree/dashboard/watch/');
    const { page: visitor, problems: others } = await openPage(browser, link);
    await visitor.getByText('0 of 3 items, 0%').waitFor();
    await work(free.url, 'ordered', 3);
    await visitor.getByText('3 of 3 items, 100%').waitFor();
    expect(paths.filter((path) => !path.startsWith('/tools/jobtree/'))).toEqual([]);
    expect(paths).toContain('/tools/jobtree/graphql');
    expect(problems.filter((one) => !one.includes('401'))).toEqual([]);
    expect(others).toEqual([]);
    await Promise.all([page.close(), visitor.close()]);
  });

  it.each(['dashboard', 'dashboard/watch'])(
    '%s has a policy without inline code, and can be in no frame of others',
    async (path) => {
      const beside = await fetch(new URL(path, base), { redirect: 'manual' });
      expect(beside.status).toBe(302);
      const place = new URL(beside.headers.get('location') ?? '', new URL(path, base));
      expect(place.pathname).toBe(`/tools/jobtree/${path}/`);
      const response = await fetch(place);
      const policy = Object.fromEntries(
        (response.headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
          const [name = '', ...sources] = directive.split(' ');
          return [name, sources.join(' ')];
        }),
      );
      expect(policy).toEqual({
        'default-src': "'none'",
        'script-src': "'self'",
        'style-src': "'self'",
        'img-src': "'self' data:",
        'connect-src': "'self'",
        'base-uri': "'none'",
        'form-action': "'none'",
        'frame-ancestors': "'none'",
      });
      expect(response.headers.get('x-frame-options')).toBe('DENY');
      expect(response.headers.get('set-cookie')).toBeNull();
      const html = await response.text();
      expect(html).not.toMatch(/<script(?![^>]* src=)|<style|style=| on\w+=/);
      for (const [, name = ''] of html.matchAll(/"(\.\/assets\/[^"]+)"/g)) {
        const file = await fetch(new URL(name, place));
        expect([file.status, file.headers.get('x-content-type-options')]).toEqual([200, 'nosniff']);
      }
    },
  );
});
