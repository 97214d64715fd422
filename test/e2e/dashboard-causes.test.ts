/** The page of a tree says what its items failed of, while it is open, and leads to where that is mended. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, failAll, openDashboard, screenshot, views } from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('why items of a tree failed', () => {
  const { db, app, client } = useServer();
  const browser = useBrowser();

  const open = async (path: string, options = {}) =>
    (await openDashboard(browser, app.url, path, options)).page;
  const failures = (page: Page) => page.getByRole('region', { name: 'Failures', exact: true });
  const cause = (page: Page, pattern: string) => failures(page).getByRole('row').filter({ hasText: pattern });
  const items = (page: Page) => page.getByRole('table', { name: 'Items', exact: true });
  const timeout = 'No answer within … s';
  const address = 'There is no such street';

  /** Two types whose items will fail, `count` of each, and one whose items will not. */
  const plant = async (name: string, count: number) => {
    const some = Array.from({ length: count }, (_, n) => ({ payload: { invoice: n } }));
    const job = (type: string) => ({
      type: `${name}-${type}`,
      sealed: true,
      maxFailuresPerItem: 0,
      items: some,
    });
    return (await client.createJob({ ...job('bill'), children: [job('letter'), job('note')] })).id;
  };
  const failBoth = async (name: string, count: number) => {
    for (let failed = 0; failed < count; failed += 100) {
      await failAll(app.url, `${name}-bill`, 'TIMEOUT', 'No answer within 5 s');
      await failAll(app.url, `${name}-letter`, 'ADDRESS', address);
    }
    await work(app.url, `${name}-note`, count);
  };

  it('the causes come up by themselves on the open page, each with its count, and lead to all that is known of them', async () => {
    const id = await plant('many', 150);
    const page = await open(`/trees/${id}`);
    await items(page).getByText('Ready').first().waitFor();
    expect(await failures(page).count()).toBe(0);
    expect(await items(page).getByRole('columnheader', { name: 'Last error' }).count()).toBe(0);
    await failBoth('many', 150);
    for (const [pattern, type, code] of [
      [timeout, 'many-bill', 'TIMEOUT'],
      [address, 'many-letter', 'ADDRESS'],
    ] as const)
      for (const text of ['150', type, code])
        await cause(page, pattern).getByText(text, { exact: true }).waitFor();
    expect(await failures(page).getByRole('row').count()).toBe(3);

    // The list of items tells of each its own message, not the pattern.
    await items(page).getByText('No answer within 5 s').first().waitFor();
    await items(page).getByRole('row').filter({ hasText: 'TIMEOUT' }).first().getByRole('link').click();
    await page.getByRole('link', { name: 'Dead letters of the same cause' }).click();
    await page.getByRole('heading', { level: 1, name: timeout }).waitFor();
    await page.getByRole('button', { name: 'Replay all', exact: true }).waitFor();

    await page.goto(new URL(`dashboard/#/trees/${id}`, app.url).href);
    await failures(page).getByRole('link', { name: address }).click();
    await page.getByRole('heading', { level: 1, name: address }).waitFor();
    await page.getByRole('table', { name: 'Items', exact: true }).getByText(address).first().waitFor();
    await page.close();
  });

  it('a cause goes when its items are replayed, and the section when somebody else discards the rest', async () => {
    const id = await plant('settled', 3);
    await failBoth('settled', 3);
    const page = await open(`/trees/${id}`);
    await cause(page, timeout).getByText('3', { exact: true }).waitFor();
    await client.replayDeadLetters({ jobId: id, types: ['settled-bill'] });
    await cause(page, timeout).waitFor({ state: 'detached' });
    await cause(page, address).getByText('3', { exact: true }).waitFor();
    // No count of the tree changes by that: it is noticed within ten seconds, or more if reading is slow.
    await client.discardDeadLetters({ jobId: id });
    await failures(page).waitFor({ state: 'detached', timeout: 60_000 });
    await page.close();
  });

  it('an item that is retried shows its last error, in short', async () => {
    const { id } = await client.createJob({ type: 'again', items: [{}] });
    const [assignment] = await client.claimItems('by-hand', [{ type: 'again', limit: 1 }]);
    const failure = { code: 'LONG', message: 'x'.repeat(200), retryAfterMs: 3_600_000 };
    await client.reportOutcomes([{ assignmentId: assignment?.id ?? '', failure }]);
    const page = await open(`/trees/${id}`);
    await items(page)
      .getByText(`LONG ${'x'.repeat(120)}…`, { exact: true })
      .waitFor();
    expect(await failures(page).count()).toBe(0);
    await page.close();
  });

  it('are told to those who may see all of the tree, with links for those who may list dead letters', async () => {
    const id = await plant('rights', 2);
    await failBoth('rights', 2);
    const strict = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    for (const [scope, causes, links] of [
      [{}, 2, 2],
      [{ rootIds: [id.slice(4)] }, 2, 0],
      [{ types: ['rights-bill'] }, 0, 0],
    ] as const) {
      const { key } = await makeKey(db, ['watcher'], scope);
      const { page } = await openDashboard(browser, strict.url, `/trees/${id}`);
      const answered = page.waitForResponse(
        (response) => /query TreeDeadLetters\b/.test(response.request().postData() ?? '') && response.ok(),
      );
      await page.getByLabel('Key or token').fill(key);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await (await answered).finished();
      await items(page).getByText('No answer within 5 s').first().waitFor();
      await expect
        .poll(() =>
          failures(page)
            .getByRole('cell')
            .getByText(/answer|street/)
            .count(),
        )
        .toBe(causes);
      expect(await failures(page).getByRole('link').count()).toBe(links);
      await page.close();
    }
    await strict.close();
  });

  it.each(views)('all of it fits, and axe finds nothing wrong: %s, %s', async (scheme, device, size) => {
    const name = `axe-${scheme}-${device}`;
    const id = await plant(name, 3);
    await failBoth(name, 3);
    const page = await open(`/trees/${id}`, { size, scheme });
    await cause(page, address).waitFor();
    await items(page).getByText('No answer within 5 s').first().waitFor();
    await screenshot(page, `causes-tree-${scheme}-${device}`);
    expect([await excess(page), await violations(page)]).toEqual([0, []]);
    await items(page).scrollIntoViewIfNeeded();
    await screenshot(page, `causes-items-${scheme}-${device}`);
    await items(page).getByRole('link').first().click();
    await page.getByRole('link', { name: 'Dead letters of the same cause' }).scrollIntoViewIfNeeded();
    await screenshot(page, `causes-item-${scheme}-${device}`);
    expect([await excess(page), await violations(page)]).toEqual([0, []]);
    await page.close();
  });
});
