/** The screen of one item: where it comes from and what it became, what it may be changed to, and what is offered. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { createJob, data, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, failAll, openDashboard, screenshot, views } from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

describe.skipIf(withoutBrowser)('the screen of an item', () => {
  const { db, app, client } = useServer();
  const browser = useBrowser();
  const open = (path: string, options = {}) =>
    openDashboard(browser, app.url, path, {
      context: { permissions: ['clipboard-read', 'clipboard-write'] },
      ...options,
    });
  const itemOf = async (job: string) => (await client.items(job)).nodes[0]?.id ?? '';
  const register = () =>
    client.types.register({
      type: 'typed',
      version: 2,
      payload: { type: 'object', required: ['to'], properties: { to: { type: 'string' } } },
    });

  it('has the id of its trace, to be copied', async () => {
    const id = await createJob(app.url, {
      type: 'traced',
      traceContext: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
      items: [{ payload: 1 }],
    });
    const { page, problems } = await open(`/items/${await itemOf(id)}`);
    await page.getByText(traceId).waitFor();
    await page.getByRole('button', { name: 'Copy trace id' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(traceId);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('says when an item is to be due, which can be changed and changed back', async () => {
    const runAt = new Date(Date.now() + 3_600_000);
    runAt.setMilliseconds(0);
    const id = await createJob(app.url, { type: 'due', items: [{ payload: 1, runAt: runAt.toISOString() }] });
    const item = await itemOf(id);
    const { page, problems } = await open(`/items/${item}`);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Change' }).click();
    const input = dialog.getByLabel('Not before');
    const local = await input.inputValue();
    await dialog.getByRole('button', { name: 'Copy as command' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).not.toContain('--run-at');
    await input.fill(`2090-${local.slice(5)}`);
    await dialog.getByRole('button', { name: 'Copy as command' }).click();
    const [later] = /2090\S+/.exec(await page.evaluate(() => navigator.clipboard.readText())) ?? [''];
    await dialog.getByRole('button', { name: 'Change' }).click();
    const due = async () => (await client.item(item)).runAt;
    await expect.poll(due).toBe(later);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(due).toBe(runAt.toISOString());
    await page.getByRole('button', { name: 'Change' }).click();
    await expect.poll(() => input.inputValue()).toBe(local);
    await input.fill('');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await page.getByText('Ready').first().waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows the schema that a payload must match where one is written', async () => {
    await register();
    const id = await createJob(app.url, { type: 'typed', items: [{ payload: { to: 'Ada' } }] });
    const { page, problems } = await open(`/items/${await itemOf(id)}`);
    await page.getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Schema of the payload').click();
    await dialog.getByText('typed, version 2').waitFor();
    await dialog.getByText('"required"').waitFor();
    await page.keyboard.press('Escape');
    await page.goto(new URL(`dashboard/#/trees/${id}`, app.url).href);
    await page.getByRole('button', { name: 'Add item' }).click();
    await dialog.getByText('Schema of the payload').click();
    await dialog.getByText('typed, version 2').waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('keeps the schema unfolded when the payload comes after that', async () => {
    await register();
    const id = await createJob(app.url, { type: 'typed', items: [{ payload: { to: 'Ada' } }] });
    const { page, problems } = await open(`/items/${await itemOf(id)}`);
    let answer = () => {};
    const isUnfolded = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('query ItemPayload')) await isUnfolded;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Schema of the payload').click();
    expect(await dialog.getByPlaceholder('Loading…').count()).toBe(1);
    answer();
    await dialog.getByText('typed, version 2').waitFor();
    expect(await dialog.getByLabel('Payload, as JSON').inputValue()).toContain('Ada');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows no schema to whoever may not read it', async () => {
    await register();
    const id = await createJob(app.url, { type: 'typed', items: [{ payload: { to: 'Ada' } }] });
    const item = await itemOf(id);
    const { key } = await makeKey(db, ['producer'], { rootIds: [id.slice('Job:'.length)] });
    const guarded = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    onTestFinished(() => guarded.close());
    const { page } = await openDashboard(browser, guarded.url, `/items/${item}`);
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('dialog').getByLabel('Payload, as JSON').waitFor();
    await expect
      .poll(() => page.getByRole('dialog').getByLabel('Payload, as JSON').inputValue())
      .toContain('Ada');
    expect(await page.getByText('Schema of').count()).toBe(0);
    await page.close();
  });

  it('lists all that an item became', async () => {
    const id = await createJob(app.url, {
      type: 'many',
      sealed: true,
      items: [{ payload: 1 }],
      children: [{ type: 'few', feed: { forEach: 'result' } }],
    });
    await work(
      app.url,
      'many',
      1,
      Array.from({ length: 120 }, (_, n) => n),
    );
    const { page, problems } = await open(`/items/${await itemOf(id)}`);
    const rows = page.getByRole('listitem').filter({ hasText: 'few' });
    await expect.poll(() => rows.count()).toBe(50);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(100);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(120);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    // The last ones follow what becomes of them, too.
    const { claimItems } = await data(app.url, claimAll, {});
    expect(claimItems.assignments.length).toBe(120);
    await expect.poll(() => rows.last().innerText()).toContain('Running');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('offers no replay of an item that was discarded, or whose job was cancelled, and says so', async () => {
    const items: string[] = [];
    for (const type of ['discarded', 'stopped']) {
      const id = await createJob(app.url, { type, maxFailuresPerItem: 0, items: [{ payload: 1 }] });
      await failAll(app.url, type, 'BAD', 'It is bad');
      items.push(await itemOf(id));
      if (type === 'stopped') await client.cancelJob(id);
    }
    const [item = '', stopped = ''] = items;
    const { page, problems } = await open(`/items/${item}`);
    await page.getByRole('button', { name: 'Replay' }).waitFor();
    await client.discardDeadLetters({ itemIds: [item] });
    await page.getByText('It was discarded').waitFor();
    expect(await page.getByRole('button', { name: 'Replay' }).count()).toBe(0);
    await page.goto(new URL(`dashboard/#/items/${stopped}`, app.url).href);
    await page.getByText('stopped').first().waitFor();
    await page.getByText('It is bad').waitFor();
    expect(await page.getByRole('button', { name: 'Replay' }).count()).toBe(0);
    expect(problems).toEqual([]);
    await page.close();
  });

  it.each(views)('axe finds nothing wrong with what can be changed: %s, %s', async (scheme, device, size) => {
    await register();
    const id = await createJob(app.url, {
      type: 'typed',
      traceContext: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
      items: [{ payload: { to: 'Ada' } }],
    });
    const { page } = await open(`/items/${await itemOf(id)}`, { size, scheme });
    await page.getByText(traceId).waitFor();
    await screenshot(page, `item-trace-${scheme}-${device}`);
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByText('Schema of the payload').click();
    await page.getByText('typed, version 2').waitFor();
    await screenshot(page, `item-change-${scheme}-${device}`);
    expect(await violations(page)).toEqual([]);
    expect(await excess(page)).toBe(0);
    await page.close();
  });
});

const claimAll = `mutation {
  claimItems(input: { worker: "test", requests: [{ type: "few", limit: 200 }] }) {
    ... on ClaimItemsPayload { assignments { id } }
  }
}`;
