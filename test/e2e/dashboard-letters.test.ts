/** What was done with dead letters, and with much else, can be followed: what it was, how far it is, what came of it, and where one sees that. */
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { violations } from '../support/axe.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, failAll, openDashboard, screenshot, views } from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('what was done', () => {
  const { db, app, client } = useServer();
  const browser = useBrowser();

  const open = async (path: string, options = {}) =>
    (await openDashboard(browser, app.url, path, options)).page;
  /** Presses a button, and the one of the same name in its dialog. */
  const carryOut = async (page: Page, name: string, place: Page | Locator = page) => {
    await place.getByRole('button', { name, exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  };
  const bury = async (type: string, code: string, message: string, count: number) => {
    const items = Array.from({ length: count }, (_, n) => ({ payload: { invoice: n } }));
    const { id } = await client.createJob({ type, sealed: true, maxFailuresPerItem: 0, items });
    await failAll(app.url, type, code, message);
    const [group] = await client.deadLetterGroups({ types: [type] });
    return { jobId: id, groupId: group?.id ?? '' };
  };
  /** An item that has failed for good keeps its key, and another one waits behind it. */
  const block = async (type: string) => {
    const { id } = await client.createJob({
      type,
      sealed: true,
      maxFailuresPerItem: 0,
      serializeOnFailure: 'BLOCK',
      items: [
        { payload: { iban: 'old' }, serializeKey: `${type}-acme` },
        { payload: { iban: 'new' }, serializeKey: `${type}-acme` },
      ],
    });
    await failAll(app.url, type, 'BANK_REFUSED', 'The bank refused the account.');
    const [head, behind] = (await client.items(id)).nodes.map((item) => item.id);
    return { id, head: head ?? '', behind: behind ?? '' };
  };
  const numberOf = (itemId: string) => itemId.split(':').at(-1) ?? '';

  it('a group of dead letters of which nothing is left says so, behind the dialog already, and offers nothing', async () => {
    const { groupId } = await bury('invoice', 'TIMEOUT', 'No answer from the bank', 3);
    const page = await open(`/dead-letters/${groupId}`);
    await page.getByRole('heading', { name: /^Example: item \d+$/ }).waitFor();
    await carryOut(page, 'Replay all');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('3 items are tried again').waitFor();
    await page.getByText('Nothing of this group is left').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
    await dialog.getByRole('link', { name: 'Queue invoice' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1, name: 'No answer from the bank' }).waitFor();
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    await screenshot(page, 'letters-gone');
    await page.getByRole('link', { name: 'What was done, in the operations' }).click();
    const row = page.getByRole('row').filter({ hasText: '3 items are tried again' });
    for (const name of ['invoice', 'TIMEOUT', 'one cause'])
      await row.getByRole('link', { name, exact: true }).waitFor();
    await page.close();
  });

  it('a group that somebody else settles says so, too', async () => {
    const { groupId } = await bury('elsewhere', 'GONE', 'Nobody is there', 2);
    const page = await open(`/dead-letters/${groupId}`);
    await page.getByRole('button', { name: 'Discard all' }).waitFor();
    await client.discardDeadLetters({ groupIds: [groupId] });
    await page.getByText('Nothing of this group is left').waitFor();
    await page.getByRole('button', { name: 'Discard all' }).waitFor({ state: 'detached' });
    await page.close();
  });

  it('what keeps a serialize key is named with its error, and replayed with another payload; its dialog outlives the reason', async () => {
    const { id, head, behind } = await block('transfer');
    const page = await open(`/trees/${id}`);
    const reasons = page.getByRole('region', { name: 'Why is it not running?' });
    await reasons.getByText('An item failed for good and keeps the serialize key transfer-acme').waitFor();
    await reasons.getByText('BANK_REFUSED: The bank refused the account.').waitFor();
    for (const one of [head, behind])
      await reasons.getByRole('link', { name: numberOf(one), exact: true }).waitFor();
    await screenshot(page, 'letters-blocked');
    await reasons.getByRole('button', { name: 'Replay the failed item' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`Try item ${numberOf(head)} again`).waitFor();
    await dialog.getByRole('button', { name: 'Copy as command' }).waitFor();
    await dialog.getByRole('textbox').fill('{"iban": "right"}');
    await screenshot(page, 'letters-replay');
    await dialog.getByRole('button', { name: 'Replay the failed item' }).click();
    await dialog.getByText('1 item is tried again').waitFor();
    await reasons.getByText('BANK_REFUSED').waitFor({ state: 'detached' });
    await dialog.getByRole('link', { name: `item ${numberOf(head)}` }).click();
    await page.getByRole('heading', { level: 1, name: `transfer ${numberOf(head)}` }).waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect((await client.item(head)).payload).toEqual({ iban: 'right' });
    await page.close();
  });

  it('the list of keys says why the item that keeps one failed, and what follows if it is discarded; its tree then has nothing to replay', async () => {
    const { id, head } = await block('rent');
    const page = await open('/keys');
    const row = page.getByRole('row').filter({ hasText: 'rent-acme' });
    await row.getByText('BANK_REFUSED The bank refused the account.').waitFor();
    await row.getByRole('button', { name: 'Discard' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`Discard item ${numberOf(head)}? It stays failed, and no longer keeps`).waitFor();
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await dialog.getByText('1 dead letter is discarded').waitFor();
    await page.goto(new URL(`dashboard/#/trees/${id}`, app.url).href);
    await page.getByRole('button', { name: 'Replay failures' }).click();
    await page.getByRole('dialog').getByText('There is nothing to replay').waitFor();
    await page.close();
  });

  it('a dialog in which somebody writes outlives its button, and what was written is sent', async () => {
    const { id, head } = await block('salary');
    const page = await open(`/trees/${id}`);
    const reasons = page.getByRole('region', { name: 'Why is it not running?' });
    await reasons.getByRole('button', { name: 'Replay the failed item' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('{"iban":');
    await client.discardDeadLetters({ itemIds: [head] });
    await reasons.getByText('BANK_REFUSED').waitFor({ state: 'detached', timeout: 25_000 });
    await dialog.getByRole('textbox').fill('{"iban": "late"}');
    await dialog.getByRole('button', { name: 'Replay the failed item' }).click();
    await dialog.getByText('0 items are tried again').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('document.activeElement?.id')).toBe('content');
    await page.close();
  });

  it('the same for the row of a list', async () => {
    const { head } = await block('pension');
    const page = await open('/keys');
    const row = page.getByRole('row').filter({ hasText: 'pension-acme' });
    await row.getByRole('button', { name: 'Replay', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').waitFor();
    await client.discardDeadLetters({ itemIds: [head] });
    await row.getByRole('button', { name: 'Replay', exact: true }).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
    await dialog.getByText('0 items are tried again').waitFor();
    await page.close();
  });

  it('no button of its dialog moves when the payload comes', async () => {
    const { jobId } = await bury('parcel', 'LOST', 'It is lost', 1);
    const [item] = (await client.items(jobId)).nodes;
    const page = await open(`/items/${item?.id}`);
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('ItemPayload')) await held;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: 'Replay', exact: true });
    const before = await button.boundingBox();
    answer();
    await dialog.locator('textarea:enabled').waitFor();
    expect(await button.boundingBox()).toEqual(before);
    await page.close();
  });

  it('an item that is replayed is no longer shown as failed behind the dialog', async () => {
    const { jobId } = await bury('refund', 'LATE', 'It came too late', 1);
    const [item] = (await client.items(jobId)).nodes;
    const page = await open(`/items/${item?.id}`);
    await page
      .getByRole('main')
      .getByText(/^\W*Failed$/)
      .waitFor();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('{"invoice": 7}');
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
    await dialog.getByText('1 item is tried again').waitFor();
    await page
      .getByRole('main')
      .getByText(/^\W*Ready$/)
      .waitFor();
    await page.getByRole('main').getByText('"invoice": 7').waitFor();
    // The page behind is where one sees how it goes on.
    expect(await dialog.getByRole('link').count()).toBe(0);
    await page.close();
  });

  it('operations say what they were asked to do, and have no column with nothing in it', async () => {
    const { jobId } = await bury('parcel', 'ADDRESS', 'No such street', 2);
    await client.discardDeadLetters({ jobId, types: ['parcel'] });
    await client.cancelTrees({ types: ['parcel'], statuses: ['RUNNING'], hasFailures: true });
    const page = await open('/operations');
    const discard = page
      .getByRole('row')
      .filter({ hasText: '2 dead letters are discarded' })
      .filter({ hasText: 'one tree' });
    await discard.getByRole('link', { name: 'one tree' }).waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: 'Cancellation of trees: parcel, Running, and further conditions' })
      .waitFor();
    expect(await page.getByRole('columnheader', { name: 'Actions' }).count()).toBe(0);
    expect(await discard.getByText('Finished').count()).toBe(0);
    await discard.getByRole('link', { name: 'one tree' }).click();
    await page.getByRole('heading', { name: 'Tree parcel' }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Actions' }).count()).toBe(0);
    await page.close();
  });

  it('entries of the audit lead to what they are about', async () => {
    const { jobId } = await bury('ledger', 'ODD', 'It does not add up', 1);
    const [item] = (await client.items(jobId)).nodes;
    await client.replayDeadLetters({ itemIds: [item?.id ?? ''] });
    await client.queues.pause('ledger');
    await client.cancelJob(jobId);
    const page = await open('/audit');
    const row = (action: string, text: string) =>
      page.getByRole('row').filter({ hasText: action }).filter({ hasText: text });
    await row('Change the settings of a type', 'ledger').getByRole('link', { name: 'ledger' }).waitFor();
    await row('Cancel a job', jobId).getByRole('link', { name: jobId }).waitFor();
    await row('Replay dead letters', `:${numberOf(item?.id ?? '')}`)
      .getByRole('link')
      .click();
    await page.getByRole('heading', { level: 1, name: /^ledger / }).waitFor();
    await page.close();
  });

  it('whoever may not settle dead letters is told what keeps the key, without a button', async () => {
    const { id } = await block('bonus');
    const strict = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    for (const [role, count] of [
      ['watcher', 0],
      ['operator', 2],
    ] as const) {
      const { key } = await makeKey(db, [role]);
      const { page } = await openDashboard(browser, strict.url, `/trees/${id}`);
      await page.getByLabel('Key or token').fill(key);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByText('BANK_REFUSED: The bank refused the account.').waitFor();
      const buttons = page.getByRole('button', { name: /the failed item/ });
      await expect.poll(() => buttons.count()).toBe(count);
      await page.close();
    }
    await strict.close();
  });

  it.each(views)('all of it fits, and axe finds nothing wrong: %s, %s', async (scheme, device, size) => {
    const { id } = await block(`axe-${scheme}-${device}`);
    const page = await open('/operations', { size, scheme });
    await page.getByText('one cause').first().waitFor();
    await screenshot(page, `letters-operations-${scheme}-${device}`);
    expect([await excess(page), await violations(page)]).toEqual([0, []]);
    await page.goto(new URL('dashboard/#/audit', app.url).href);
    await page
      .getByRole('link', { name: /^JobItem/ })
      .first()
      .waitFor();
    await screenshot(page, `letters-audit-${scheme}-${device}`);
    expect([await excess(page), await violations(page)]).toEqual([0, []]);
    await page.goto(new URL(`dashboard/#/trees/${id}`, app.url).href);
    await carryOut(page, 'Replay the failed item');
    await page.getByRole('dialog').getByText('1 item is tried again').waitFor();
    await screenshot(page, `letters-dialog-${scheme}-${device}`);
    expect([await excess(page), await violations(page)]).toEqual([0, []]);
    await page.close();
  });
});
