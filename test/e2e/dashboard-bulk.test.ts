/** All trees that match the filters are cancelled or deleted on the dashboard; and what can be undone exactly is. */
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { violations } from '../support/axe.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, failAll, openDashboard, screenshot, views } from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('all that match', () => {
  const { db, app, client } = useServer();
  const browser = useBrowser();
  const open = async (path: string, options = {}) =>
    (await openDashboard(browser, app.url, path, options)).page;
  const createMany = async (type: string, count: number) => {
    for (let n = 0; n < count; n++) await client.createJob({ type, sealed: true, items: [{}] });
  };
  const countOf = async (type: string) => (await client.jobCount({ filter: { types: [type] } })).count;
  /** Presses a button, enters what its dialog asks for, and confirms. */
  const carryOut = async (
    page: Page,
    name: string,
    enter: (dialog: Locator) => Promise<void> = async () => {},
    place: Page | Locator = page,
  ) => {
    await place.getByRole('button', { name, exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    await enter(dialog);
    await dialog.getByRole('button', { name, exact: true }).click();
  };
  const done = (page: Page, action: string) => page.getByText(`Done: ${action}`, { exact: true }).waitFor();
  const pause = async (page: Page, row: RegExp) => {
    await carryOut(page, 'Pause', undefined, page.getByRole('row', { name: row }));
    await done(page, 'Pause');
  };
  const undo = async (page: Page, action: string) => {
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByText(`Undone: ${action}`, { exact: true }).waitFor();
  };

  it('trees that match are counted, cancelled with live progress, and deleted', async () => {
    await createMany('order', 12);
    await createMany('other', 1);
    const page = await open('/');
    await page.getByText('13 trees match').waitFor();
    expect(await page.getByRole('button', { name: 'Delete all' }).count()).toBe(0);
    await page.goto(new URL('dashboard/#/?types=order', app.url).href);
    await page.getByText('12 trees match').waitFor();
    await page.getByRole('button', { name: 'Cancel all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Cancel 12 trees, with everything that is pending').waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, 'bulk-cancel');
    await dialog.getByRole('button', { name: 'Cancel all' }).click();
    await dialog.getByText('12 trees are cancelled').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect
      .poll(() => client.jobCount({ filter: { types: ['order'], outcomes: ['CANCELLED'] } }))
      .toMatchObject({ count: 12 });
    await carryOut(page, 'Delete all');
    await dialog.getByText('12 trees are deleted').waitFor();
    expect([await countOf('order'), await countOf('other')]).toEqual([0, 1]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('link', { name: 'Operations' }).click();
    await page.getByText('12 trees are deleted').waitFor();
    await page.close();
  });

  it('pending items of a job that match what its list shows are counted, cancelled or ready at once, with live progress', async () => {
    const runAt = '2090-01-01T00:00:00Z';
    const { id } = await client.createJob({
      type: 'batch',
      items: [
        ...Array.from({ length: 5 }, (_, n) => ({ payload: { n }, dedupeKey: `now-${n}` })),
        ...Array.from({ length: 4 }, (_, n) => ({ payload: { n }, dedupeKey: `later-${n}`, runAt })),
      ],
      children: [{ type: 'below', items: [{}] }],
    });
    const statuses = async () => {
      const found = (await client.items(id)).nodes.map(({ status }) => status);
      return ['READY', 'SCHEDULED', 'CANCELLED'].map((one) => found.filter((s) => s === one).length);
    };
    const page = await open(`/trees/${id}`, {
      context: { permissions: ['clipboard-read', 'clipboard-write'] },
    });
    const dialog = page.getByRole('dialog');
    const close = async () => {
      await dialog.getByRole('button', { name: 'Close' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await page.getByLabel('Dedupe key').fill('later-3');
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByText('Looked at 1 of 1: 1 found').waitFor();
    await carryOut(page, 'Run all that match now', async (asking) => {
      await asking.getByText('Make 1 item of batch ready now?').waitFor();
    });
    await dialog.getByText('1 item is ready now').waitFor();
    await close();
    expect(await statuses()).toEqual([6, 3, 0]);
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByLabel('Status').selectOption('SCHEDULED');
    await carryOut(page, 'Cancel all that match', async (asking) => {
      await asking.getByText('Cancel 3 pending items of batch?').waitFor();
      await asking.getByRole('button', { name: 'Copy as command' }).click();
    });
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      `jobtree cancel-items --job ${id} --type batch --status scheduled`,
    );
    await dialog.getByText('3 items are cancelled').waitFor();
    await close();
    expect(await statuses()).toEqual([6, 0, 3]);
    // Of what has ended, and of what is found in payloads, there is nothing to cancel at once.
    await page.getByLabel('Status').selectOption('CANCELLED');
    await expect.poll(() => page.getByRole('button', { name: 'Cancel all that match' }).count()).toBe(0);
    await page.getByLabel('Status').selectOption('');
    await page.getByRole('button', { name: 'Cancel all that match' }).waitFor();
    await page.getByLabel('Find in payloads').fill('1');
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByText('Looked at 9 of 9').waitFor();
    expect(await page.getByRole('button', { name: 'Cancel all that match' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show all' }).click();
    await carryOut(page, 'Cancel all that match');
    await dialog.getByText('6 items are cancelled').waitFor();
    expect(await statuses()).toEqual([0, 0, 9]);
    const [below] = await db.query<{ id: string }>("select id from jobtree.job where type = 'below'");
    const { nodes } = await client.items(`Job:${below?.id}`);
    expect(nodes.map(({ status }) => status)).toEqual(['READY']);
    await page.close();
  });

  it('both are copied as GraphQL and as a command that does the same', async () => {
    await createMany('copied', 2);
    const page = await open('/?types=copied&statuses=WAITING&failures=false');
    const texts: string[] = [];
    await page.exposeFunction('noteCopy', (text: string) => texts.push(text));
    await page.evaluate('navigator.clipboard.writeText = (text) => window.noteCopy(text)');
    const copied = async (name: string) => {
      await page.getByRole('dialog').getByRole('button', { name }).click();
      await expect.poll(() => texts.length).toBe(1);
      return texts.pop();
    };
    await page.getByRole('button', { name: 'Cancel all' }).click();
    expect(await copied('Copy as command')).toBe(
      'jobtree cancel --type copied --status waiting --no-failures',
    );
    await page.getByRole('dialog').getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Cancel all' }).click();
    expect(await copied('Copy as GraphQL')).toContain('mutation CancelTrees');
    await page.getByRole('dialog').getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Delete all' }).click();
    expect(await copied('Copy as command')).toBe(
      'jobtree delete --type copied --status waiting --no-failures',
    );
    await page.close();
  });

  it('a running operation is stopped in its dialog, and what it has done remains', async () => {
    await createMany('stopped', 3);
    const ids = (await client.jobs({ filter: { types: ['stopped'] } })).nodes.map(({ id }) => id.slice(4));
    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.job where id = $1 for update', [ids[0]]);
    const page = await open('/?types=stopped');
    await carryOut(page, 'Delete all');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Deletion of trees: 2 of 3').waitFor();
    await dialog.getByText('What it has done remains.').waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await dialog
      .getByText('2 trees are deleted or being deleted; it was stopped before the other 1')
      .waitFor();
    await holder.query('rollback');
    await holder.end();
    expect(await countOf('stopped')).toBe(1);
    await page.close();
  });

  it('a refusal is said in the dialog', async () => {
    const page = await open('/?types=refused');
    await page.getByRole('button', { name: 'Delete all' }).click();
    await page.route('**/graphql', (route) =>
      route.fulfill({
        json: { data: { deleteTrees: { code: 'INVALID_INPUT', message: 'No.', field: 'filter' } } },
      }),
    );
    await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click();
    await page.getByRole('alert').getByText('No.').waitFor();
    await page.close();
  });

  it('whoever may not, does not see it; a producer with a scope does', async () => {
    const strict = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    await createMany('scoped', 2);
    for (const [role, isShown] of [
      ['operator', false],
      ['producer', true],
    ] as const) {
      const { key } = await makeKey(db, [role], { types: ['scoped'] });
      const { page } = await openDashboard(browser, strict.url, '/?types=scoped');
      await page.getByLabel('Key or token').fill(key);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByText('2 trees match').waitFor();
      expect(await page.getByRole('button', { name: 'Delete all' }).count()).toBe(isShown ? 1 : 0);
      await page.close();
    }
    await strict.close();
  });

  it('a pause, limits, a note, a retention, a change of an item and a pause of a schedule are undone', async () => {
    const { id } = await client.createJob({
      type: 'mail',
      retentionSeconds: 86_400,
      priority: 3,
      items: [{ payload: { to: 'ada' }, runAt: new Date(Date.now() + 3_600_000) }],
    });
    await client.queues.set('mail', { concurrency: 7, rate: { limit: 5, intervalMs: 2_000 } });
    await client.createJob({ type: 'dead', sealed: true, maxFailuresPerItem: 0, items: [{}] });
    await failAll(app.url, 'dead', 'BAD', 'It is bad');
    const [group] = await client.deadLetterGroups({ types: ['dead'] });
    await client.noteDeadLetters(group?.id ?? '', 'before');
    await client.schedules.put({ name: 'daily', cron: '@daily', template: { type: 'daily' } });

    const page = await open('/queues');
    const row = page.getByRole('row', { name: /^mail/ });
    const queue = () => client.queues.get('mail');
    await pause(page, /^mail/);
    await screenshot(page, 'bulk-undo');
    expect([await violations(page), (await queue())?.paused]).toEqual([[], true]);
    await undo(page, 'Pause');
    expect((await queue())?.paused).toBe(false);
    await carryOut(page, 'Limit', (dialog) => dialog.getByLabel('Items at a time').fill(''), row);
    await done(page, 'Limit');
    expect((await queue())?.concurrency).toBeNull();
    await undo(page, 'Limit');
    expect(await queue()).toMatchObject({ concurrency: 7, rate: { limit: 5, intervalMs: 2_000 } });

    const go = (path: string) => page.goto(new URL(`dashboard/#${path}`, app.url).href);
    await go(`/dead-letters/${group?.id}`);
    await carryOut(page, 'Note', (dialog) => dialog.getByLabel('Note').fill('after'));
    await done(page, 'Note');
    await undo(page, 'Note');
    expect((await client.deadLetterGroup(group?.id ?? '')).note).toBe('before');

    await go(`/trees/${id}`);
    await carryOut(page, 'Change retention', (dialog) => dialog.getByRole('spinbutton').fill(''));
    await done(page, 'Change retention');
    expect((await client.job(id)).retentionSeconds).toBeNull();
    await undo(page, 'Change retention');
    expect((await client.job(id)).retentionSeconds).toBe(86_400);

    const [item] = (await client.items(id)).nodes;
    await go(`/items/${item?.id}`);
    await carryOut(page, 'Change', async (dialog) => {
      await dialog.getByLabel('Payload, as JSON').fill('{"to": "grace"}');
      await dialog.getByRole('spinbutton').fill('9');
    });
    await done(page, 'Change');
    expect(await client.item(item?.id ?? '')).toMatchObject({ payload: { to: 'grace' }, priority: 9 });
    await undo(page, 'Change');
    expect(await client.item(item?.id ?? '')).toMatchObject({ payload: { to: 'ada' }, priority: 3 });

    await go('/schedules');
    await pause(page, /daily/);
    await undo(page, 'Pause');
    expect((await client.schedules.get('daily'))?.pausedAt).toBeNull();
    await page.close();
  });

  it('an undo that the server refuses says why', async () => {
    const { id } = await client.createJob({ type: 'gone', items: [{}] });
    const page = await open(`/trees/${id}`);
    await carryOut(page, 'Change retention', (dialog) => dialog.getByRole('spinbutton').fill('3'));
    await done(page, 'Change retention');
    await client.deleteJob(id);
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByRole('alert').getByText('There is no job').first().waitFor();
    await page.close();
  });

  it.each(views)(
    'the notice and the buttons fit, and axe finds nothing wrong: %s, %s',
    async (scheme, device, size) => {
      const page = await open('/?types=other', { size, scheme });
      await page.getByText('1 tree matches').waitFor();
      await screenshot(page, `bulk-trees-${scheme}-${device}`);
      expect([await excess(page), await violations(page)]).toEqual([0, []]);
      await page.goto(new URL('dashboard/#/schedules', app.url).href);
      await pause(page, /daily/);
      await screenshot(page, `bulk-notice-${scheme}-${device}`);
      expect([await excess(page), await violations(page)]).toEqual([0, []]);
      await undo(page, 'Pause');
      await page.close();
    },
  );
});
