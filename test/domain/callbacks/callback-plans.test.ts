/** What every server asks for all the time about callbacks and alerts reads by its indexes, and little, however much there is. */
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { listDeliveries } from '../../../src/domain/callbacks/deliveries.ts';
import { createDatabase } from '../../support/database.ts';
import { plansOf, readsOf, withoutBitmaps } from '../../support/plans.ts';
import { useDatabase } from '../../support/use-server.ts';

const last = 'ffffffff-ffff-7fff-8fff-ffffffffffff';

const db = useDatabase();
beforeAll(async () => {
  await db.query(`insert into jobtree.callback_endpoint (name, url, secret, created_at)
    select 'endpoint ' || n, 'https://host-' || n || '.example.com/', 'whsec_', now() from generate_series(1, 20) n`);
  // A third is delivered, a third waits, and of a third, mostly of one endpoint, the time has come.
  await db.query(`insert into jobtree.callback_delivery (id, message_id, endpoint, event, body, created_at, due_at, delivered_at)
    select jobtree.new_id(), 'm' || n, 'endpoint ' || case when n % 3 = 2 and n < 19000 then 1 else n % 20 + 1 end, 'TREE', '{}', now(),
      case when n % 3 = 1 then now() + interval '1 hour' when n % 3 = 2 then now() end, case when n % 3 = 0 then now() end
    from generate_series(1, 20000) n`);
  await db.query(`insert into jobtree.dead_letter
    select jobtree.new_id(), n, 'type ' || n % 20, now() - n * interval '1 second', 'E', 'no', jobtree.new_id() from generate_series(1, 20000) n`);
  await db.query(
    `insert into jobtree.queue (type, alert_endpoint, alert_count, alert_interval_ms) values ('type 1', 'endpoint 1', 100, 86400000)`,
  );
  await db.query('analyze');
});

async function reads(
  act: (database: Database) => Promise<unknown>,
): Promise<{ reads: string[]; most: number }> {
  const plans = withoutBitmaps(
    await plansOf(db, (client) =>
      act({ pool: client, call: client.query.bind(client) } as unknown as Database),
    ),
  );
  const rows = plans.flatMap(({ nodes }) => nodes.map((node) => node['Actual Rows'] ?? 0));
  return { reads: readsOf(plans), most: Math.max(...rows) };
}

it('leasing deliveries uses indexes', async () => {
  const { reads: found, most } = await reads(({ pool }) =>
    pool.query({ text: `select * from jobtree.lease_deliveries(1000, 64, 4, '{}')` }),
  );
  expect(found.filter((read) => read.includes('Seq Scan'))).toEqual([]);
  expect(found).toContain('callback_delivery by callback_delivery_due');
  expect(most).toBeLessThan(20 * 64 + 1);
});

it('leasing the few deliveries that are due reads none of the endpoints whose deliveries are due later', async () => {
  const other = await createDatabase();
  onTestFinished(() => other.drop());
  await other.query(`insert into jobtree.callback_endpoint (name, url, secret, created_at)
    select 'endpoint ' || n, 'https://host-' || n || '.example.com/', 'whsec_', now() from generate_series(1, 5000) n`);
  await other.query(`insert into jobtree.callback_delivery (id, message_id, endpoint, event, body, created_at, due_at)
    select jobtree.new_id(), 'm' || n, 'endpoint ' || n, 'TREE', '{}', now(), now() + case when n % 1000 > 0 then interval '1 hour' else '0' end
    from generate_series(1, 5000) n`);
  const plans = await plansOf(other, (client) =>
    client.query(`select * from jobtree.lease_deliveries(1000, 64, 4, '{}')`),
  );
  const scans = plans.flatMap(({ nodes }) => nodes.map((node) => node['Actual Loops'] ?? 1));
  expect(Math.max(...scans)).toBeLessThan(10);
  const [leased] = await other.query(
    'select count(*)::int from jobtree.callback_delivery where attempts = 1',
  );
  expect(leased).toEqual({ count: 5 });
});

it('looking for alerts uses indexes', async () => {
  const { reads: found, most } = await reads(({ pool }) =>
    pool.query({
      text: `update jobtree.queue set alert_spell_at = now(), alert_seen_at = now(); select jobtree.raise_alerts()`,
    }),
  );
  expect(found).toContain('dead_letter by dead_letter_type');
  expect(found.filter((read) => read.startsWith('dead_letter '))).toHaveLength(1);
  expect(most).toBeLessThan(101);
});

it.each([
  [{}, 'callback_delivery_pkey'],
  [{ endpoint: 'endpoint 3' }, 'callback_delivery_endpoint_id_idx'],
  [{ rootId: last }, 'callback_delivery_root_id_id_idx'],
  [{ status: 'FAILED' }, 'callback_delivery_failed'],
] as const)('a page of deliveries with %j uses an index', async (filter, index) => {
  const { reads: found, most } = await reads((database) =>
    listDeliveries(database, filter, { after: last, take: 51, backwards: false }),
  );
  expect(found).toEqual([`callback_delivery by ${index}`]);
  expect(most).toBeLessThan(100);
});
