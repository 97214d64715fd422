/** Why something is not running, in the dashboard: the sentence, what it is about, and the button that changes it. */
import { describe, expect, it } from 'vitest';
import { useBrowser, withoutBrowser } from '../support/browser.ts';
import { useServer } from '../support/use-server.ts';

const shots = process.env.TEST_SCREENSHOTS;

describe.skipIf(withoutBrowser)('why is it not running?', () => {
  const { app, client } = useServer();
  const browser = useBrowser();

  it('a tree says so for each of its types, and a button resumes one; an item says what it waits for', async () => {
    await client.queues.pause('mail');
    const { id } = await client.createJob({
      type: 'mail',
      items: [{ serializeKey: 'ann' }, { serializeKey: 'ann' }],
    });
    const [, behind] = (await client.items(id)).nodes;
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(new URL(`dashboard/#/trees/${id}`, app.url).href);
    const reasons = page.getByRole('region', { name: 'Why is it not running?' });
    await reasons.getByText('mail is paused.').waitFor();
    await reasons.getByText('No worker of mail is connected.').waitFor();
    await reasons.getByText('Another item has the serialize key ann.').waitFor();
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 800 });
      if (shots !== undefined) await page.screenshot({ path: `${shots}/standstills-${width}.png` });
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
    }
    await reasons.getByRole('button', { name: 'Resume type' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume type' }).click();
    await reasons.getByText('mail is paused.').waitFor({ state: 'detached' });
    await reasons.getByText('No worker of mail is connected.').waitFor();
    expect((await client.queues.get('mail')).paused).toBe(false);

    await page.goto(new URL(`dashboard/#/items/${behind?.id}`, app.url).href);
    // The tree says so, too.
    await page.getByRole('heading', { level: 1, name: /^mail / }).waitFor();
    await page.getByText('Another item has the serialize key ann.').waitFor();
    await reasons.getByRole('link').click();
    await page.getByText('No worker of mail is connected.').waitFor();

    await page.goto(new URL('dashboard/#/queues', app.url).href);
    const row = page.getByRole('row').filter({ hasText: 'mail' });
    await row.getByText('No worker of mail is connected.').waitFor();
    await page.close();
  });
});
