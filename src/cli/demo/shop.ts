/** The third part of the demonstration: what a shop has at any time, for those who look at it in the dashboard. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, defineType, PermanentError } from '../../client/index.ts';

interface Order {
  readonly order: number;
  readonly customer: string;
}

export const chargeOrder = defineType<Order, Order>('chargeOrder');
export const shipOrder = defineType<Order, string>('shipOrder', { serializeOnFailure: 'BLOCK' });
const newsletter = 'sendNewsletter';
const schedule = 'nightly-report';

/** As many as move the bars for some minutes. */
const orderCount = 1_500;
const customers = ['acme', 'globex', 'initech', 'umbrella'];
const withoutAddress = 'acme';

export const handleChargeOrder = chargeOrder.handler(async (order) => {
  await pause(600);
  if (order.order % 25 === 0)
    throw new PermanentError(`The bank declined the card of order ${order.order}.`, {
      code: 'CARD_DECLINED',
    });
  if (order.order % 40 === 0)
    throw new PermanentError(`No answer about order ${order.order} within 5 s.`, { code: 'TIMEOUT' });
  return order;
});

export const handleShipOrder = shipOrder.handler(async ({ order, customer }) => {
  await pause(200);
  if (customer === withoutAddress)
    throw new PermanentError(`${customer} has no address.`, { code: 'NO_ADDRESS' });
  return `Order ${order} is on its way to ${customer}.`;
});

/** Returns a function that takes back what would stay: the schedule and the pause. */
export async function openShop(client: Client): Promise<() => Promise<void>> {
  const items = Array.from({ length: orderCount }, (_, i) => ({
    order: i + 1,
    customer: customers[i % customers.length] as string,
  }));
  const shipping = shipOrder.job({ feed: { serializeKey: 'result.customer' } });
  await client.createJob(chargeOrder.job({ items, sealed: true, children: [shipping] }));
  await client.queues.pause(newsletter);
  await client.createJob({
    type: newsletter,
    items: customers.map((customer) => ({ payload: { customer } })),
    sealed: true,
  });
  await client.schedules.put({ name: schedule, cron: '0 3 * * *', template: { type: 'report' } });
  return async () => {
    await client.schedules.delete(schedule);
    await client.queues.resume(newsletter);
  };
}
