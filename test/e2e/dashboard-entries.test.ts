/** What somebody enters in a dialog is kept and sent, whatever becomes meanwhile of what the dialog is about. */
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createJob, data, work } from '../support/api.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { failAll, openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('what is entered in a dialog', () => {
  const { app, client } = useServer();
  const browser = useBrowser();

  const open = async (path: string) => (await openDashboard(browser, app.url, path)).page;
  const button = (place: Page | Locator, name: string) => place.getByRole('button', { name, exact: true });
  /** Opens a dialog; `change` makes its button go, or be another one. */
  const outlive = async (
    page: Page,
    name: string,
    first: [label: string, text: string],
    change: () => Promise<void>,
  ) => {
    await button(page, name).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(first[0]).fill(first[1]);
    await change();
    expect(await dialog.getByLabel(first[0]).inputValue()).toBe(first[1]);
    return { dialog, confirm: () => button(dialog, name).click() };
  };
  const gone = (page: Page, name: string) =>
    button(page.getByRole('main'), name).waitFor({ state: 'detached' });

  it('limits, when somebody else sets others', async () => {
    await client.queues.set('mail', { concurrency: 7 });
    const page = await open('/queues/mail');
    const { dialog, confirm } = await outlive(page, 'Limit', ['Items at a time', '3'], async () => {
      await client.queues.set('mail', { concurrency: 9 });
      await page.getByText('9, of which 0 are running').waitFor();
    });
    await dialog.getByLabel('Items at a time').fill('4');
    await confirm();
    await expect.poll(async () => (await client.queues.get('mail'))?.concurrency).toBe(4);
    await page.close();
  });

  it('a limit begins with what is set at that time, in the list too', async () => {
    await client.queues.set('post', { concurrency: 7 });
    const page = await open('/queues?find=post');
    await page.getByRole('cell', { name: '7 at a time' }).waitFor();
    await client.queues.set('post', { concurrency: 9 });
    await page.getByRole('cell', { name: '9 at a time' }).waitFor();
    await button(page, 'Limit').click();
    expect(await page.getByRole('dialog').getByLabel('Items at a time').inputValue()).toBe('9');
    await page.close();
  });

  it('a priority, when the item is claimed', async () => {
    const id = await createJob(app.url, { type: 'claimed', items: [{}] });
    const [item] = (await client.items(id)).nodes;
    const page = await open(`/items/${item?.id}`);
    const { dialog, confirm } = await outlive(page, 'Change', ['Priority', '3'], async () => {
      await client.claimItems('by-hand', [{ type: 'claimed', limit: 1 }]);
      await gone(page, 'Change');
    });
    await dialog.getByLabel('Priority').fill('4');
    await confirm();
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByLabel('Priority').inputValue()).toBe('4');
    await page.close();
  });

  it('a note, when the last dead letter of its group is replayed', async () => {
    await createJob(app.url, { type: 'noted', sealed: true, maxFailuresPerItem: 0, items: [{}] });
    await failAll(app.url, 'noted', 'BAD', 'It is bad');
    const [group] = await client.deadLetterGroups({ types: ['noted'] });
    const page = await open(`/dead-letters/${group?.id}`);
    const { dialog, confirm } = await outlive(page, 'Note', ['Note', 'We '], async () => {
      await client.replayDeadLetters({ groupIds: [group?.id ?? ''] });
      await gone(page, 'Note');
    });
    await dialog.getByLabel('Note').fill('We know');
    const sent = page.waitForRequest((request) => request.postData()?.includes('mutation Note') === true);
    await confirm();
    expect((await sent).postDataJSON().variables.input.note).toBe('We know');
    await page.close();
  });

  it('an item, when its job is sealed', async () => {
    const id = await createJob(app.url, { type: 'sealed' });
    const page = await open(`/trees/${id}`);
    const { dialog, confirm } = await outlive(page, 'Add item', ['Payload, as JSON', '{"to":'], async () => {
      await client.sealJob(id);
      await gone(page, 'Add item');
    });
    await dialog.getByLabel('Payload, as JSON').fill('{"to": "ada"}');
    await confirm();
    await dialog.getByRole('alert').getByText('sealed').waitFor();
    expect(await dialog.getByLabel('Payload, as JSON').inputValue()).toBe('{"to": "ada"}');
    await page.close();
  });

  it('how a file is read, when its job is sealed', async () => {
    const id = await createJob(app.url, { type: 'filed' });
    const page = await open(`/trees/${id}`);
    await button(page, 'Add file').click();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('to,name\nada,Ada\n') });
    const dialog = page.getByRole('dialog');
    await dialog.getByText('{"to":"ada","name":"Ada"}').waitFor();
    await dialog.getByLabel('The first row names the columns').setChecked(false);
    await client.sealJob(id);
    await gone(page, 'Add item');
    expect(await dialog.getByLabel('The first row names the columns').isChecked()).toBe(false);
    await button(dialog, 'Import').click();
    await dialog.getByRole('alert').getByText('sealed').waitFor();
    await page.close();
  });

  it('an endpoint, when the tree is complete', async () => {
    await data(
      app.url,
      `mutation { putCallbackEndpoint(input: { name: "shop", url: "http://127.0.0.1:9/hook" }) { __typename } }`,
    );
    const id = await createJob(app.url, { type: 'told', sealed: true, items: [{}] });
    const page = await open(`/trees/${id}`);
    const { dialog, confirm } = await outlive(page, 'Add callback', ['Endpoint', 'sh'], async () => {
      await work(app.url, 'told', 1);
      await gone(page, 'Add callback');
    });
    await dialog.getByLabel('Endpoint').fill('shop');
    const sent = page.waitForRequest(
      (request) => request.postData()?.includes('mutation AddCallbacks') === true,
    );
    await confirm();
    expect((await sent).postDataJSON().variables.input.callbacks).toEqual([{ endpoint: 'shop', on: 'TREE' }]);
    await page.close();
  });
});
