/** Lists that only few look at are live like all others, and the audit is found by who, what and when. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('the audit and the imports in the dashboard', () => {
  const { app, client, db } = useServer();
  const browser = useBrowser();

  const open = async (path: string) => (await openDashboard(browser, app.url, path)).page;
  const rows = (page: Page, name: string) =>
    page
      .getByRole('table', { name })
      .getByRole('row')
      .evaluateAll((all) => all.slice(1).map((row) => row.textContent ?? ''));

  it('an entry of the audit appears by push, in words', async () => {
    const page = await open('/audit');
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await client.queues.pause('seen');
    await expect.poll(() => rows(page, 'Audit')).toEqual([expect.stringMatching('type seen')]);
    expect((await rows(page, 'Audit'))[0]).toMatch(/Change the settings of a type.*Done/);
    await page.close();
  });

  it('the audit is found by who, what and when, which the address says', async () => {
    const entry = `insert into jobtree.audit_entry (id, at, actor, action, subjects, address, outcome)
      values (gen_random_uuid(), $1, $2, $3, '{}', 'here', $4)`;
    await db.query(entry, ['2026-01-01T12:00:00Z', 'key Ada', 'deleteJob', 'OK']);
    await db.query(entry, ['2026-01-02T12:00:00Z', 'key Ada', 'cancelJob', 'FORBIDDEN']);
    await db.query(entry, ['2026-01-03T12:00:00Z', 'key Grace', 'deleteJob', 'INTERNAL']);
    const page = await open('/audit');
    await page.getByLabel('Who').fill('Ada');
    await page.getByLabel('What').selectOption('Cancel a job');
    await page.getByRole('button', { name: 'Filter' }).click();
    await expect.poll(() => rows(page, 'Audit')).toEqual([expect.stringMatching(/Ada.*Refused: FORBIDDEN/)]);
    expect(page.url()).toContain('actor=Ada&action=cancelJob');
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByLabel('Since').fill('2026-01-02T00:00:00');
    await page.getByLabel('Before').fill('2026-01-04T00:00:00');
    await page.getByRole('button', { name: 'Filter' }).click();
    await expect
      .poll(() => rows(page, 'Audit'))
      .toEqual([expect.stringMatching(/Grace.*Unclear: INTERNAL/), expect.stringMatching('Ada')]);
    await page.getByLabel('Who').fill('nobody');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('No entry meets these conditions.').waitFor();
    await page.close();
  });

  it('uploads and imports of others appear by push', async () => {
    const page = await open('/imports');
    await page.getByText('No file is stored.').waitFor();
    const { id } = await client.upload(new File(['{"n": 1}\n{"n": 2}\n'], 'orders.ndjson'));
    await expect.poll(() => rows(page, 'Uploaded files')).toEqual([expect.stringMatching('orders.ndjson')]);
    await client.createJob({ type: 'imported', file: { uploadId: id, format: 'NDJSON' } });
    await expect.poll(() => rows(page, 'Imports')).toEqual([expect.stringMatching(/imported.*Complete/)]);
    await page.close();
  });
});
