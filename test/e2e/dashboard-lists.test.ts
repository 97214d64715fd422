/** Lists that go on and on: what is read after the live page follows it, and what is shown stays when something can't be read again. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { data } from '../support/api.ts';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { claim, failAll, openDashboard } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

/** A word for each number: patterns have no digits. */
const word = (n: number) => String(n).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)] as string);

describe.skipIf(withoutBrowser)('lists of the dashboard', () => {
  const { db, app, client } = useServer();
  const browser = useBrowser();

  const open = async (path: string) => (await openDashboard(browser, app.url, path)).page;
  const go = (page: Page, path: string) => page.goto(new URL(`dashboard/#${path}`, app.url).href);
  const more = (page: Page) => page.getByRole('button', { name: 'Show more' });
  const countOf = async (page: Page, name: string) =>
    Number(await page.getByRole('table', { name }).getAttribute('aria-rowcount')) - 1;

  describe('groups of dead letters', () => {
    /** So many groups, of which the first has the most items. */
    const bury = (type: string, numbers: readonly number[]) =>
      db.query(
        `insert into jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
         select gen_random_uuid(), n, $1, now(), 'C', p, jobtree.fingerprint($1, 'C', p)
         from unnest($2::text[], $3::int[]) as w(p, size), generate_series(1, size) n`,
        [type, numbers.map((n) => `cause ${word(n)}`), numbers.map((n) => Math.ceil((1_000 - n) / 100))],
      );
    const settle = (type: string, numbers: readonly number[]) =>
      db.query(`delete from jobtree.dead_letter where type = $1 and pattern = any ($2)`, [
        type,
        numbers.map((n) => `cause ${word(n)}`),
      ]);
    const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
    const groups = (page: Page) => countOf(page, 'Dead letters');

    it('those that are settled leave the list, on further pages, too', async () => {
      await bury('leaving', numbers(0, 150));
      const page = await open('/dead-letters?type=leaving');
      await more(page).click();
      await expect.poll(() => groups(page)).toBe(150);
      await settle('leaving', numbers(50, 140));
      await expect.poll(() => groups(page)).toBe(60);
      await page.close();
    });

    it('the list goes on when the last group that was shown is settled', async () => {
      await bury('ending', numbers(0, 250));
      const page = await open('/dead-letters?type=ending');
      await more(page).click();
      await expect.poll(() => groups(page)).toBe(200);
      await settle('ending', numbers(100, 200));
      await more(page).click();
      await expect.poll(() => groups(page)).toBe(150);
      expect(await page.getByRole('alert').count()).toBe(0);
      await page.close();
    });

    it('one that moves between two pages stands there once', async () => {
      await bury('moving', numbers(0, 250));
      const page = await open('/dead-letters?type=moving');
      await more(page).click();
      await expect.poll(() => groups(page)).toBe(200);
      // Those of the second page have fewer items than those of the third by now.
      await db.query(
        `delete from jobtree.dead_letter where type = 'moving' and position > 1 and pattern = any ($1)`,
        [numbers(100, 190).map((n) => `cause ${word(n)}`)],
      );
      await more(page).click();
      await expect.poll(() => groups(page)).toBe(250);
      await page.close();
    });

    it('the list has further pages again when it grows again', async () => {
      await bury('growing', numbers(0, 150));
      const page = await open('/dead-letters?type=growing');
      await more(page).click();
      await expect.poll(() => groups(page)).toBe(150);
      await bury('growing', numbers(200, 350));
      await more(page).click();
      await expect.poll(() => groups(page)).toBe(300);
      await page.close();
    });
  });

  it('a group that was settled is shown again when its items fail again', async () => {
    const bury = async (count: number) => {
      const items = Array.from({ length: count }, () => ({}));
      await client.createJob({ type: 'again', sealed: true, maxFailuresPerItem: 0, items });
      await failAll(app.url, 'again', 'AGAIN', 'It failed again');
    };
    await bury(2);
    const [group] = await client.deadLetterGroups({ types: ['again'] });
    const page = await open(`/dead-letters/${group?.id}`);
    await page.getByRole('button', { name: 'Discard all' }).waitFor();
    await client.discardDeadLetters({ groupIds: [group?.id ?? ''] });
    await page.getByText('Nothing of this group is left').waitFor();
    await bury(3);
    await page.getByRole('button', { name: 'Discard all' }).waitFor();
    await expect.poll(() => countOf(page, 'Items')).toBe(3);
    await page.getByRole('button', { name: 'Replay all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Replay all' }).click();
    await dialog.getByText('3 items are tried again').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Nothing of this group is left').waitFor();
    await failAll(app.url, 'again', 'AGAIN', 'It failed again');
    await expect.poll(() => countOf(page, 'Items')).toBe(3);
    await page.close();
  });

  describe('nothing ends without a way to the rest', () => {
    const items = (count: number, more: (n: number) => object = () => ({})) =>
      Array.from({ length: count }, (_, n) => ({ payload: { n }, ...more(n) }));

    it('items of a group of dead letters', async () => {
      for (const count of [100, 100, 50])
        await client.createJob({
          type: 'many-dead',
          sealed: true,
          maxFailuresPerItem: 0,
          items: items(count),
        });
      for (let batch = 0; batch < 3; batch++) await failAll(app.url, 'many-dead', 'BAD', 'It is bad');
      const [group] = await client.deadLetterGroups({ types: ['many-dead'] });
      const page = await open(`/dead-letters/${group?.id}`);
      for (const count of [200, 250]) {
        await more(page).click();
        await expect.poll(() => countOf(page, 'Items')).toBe(count);
      }
      expect(await more(page).count()).toBe(0);
      // What tells them apart.
      await page.getByRole('row').filter({ hasText: '{"n":' }).first().waitFor();
      await page.close();
    });

    it('serialize keys', async () => {
      const keyed = items(500, (n) => ({ serializeKey: `key-${n % 250}` }));
      await client.createJob({ type: 'many-keys', items: keyed });
      const page = await open('/keys');
      await more(page).click();
      await expect.poll(() => countOf(page, 'Serialize keys')).toBe(250);
      expect(await more(page).count()).toBe(0);
      await page.close();
    });

    it('held items', async () => {
      await client.createJob({ type: 'many-held', items: items(250) });
      for (let batch = 0; batch < 3; batch++) await data(app.url, claim, { type: 'many-held' });
      const page = await open('/workers?type=many-held');
      await more(page).click();
      await expect.poll(() => countOf(page, 'Held items')).toBe(250);
      expect(await more(page).count()).toBe(0);
      await page.close();
    });
  });

  describe('what is shown stays when it can not be read', () => {
    /** Until the returned function is called, this query is refused. */
    const refuse = async (page: Page, query: string) => {
      const errors = [{ message: 'It is closed.', extensions: { code: 'INTERNAL' } }];
      await page.route('**/graphql', (route) =>
        route.request().postData()?.includes(`query ${query}`)
          ? route.fulfill({ json: { data: null, errors } })
          : route.continue(),
      );
      return () => page.unroute('**/graphql');
    };
    const closed = (page: Page) => page.getByRole('alert').filter({ hasText: 'It is closed.' });
    /** Whoever comes back to the page has it read again, unless that was a moment ago. */
    const comeBack = (page: Page) =>
      expect
        .poll(async () => {
          await page.evaluate('dispatchEvent(new Event("visibilitychange"))');
          return closed(page).count();
        })
        .toBe(1);
    const again = (page: Page) => closed(page).getByRole('button', { name: 'Try again' });

    it('a list of which a further page is refused', async () => {
      const items = Array.from({ length: 150 }, () => ({}));
      const { id } = await client.createJob({ type: 'paged', sealed: true, items });
      const page = await open(`/trees/${id}`);
      await more(page).waitFor();
      const allow = await refuse(page, 'Items');
      await more(page).click();
      await closed(page).waitFor();
      expect(await countOf(page, 'Items')).toBe(100);
      await allow();
      await again(page).click();
      await expect.poll(() => countOf(page, 'Items')).toBe(150);
      await closed(page).waitFor({ state: 'detached' });
      await page.close();
    });

    it('the list of trees, when it is read again', async () => {
      await client.createJob({ type: 'shown', sealed: true, items: [{}] });
      const page = await open('/');
      await expect.poll(() => countOf(page, 'Trees')).toBeGreaterThan(0);
      const allow = await refuse(page, 'Trees');
      await comeBack(page);
      expect(await countOf(page, 'Trees')).toBeGreaterThan(0);
      await allow();
      await again(page).click();
      await closed(page).waitFor({ state: 'detached' });
      await page.close();
    });

    it.each(['TreeStandstills', 'PendingCounts', 'TreeDeadLetters', 'ItemRanges'])(
      'a tree, when %s is refused',
      async (query) => {
        const type = `refused-${query}`;
        const { id } = await client.createJob({
          type,
          sealed: true,
          maxFailuresPerItem: 0,
          items: [{}, { runAt: new Date(Date.now() + 86_400_000) }],
        });
        await failAll(app.url, type, 'BAD', 'It is bad');
        const page = await open(`/trees/${id}`);
        await expect.poll(() => countOf(page, 'Items')).toBe(2);
        const allow = await refuse(page, query);
        await comeBack(page);
        await allow();
        await again(page).click();
        await closed(page).waitFor({ state: 'detached' });
        await page.close();
      },
    );

    it.each([
      ['LiveQueueNames', 'FORBIDDEN', '/queues', 'Queues'],
      ['NewestTrees', 'FORBIDDEN', '/', 'Trees'],
      ['LiveAuditEntries', 'FORBIDDEN', '/audit', 'Audit'],
      ['LiveDeadLetterGroup', 'NOT_FOUND', '/dead-letters/', 'Items'],
    ])('what is told by %s, when that is refused: %s', async (subscription, code, path, table) => {
      await client.createJob({ type: subscription, sealed: true, maxFailuresPerItem: 0, items: [{}] });
      await failAll(app.url, subscription, 'BAD', 'It is bad');
      const [group] = await client.deadLetterGroups({ types: [subscription] });
      await client.noteDeadLetters(group?.id ?? '', 'Seen');
      const page = await browser.newPage();
      let refuseIt: (() => void) | undefined;
      await page.routeWebSocket(/graphql/, (socket) => {
        const server = socket.connectToServer();
        socket.onMessage((message) => {
          const { id, type, payload } = JSON.parse(String(message));
          if (type === 'subscribe' && payload.query.includes(`subscription ${subscription}(`))
            refuseIt = () => {
              const errors = [{ message: 'It is closed.', extensions: { code } }];
              socket.send(JSON.stringify({ id, type: 'next', payload: { data: null, errors } }));
            };
          server.send(message);
        });
      });
      await go(page, path.endsWith('s/') ? path + group?.id : path);
      await expect.poll(() => countOf(page, table)).toBeGreaterThan(0);
      // The rows may come over HTTP before it is subscribed to.
      await expect.poll(() => refuseIt).toBeDefined();
      refuseIt?.();
      await closed(page).waitFor();
      expect(await countOf(page, table)).toBeGreaterThan(0);
      await again(page).click();
      await closed(page).waitFor({ state: 'detached' });
      await page.close();
    });
  });
});
