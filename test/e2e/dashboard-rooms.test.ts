/** The operator's rooms in a real browser: what is live there, and what is done to everything that matches. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createJob, data } from '../support/api.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { failAll, openDashboard } from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('the rooms of the dashboard', () => {
  const { db, app } = useServer();
  const browser = useBrowser();

  const open = async (path: string, url = app.url) => {
    const { page } = await openDashboard(browser, url, path);
    return page;
  };
  const bury = async (type: string, code: string, message: string, count = 1) => {
    await createJob(app.url, {
      type,
      sealed: true,
      maxFailuresPerItem: 0,
      items: Array.from({ length: count }, () => ({})),
    });
    await failAll(app.url, type, code, message);
  };
  const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

  it('dead letters appear by push, and one code of them is replayed: first how many, then how far', async () => {
    await bury('parcel', 'TIMEOUT', 'No answer from the depot');
    const page = await open('/dead-letters');
    await rowOf(page, 'No answer from the depot').waitFor();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await bury('parcel', 'ADDRESS', 'No such street', 2);
    await rowOf(page, 'No such street').getByRole('link', { name: 'ADDRESS', exact: true }).click();
    expect(requests).toEqual([]);
    await page.getByRole('button', { name: 'Replay all that match' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Replay 2 items?').waitFor();
    await dialog.getByRole('button', { name: 'Copy as command' }).waitFor();
    await dialog.getByRole('button', { name: 'Replay all that match' }).click();
    await dialog.getByText('2 items are tried again').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('No dead letter has this type and code.').waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();
    await rowOf(page, 'No answer from the depot').waitFor();
    await page.close();
  });

  it('more groups than a page has are read when they are asked for, and none twice', async () => {
    // A pattern has no digits.
    const word = (i: number) =>
      `${String.fromCharCode(97 + (i % 26))}${String.fromCharCode(97 + Math.floor(i / 26))}`;
    await db.query(
      `insert into jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
       select gen_random_uuid(), n, 'many', now(), 'C', p, jobtree.fingerprint('many', 'C', p)
       from unnest($1::text[]) with ordinality as w(p, n)`,
      [Array.from({ length: 130 }, (_, i) => `cause ${word(i)}`)],
    );
    const page = await open('/dead-letters?type=many');
    const table = page.getByRole('table', { name: 'Dead letters' });
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe('101');
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe('131');
    await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' });
    await page.close();
  });

  it('an operation says who asked for it', async () => {
    await bury('asked', 'X', 'It broke');
    await data(
      app.url,
      'mutation { discardDeadLetters(input: { filter: { types: ["asked"] } }) { __typename } }',
    );
    const page = await open('/operations');
    await rowOf(page, 'Discard').first().getByText('anybody').waitFor();
    await page.close();
  });

  it('a worker, what it holds, a schedule and its pause appear by push', async () => {
    const client = createClient({ url: app.url });
    const workers = await open('/workers');
    const schedules = await open('/schedules');
    await workers.getByText('No worker has an item.').waitFor();
    await schedules.getByText('There are no schedules.').waitFor();
    await createJob(app.url, { type: 'held', sealed: true, items: [{}] });
    await data(
      app.url,
      'mutation { claimItems(input: { worker: "anna", requests: [{ type: "held", limit: 1 }] }) { __typename } }',
    );
    await workers.getByRole('table', { name: 'Held items' }).getByText('anna').waitFor();
    await client.schedules.put({ name: 'weekly', cron: '0 3 * * 1', template: { type: 'report' } });
    await rowOf(schedules, 'weekly').waitFor();
    await client.schedules.pause('weekly');
    await rowOf(schedules, 'weekly').getByRole('button', { name: 'Resume', exact: true }).waitFor();
    await client.close();
    await Promise.all([workers.close(), schedules.close()]);
  });

  it('limits a type by rate, and says before a pause what will wait', async () => {
    await createJob(app.url, { type: 'limited', sealed: true, items: [{}, {}] });
    const page = await open('/queues');
    const row = rowOf(page, 'limited');
    await row.getByRole('button', { name: 'Limit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Items per interval').fill('10');
    await dialog.getByLabel('Interval in seconds').fill('2');
    await dialog.getByRole('button', { name: 'Limit' }).click();
    await row.getByText('10 per 2 s').waitFor();
    await row.getByRole('button', { name: 'Pause', exact: true }).click();
    await dialog.getByText('2 ready items wait').waitFor();
    await page.close();
  });

  it('a tree is kept for another time', async () => {
    const id = await createJob(app.url, { type: 'kept', items: [{}] });
    const page = await open(`/trees/${id}`);
    await page.getByRole('button', { name: 'Change retention', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('spinbutton').fill('30');
    await dialog.getByRole('button', { name: 'Change retention', exact: true }).click();
    const read = async () =>
      (await data(app.url, 'query ($id: ID!) { job(id: $id) { retentionSeconds } }', { id })).job
        .retentionSeconds;
    await expect.poll(read).toBe(30 * 86_400);
    await page.close();
  });

  it('an admin revokes a key, which stays in the list', async () => {
    await makeKey(db, ['producer'], { name: 'shop' });
    const page = await open('/api-keys');
    const row = rowOf(page, 'shop');
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('revoked').waitFor();
    expect(await row.getByRole('button').count()).toBe(0);
    await page.close();
  });

  it('an operator with a scope sees its dead letters alone, and may replay but not administer', async () => {
    await bury('mail.in', 'BOUNCE', 'The mailbox is full');
    await bury('mail.out', 'BOUNCE', 'The line is dead');
    const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    const { key } = await makeKey(db, ['operator'], { name: 'night shift', types: ['mail.in'] });
    const page = await open('/dead-letters?code=BOUNCE', closed.url);
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await rowOf(page, 'The mailbox is full').waitFor();
    expect(await rowOf(page, 'The line is dead').count()).toBe(0);
    await page.getByRole('button', { name: 'Replay all that match' }).click();
    await page.getByRole('dialog').getByText('Replay 1 item?').waitFor();
    const pages = await page.getByRole('navigation').getByRole('link').allInnerTexts();
    expect(pages).not.toContain('API keys');
    expect(pages).toContain('Operations');
    await page.close();
    await closed.close();
  });
});
