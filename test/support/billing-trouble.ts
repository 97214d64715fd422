/** A morning with trouble, for whoever has only the dashboard: 300 items that failed of two causes, and a serialize key that a failed item keeps. */
import type { Client } from '../../src/client/client.ts';
import { PermanentError, Worker } from '../../src/client/index.ts';

export const currencyProblem = 'EURO is no currency';
export const printerProblem = 'The printer in the basement does not answer';

interface Invoice {
  readonly invoice: number;
  readonly currency: string;
}

/** The workers go on: what is replayed with what they ask for succeeds. Call `stop` in the end. */
export async function haveBillingTrouble(
  client: Client,
  url: string,
): Promise<{ treeId: string; stop: () => Promise<void> }> {
  const worker = new Worker({
    url,
    name: 'billing',
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    types: {
      invoice: {
        concurrency: 20,
        handler: (payload: Invoice) => {
          if (payload.currency === 'EURO')
            throw new PermanentError(currencyProblem, { code: 'UNKNOWN_CURRENCY' });
          return { invoice: payload.invoice, status: 'sent' };
        },
      },
      letter: {
        concurrency: 20,
        handler: (payload: Invoice) => {
          if (payload.invoice >= 1_500) throw new PermanentError(printerProblem, { code: 'PRINTER' });
          return 'printed';
        },
      },
      payment: {
        concurrency: 5,
        handler: (payload: { iban: string }) => {
          if (payload.iban === 'unknown')
            throw new PermanentError('The bank refused the account', { code: 'BANK_REFUSED' });
          return 'paid';
        },
      },
      customer: { concurrency: 5, handler: () => 'greeted' },
    },
  });
  const running = worker.run();
  const numbered = (count: number, currencyOf: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => ({ payload: { invoice: 1_000 + n, currency: currencyOf(n) } }));
  const { id: treeId } = await client.createJob({
    type: 'invoice',
    sealed: true,
    maxFailuresPerItem: 0,
    items: numbered(800, (n) => (n % 4 === 0 ? 'EURO' : 'EUR')),
    children: [{ type: 'letter', sealed: true, maxFailuresPerItem: 0, items: numbered(600, () => 'EUR') }],
  });
  const { id: payments } = await client.createJob({
    type: 'payment',
    sealed: true,
    maxFailuresPerItem: 0,
    serializeOnFailure: 'BLOCK',
    items: Array.from({ length: 12 }, (_, n) => ({
      payload: { iban: n === 3 ? 'unknown' : `DE${n}`, amount: 100 + n },
      serializeKey: 'customer-17',
    })),
  });
  for await (const { outcome } of client.watchTree(treeId)) if (outcome !== null) break;
  for await (const { failed } of client.watchJob(payments)) if (failed === 1) break;
  const stop = async () => {
    await worker.stop();
    await running;
  };
  return { treeId, stop };
}
