/** Screens on which there is something only while somebody works, or has set something up: `dashboard.test.ts` has the others. */
import { once } from 'node:events';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Worker } from '../../src/client/index.ts';
import { signal } from '../client/signals.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { allViews, excess, openDashboard, screenshot } from '../support/dashboard.ts';
import { calledBack, receiveCallbacks } from '../support/dashboard-actions.ts';
import { makeKey } from '../support/keys.ts';
import type { Receiver } from '../support/receiver.ts';
import { useServer } from '../support/use-server.ts';

/** Each with what is to be seen on it. */
const screens = [
  ['workers', ['scanner', 'scan']],
  ['operations', ['Promotion']],
  ['callbacks', ['shop', 'status 503']],
  ['imports', ['orders.csv', 'order']],
  ['api-keys', ['shop']],
] as const;

describe.skipIf(withoutBrowser)('the dashboard of a server at work', () => {
  const { app, db, client } = useServer(calledBack);
  const over = signal();
  let browser: Browser;
  let receiver: Receiver;
  let worker: Worker;
  beforeAll(async () => {
    browser = await launchBrowser();
    receiver = await receiveCallbacks();
    worker = new Worker({
      url: app.url,
      name: 'scanner',
      types: { scan: { concurrency: 1, handler: () => over.promise.then(() => null) } },
    });
    const claimed = once(worker, 'claimed');
    void worker.start();
    await client.createJob({ type: 'scan', items: [{}] });
    await claimed;
    await client.createJob({ type: 'later', items: [{ runAt: new Date('2090-01-01') }] });
    await client.promoteItems({ types: ['later'] });
    await client.callbacks.putEndpoint({ name: 'shop', url: `http://127.0.0.1:${receiver.port}/again` });
    await client.createJob({ type: 'sold', sealed: true, callbacks: [{ endpoint: 'shop' }] });
    await makeKey(db, ['producer'], { name: 'shop' });
    const { id } = await client.upload(new File(['id;customer\n1;Ada\n'], 'orders.csv'));
    await client.createJob({ type: 'order', file: { uploadId: id, format: 'CSV' } });
  });
  afterAll(async () => {
    over.fire();
    await worker.stop();
    await browser.close();
    await receiver.close();
  });

  it.each(allViews)('shows it, and axe finds nothing wrong: %s, %s', async (scheme, device, size) => {
    for (const [name, words] of screens) {
      const { page, problems } = await openDashboard(browser, app.url, `/${name}`, { size, scheme });
      for (const word of words) await page.getByRole('main').getByText(word).first().waitFor();
      await page.waitForLoadState('networkidle');
      await screenshot(page, `at-work-${name}-${scheme}-${device}`);
      expect(problems, name).toEqual([]);
      expect(await excess(page), name).toBe(0);
      expect(await violations(page), name).toEqual([]);
      await page.close();
    }
  });
});
