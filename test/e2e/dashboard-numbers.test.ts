/** Numbers in payloads and results, in the dashboard: JavaScript rounds those beyond 2^53, and nobody else may. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { data } from '../support/api.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { claim, openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

const big = '9007199254740993';
const report = `mutation ($reports: [ReportInput!]!) {
  reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
}`;
const amount = '1234567890123456789.01';

describe.skipIf(withoutBrowser)('a number beyond 2^53 keeps its digits', () => {
  const { db, app, client } = useServer();
  const browser = useBrowser();

  const open = (path: string) =>
    openDashboard(browser, app.url, path, {
      context: { permissions: ['clipboard-read', 'clipboard-write'] },
    });
  const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());
  /** A job with one item of this payload, and its id. */
  const make = async (type: string, payload: string) => {
    const [row] = await db.query<{ job_id: string }>('select job_id from jobtree.create_job($1)', [
      `{"type": "${type}", "maxFailuresPerItem": 0, "items": [{"payload": ${payload}}]}`,
    ]);
    const job = `Job:${row?.job_id}`;
    return { job, item: (await client.items(job)).nodes[0]?.id ?? '' };
  };
  const stored = async (job: string) => {
    const rows = await db.query<{ payload: string }>(
      'select payload::text from jobtree.job_item where job_id = $1 order by position',
      [job.slice('Job:'.length)],
    );
    return rows.map(({ payload }) => payload);
  };
  const fail = async (type: string, result?: string) => {
    const { claimItems } = await data(app.url, claim, { type });
    const [{ id }] = claimItems.assignments;
    const outcome =
      result === undefined
        ? '{"failure": {"code": "BAD", "message": "It is bad", "permanent": true}}'
        : `{"success": {"result": ${result}}}`;
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"query": ${JSON.stringify(report)}, "variables": {"reports": [{"assignmentId": "${id}", "outcome": ${outcome}}]}}`,
    });
    expect(await response.text()).toContain('"ACCEPTED"');
  };

  it('on the page of an item, in what is copied, and in the payload once something else in it was changed, and changed back', async () => {
    const { job, item } = await make('changed', `{"id": ${big}, "amount": ${amount}, "to": "Ada"}`);
    const { page, problems } = await open(`/items/${item}`);
    await page.getByText(`"id": ${big},`).waitFor();
    await page.getByText(`"amount": ${amount},`).waitFor();
    await page.getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    const editor = dialog.getByLabel('Payload, as JSON');
    await expect.poll(() => editor.inputValue()).toContain(big);
    // Without a change nothing is sent.
    await dialog.getByRole('button', { name: 'Copy as command' }).click();
    expect(await clipboard(page)).not.toContain('--payload');
    await editor.fill((await editor.inputValue()).replace('Ada', 'Grace'));
    await dialog.getByRole('button', { name: 'Copy as command' }).click();
    expect(await clipboard(page)).toContain(`{"id":${big},"amount":${amount},"to":"Grace"}`);
    await dialog.getByRole('button', { name: 'Copy as GraphQL' }).click();
    expect(await clipboard(page)).toContain(`"id": ${big},`);
    await dialog.getByRole('button', { name: 'Change' }).click();
    await expect.poll(() => stored(job)).toEqual([`{"id":${big},"amount":${amount},"to":"Grace"}`]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => stored(job)).toEqual([`{"id":${big},"amount":${amount},"to":"Ada"}`]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('when the number itself is entered, to replay one item, in a correction of many, and in a new item', async () => {
    const { job, item } = await make('replayed', `{"id": 1}`);
    await fail('replayed');
    const { page } = await open(`/items/${item}`);
    await page.getByRole('button', { name: 'Replay' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Payload, as JSON').fill(`{"id": ${big}}`);
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await expect.poll(() => stored(job)).toEqual([`{"id":${big}}`]);
    await fail('replayed');
    await page.goto(new URL(`dashboard/#/trees/${job}`, app.url).href);
    await page.getByRole('button', { name: 'Replay failures' }).click();
    await dialog.getByLabel('Change each payload').fill(`{"amount": ${amount}}`);
    // The field has the first of these, too.
    const preview = dialog.getByRole('region', { name: 'The first payloads' });
    await preview.getByText(`"amount": ${amount}`).waitFor();
    expect(await preview.getByText(`"id": ${big}`).count()).toBe(2);
    await dialog.getByRole('button', { name: 'Replay failures' }).click();
    const corrected = `{"id":${big},"amount":${amount}}`;
    await expect.poll(() => stored(job)).toEqual([corrected]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Add item' }).click();
    await dialog.getByLabel('Payload, as JSON').fill(big);
    await dialog.getByRole('button', { name: 'Add item' }).click();
    await expect.poll(() => stored(job)).toEqual([corrected, big]);
    await page.close();
  });

  it('in a search, and in its address', async () => {
    const { job } = await make('sought', `{"id": ${big}}`);
    const { page } = await open(`/trees/${job}?find=${big}&path=id`);
    await page.getByText('Looked at 1 of 1: 1 found').waitFor();
    expect(await page.getByLabel('Find in payloads').inputValue()).toBe(big);
    await page.close();
  });

  it('in the preview of a file, and in the public page of a tree', async () => {
    const { job } = await make('shared', '1');
    await fail('shared', `{"id": ${big}}`);
    const { page } = await open(`/trees/${job}`);
    await page.getByRole('button', { name: 'Add file' }).click();
    await page.locator('input[type=file]').setInputFiles({
      name: 'a.ndjson',
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from(`{"id": ${big}}\n`),
    });
    await page.getByRole('dialog').getByText(`{"id":${big}}`).waitFor();
    await page.close();
    const { token } = await client.createWatchToken(job, { sees: 'RESULTS' });
    const shared = await browser.newPage();
    const link = `dashboard/watch/#${new URLSearchParams({ tree: job, token })}`;
    await shared.goto(new URL(link, app.url).href);
    await shared.getByRole('button', { name: 'Show results' }).click();
    await shared.getByText(`{"id":${big}}`).waitFor();
    await shared.close();
  });
});
