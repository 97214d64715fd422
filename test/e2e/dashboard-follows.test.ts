/** What a screen reads follows what it is told: the items of a tree, one item, and what is known of a tree once it is complete. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createJob, data, work } from '../support/api.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { claim, failAll, openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('a screen follows what it is told', () => {
  const { app, client } = useServer();
  const browser = useBrowser();

  const open = (path: string, options = {}) => openDashboard(browser, app.url, path, options);
  const strip = (page: Page) => page.getByRole('slider', { name: 'Items in their order' });
  const items = (page: Page) => page.getByRole('table', { name: 'Items' });
  /** The statuses in the list of items. */
  const listed = (page: Page) => items(page).locator('.state').allInnerTexts();
  const legend = (page: Page, text: string) => page.locator('.legend').getByText(text).waitFor();
  /** What the page asks for over HTTP, or what it has been answered. */
  const watch = (page: Page, event: 'request' | 'requestfinished' | 'requestfailed' = 'request') => {
    const asked: string[] = [];
    page.on(event as 'request', (request) => {
      const [, name] = /query (\w+)/.exec(request.postData() ?? '') ?? [];
      if (name !== undefined) asked.push(name);
    });
    return (name?: string) => asked.filter((one) => name === undefined || one === name).length;
  };

  it('the list of items, the strip and its words follow the counts of the job, and nothing else is read', async () => {
    const id = await createJob(app.url, { type: 'bill', items: [{}, {}, {}] });
    const { page, problems } = await open(`/trees/${id}`);
    await expect.poll(() => listed(page)).toEqual(['○ Ready', '○ Ready', '○ Ready']);
    await failAll(app.url, 'bill', 'REFUSED', 'No money');
    await legend(page, 'Failed 3');
    await expect.poll(() => listed(page)).toEqual(['✕ Failed', '✕ Failed', '✕ Failed']);
    await expect.poll(() => strip(page).getAttribute('aria-valuetext')).toContain('3 failed');
    await client.addItems(id, [{}, {}], { seal: true });
    await expect.poll(async () => (await listed(page)).slice(3)).toEqual(['○ Ready', '○ Ready']);
    await page.getByText('5 of 5 items shown').waitFor();
    await client.replayDeadLetters({ jobId: id });
    await work(app.url, 'bill', 5);
    await legend(page, 'Succeeded 5');
    await expect.poll(() => listed(page)).toEqual(Array(5).fill('✓ Succeeded'));
    await expect.poll(() => strip(page).getAttribute('aria-valuetext')).toContain('5 succeeded');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('what becomes of a tree when it is complete is known at once: when it is deleted', async () => {
    const id = await createJob(app.url, {
      type: 'kept',
      sealed: true,
      items: [{}],
      retentionSeconds: 86_400,
    });
    const { page } = await open(`/trees/${id}`);
    await expect.poll(() => listed(page)).toEqual(['○ Ready']);
    expect(await page.getByText('Will be deleted').count()).toBe(0);
    await work(app.url, 'kept', 1);
    await page.getByText('Will be deleted').waitFor();
    await page.close();
  });

  it.each([
    ['complete', 1],
    ['open', 0],
  ])('a tree that somebody else deletes is gone from its screen, when it is %s', async (_, worked) => {
    const type = `gone-${worked}`;
    const id = await createJob(app.url, { type, sealed: true, items: [{}] });
    if (worked > 0) await work(app.url, type, worked);
    const { page, problems } = await open(`/trees/${id}`);
    await expect.poll(() => listed(page)).toEqual([worked ? '✓ Succeeded' : '○ Ready']);
    await client.deleteJob(id);
    await page.getByText('There is no such tree, or it was deleted.').waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('so is an item of it', async () => {
    const id = await createJob(app.url, { type: 'gone-item', items: [{ payload: 'here' }] });
    const [item] = (await client.items(id)).nodes;
    const { page } = await open(`/items/${item?.id}`);
    await page.getByText('"here"').waitFor();
    await client.deleteJob(id);
    await page.getByText('There is no such item, or its tree was deleted.').waitFor();
    expect(await page.getByText('"here"').count()).toBe(0);
    await page.close();
  });

  it('a tree that was complete is followed again after its failures are replayed', async () => {
    const id = await createJob(app.url, { type: 'again', sealed: true, items: [{}] });
    await failAll(app.url, 'again', 'REFUSED', 'No money');
    const { page } = await open(`/trees/${id}`);
    await expect.poll(() => listed(page)).toEqual(['✕ Failed']);
    await page.getByRole('button', { name: 'Replay failures', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Replay failures', exact: true }).click();
    await dialog.getByText('1 item is tried again').waitFor();
    await dialog.getByRole('button', { name: 'Close', exact: true }).click();
    await expect.poll(() => listed(page)).toEqual(['○ Ready']);
    await work(app.url, 'again', 1);
    await legend(page, 'Succeeded 1');
    await expect.poll(() => listed(page)).toEqual(['✓ Succeeded']);
    await page.close();
  });

  it('a tree that was complete is followed again when somebody else replays its failures', async () => {
    const id = await createJob(app.url, { type: 'reopened', sealed: true, items: [{}, {}] });
    await failAll(app.url, 'reopened', 'REFUSED', 'No money');
    const { page, problems } = await open(`/trees/${id}`);
    for (const round of [1, 2]) {
      await expect.poll(() => listed(page)).toEqual(['✕ Failed', '✕ Failed']);
      await client.replayDeadLetters({ jobId: id });
      await expect.poll(() => listed(page)).toEqual(['○ Ready', '○ Ready']);
      await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
      if (round === 1) await failAll(app.url, 'reopened', 'REFUSED', 'No money');
    }
    await work(app.url, 'reopened', 2);
    await legend(page, 'Succeeded 2');
    await expect.poll(() => listed(page)).toEqual(['✓ Succeeded', '✓ Succeeded']);
    await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await page.close();
  });

  it('a complete tree far down the list moves again when somebody replays its failures', async () => {
    const id = await createJob(app.url, { type: 'far-down', sealed: true, items: [{}, {}] });
    await failAll(app.url, 'far-down', 'REFUSED', 'No money');
    // Such a list is not told of anything.
    const { page, problems } = await open('/?order=OLDEST_FIRST&types=far-down');
    const row = page.locator('.row[data-index]');
    await row.getByText('2 of 2 items').waitFor();
    for (const _ of [1, 2]) {
      await client.replayDeadLetters({ jobId: id });
      await row.getByText('0 of 2 items').waitFor();
      await failAll(app.url, 'far-down', 'REFUSED', 'No money');
      await row.getByText('2 of 2 items').waitFor();
    }
    expect(problems).toEqual([]);
    await page.close();
  });

  it('nothing is read while nothing changes, nor in a pause, whose end reads everything again', async () => {
    const id = await createJob(app.url, { type: 'quiet', sealed: true, items: [{}] });
    const { page } = await open(`/trees/${id}`);
    const asked = watch(page);
    const answered = watch(page, 'requestfinished');
    /** Given up by the page. */
    const givenUp = watch(page, 'requestfailed');
    await expect.poll(() => listed(page)).toEqual(['○ Ready']);
    await page.getByRole('button', { name: 'Pause updates', exact: true }).click();
    await page.getByRole('button', { name: 'Resume updates', exact: true }).waitFor();
    await page.clock.install();
    await work(app.url, 'quiet', 1);
    const before = asked();
    await page.clock.runFor(60_000);
    expect(await listed(page)).toEqual(['○ Ready']);
    expect(asked()).toBe(before);
    await page.getByRole('button', { name: 'Resume updates', exact: true }).click();
    await expect.poll(() => listed(page)).toEqual(['✓ Succeeded']);
    await page.getByText('Why is it not running?').waitFor({ state: 'detached' });
    await expect.poll(() => strip(page).getAttribute('aria-valuetext')).toContain('1 succeeded');
    // The last reads, of what has just been told, end.
    await expect
      .poll(async () => {
        const known = asked();
        await page.clock.runFor(20_000);
        await expect.poll(() => answered() + givenUp()).toBeGreaterThanOrEqual(asked());
        return asked() - known;
      })
      .toBe(0);
    const last = asked();
    await page.clock.runFor(60_000);
    expect(await listed(page)).toEqual(['✓ Succeeded']);
    expect(asked()).toBe(last);
    await page.close();
  });

  it('of many changes the first is read at once, and the others together, two seconds later', async () => {
    const id = await createJob(app.url, { type: 'busy', sealed: true, items: Array(9).fill({}) });
    const page = await browser.newPage();
    const asked = watch(page);
    const answered = watch(page, 'requestfinished');
    const told: string[] = [];
    page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => told.push(String(payload))));
    await page.clock.install();
    await page.goto(new URL(`dashboard/#/trees/${id}`, app.url).href);
    await expect.poll(async () => (await listed(page)).length).toBe(9);
    // From here on its time stands still, but for what is said here.
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1_000);
    const poll = (look: () => unknown) =>
      expect.poll(async () => {
        await page.clock.runFor(1);
        return look();
      });
    // What nothing is told of has just been read, and then two seconds have passed.
    const before = asked('Items');
    while (asked('Items') === before) {
      await page.clock.runFor(30);
      await listed(page);
    }
    const first = asked('Items');
    // Its time goes on only when nothing is being read: what takes long is read more rarely.
    const isRead = (times: number) => expect.poll(() => answered('Items')).toBe(times);
    await isRead(first);
    await listed(page);
    await page.clock.runFor(2_500);
    const workOne = async (done: number) => {
      await work(app.url, 'busy', 1);
      await expect.poll(() => told.some((text) => text.includes(`"succeeded":${done},`))).toBe(true);
      await page.clock.runFor(20);
      await poll(() => page.locator('.legend').innerText()).toContain(`Succeeded ${done}`);
    };
    await workOne(1);
    await poll(() => asked('Items')).toBe(first + 1);
    await isRead(first + 1);
    await poll(async () => (await listed(page))[0]).toBe('✓ Succeeded');
    for (const done of [2, 3, 4, 5]) await workOne(done);
    expect((await listed(page)).slice(1)).toEqual(Array(8).fill('○ Ready'));
    expect(asked('Items')).toBe(first + 1);
    await page.clock.runFor(2_000);
    await isRead(first + 2);
    await poll(async () => (await listed(page))[4]).toBe('✓ Succeeded');
    await page.clock.runFor(5_000);
    await listed(page);
    expect(asked('Items')).toBe(first + 2);
    await page.close();
  });

  it('an item says who works on it while that is so, and afterwards who finished it', async () => {
    const id = await createJob(app.url, { type: 'single', sealed: true, items: [{}] });
    const [item] = (await client.items(id)).nodes;
    const { page } = await open(`/items/${item?.id}`);
    await page.getByText('Ready', { exact: false }).first().waitFor();
    const { claimItems } = await data(app.url, claim, { type: 'single' });
    await page.getByText('test is working on it, attempt 1.').waitFor();
    await data(
      app.url,
      `mutation ($id: ID!) { reportOutcomes(input: { reports: [{ assignmentId: $id, outcome: { success: { result: "done" } } }] }) {
        ... on ReportOutcomesPayload { entries { status } } } }`,
      { id: claimItems.assignments[0].id },
    );
    await page.getByText('"done"').waitFor();
    expect(await page.getByText('is working on it').count()).toBe(0);
    await page.getByText('test, attempt 1').waitFor();
    await page.close();
  });

  it('an item that is replayed on its own screen is followed behind the dialog, which stays until it is closed', async () => {
    const id = await createJob(app.url, { type: 'alone', sealed: true, items: [{}] });
    await failAll(app.url, 'alone', 'REFUSED', 'No money');
    const [item] = (await client.items(id)).nodes;
    const { page } = await open(`/items/${item?.id}`);
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
    await dialog.getByText('1 item is tried again').waitFor();
    await page.locator('main [data-state=READY]').waitFor();
    await dialog.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('button', { name: 'Replay', exact: true }).waitFor({ state: 'detached' });
    await page.close();
  });

  it('an item that has not finished has no time at which it did', async () => {
    const id = await createJob(app.url, {
      type: 'line',
      sealed: true,
      items: [{ serializeKey: 'acme' }, { serializeKey: 'acme' }],
    });
    const { page } = await open(`/trees/${id}`);
    await expect.poll(() => listed(page)).toEqual(['○ Ready', '⊟ Blocked']);
    expect(await items(page).locator('[data-title=Finished] time').count()).toBe(0);
    await work(app.url, 'line', 1);
    await expect.poll(() => items(page).locator('[data-title=Finished] time').count()).toBe(1);
    await page.close();
  });
});
