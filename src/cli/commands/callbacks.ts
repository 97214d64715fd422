/** `jobtree callbacks`: what is or was sent to endpoints. `jobtree callback`: the endpoints, and single deliveries. */
import type { CallbackDelivery } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { colourOf } from '../colours.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { print, printOutcome, printText } from '../output.ts';
import { type Cell, Table } from '../table.ts';

export interface DeliveriesOptions extends ApiOptions {
  readonly endpoint?: string;
  readonly job?: string;
  readonly status?: 'pending' | 'delivered' | 'failed';
  readonly limit: number;
}

export async function listDeliveries(options: DeliveriesOptions): Promise<number> {
  const { endpoint, job: rootId, status, json } = options;
  const filter = {
    endpoint,
    rootId,
    status: status?.toUpperCase() as CallbackDelivery['status'] | undefined,
  };
  const table = new Table(columns, 'There are no such deliveries.');
  await withClient(options, async ({ callbacks }) => {
    let left = options.limit;
    let after: string | undefined;
    do {
      const page = await callbacks.deliveries({ first: Math.min(left, 1_000), after, filter });
      if (json) for (const delivery of page.nodes) print(`${JSON.stringify(delivery)}\n`);
      else table.print(page.nodes.map(toCells));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

export async function putEndpoint(name: string, url: string, options: ApiOptions): Promise<number> {
  const put = await withClient(options, ({ callbacks }) => callbacks.putEndpoint({ name, url }));
  return answer(
    options,
    put,
    put.secret ?? `The URL is now ${put.endpoint.url}. The secret has not changed.`,
  );
}

export async function rotateSecret(name: string, options: ApiOptions & { keep?: number }): Promise<number> {
  const keepPreviousMs = options.keep;
  const rotated = await withClient(options, ({ callbacks }) =>
    callbacks.rotateSecret(name, { keepPreviousMs }),
  );
  return answer(options, rotated, rotated.secret);
}

export async function deleteEndpoint(name: string, options: ApiOptions): Promise<number> {
  await withClient(options, ({ callbacks }) => callbacks.deleteEndpoint(name));
  return answer(options, { name }, 'Deleted.');
}

export async function listEndpoints(options: ApiOptions): Promise<number> {
  const endpoints = await withClient(options, ({ callbacks }) => callbacks.endpoints());
  if (options.json) for (const endpoint of endpoints) print(`${JSON.stringify(endpoint)}\n`);
  else
    new Table([{ title: 'NAME' }, { title: 'STATE' }, { title: 'URL' }], 'There are no endpoints.').print(
      endpoints.map(({ name, url, goneAt }) => [name, goneAt == null ? 'ok' : 'gone', url]),
    );
  return exitCodes.success;
}

export async function showDelivery(id: string, options: ApiOptions): Promise<number> {
  const delivery = await withClient(options, ({ callbacks }) => callbacks.delivery(id));
  if (options.json) return answer(options, delivery, '');
  const { head, body, attempts } = describe(delivery);
  printText(`${head}\n`);
  print(`${body}\n`);
  for (const attempt of attempts) printText(`${attempt}\n`);
  return exitCodes.success;
}

export async function retryDelivery(id: string, options: ApiOptions): Promise<number> {
  const delivery = await withClient(options, ({ callbacks }) => callbacks.retryDelivery(id));
  return answer(options, delivery, 'Sending it now.');
}

function answer({ json }: ApiOptions, value: unknown, text: string): number {
  printOutcome(json, value, text);
  return exitCodes.success;
}

const columns = [
  { title: 'DELIVERY' },
  { title: 'CREATED' },
  { title: 'STATUS' },
  { title: 'ENDPOINT', cut: 'middle' },
  { title: 'MESSAGE' },
] as const;

function toCells({ id, createdAt, status, endpoint, messageId }: CallbackDelivery): Cell[] {
  const word = status.toLowerCase();
  const created = createdAt.slice(0, 16).replace('T', ' ');
  return [id, created, { text: word, colour: colourOf(word) }, endpoint, messageId];
}

function describe(delivery: CallbackDelivery) {
  const { messageId, endpoint, status, dueAt, body, attemptCount, attempts } = delivery;
  const next = dueAt == null ? '' : `, next at ${dueAt}`;
  return {
    head: `${messageId} to ${endpoint}: ${status.toLowerCase()}, ${counted(attemptCount, 'attempt')}${next}`,
    body: JSON.stringify(body),
    attempts: attempts.map(
      ({ at, tookMs, statusCode, error }) =>
        `${at}  ${tookMs == null ? '-' : `${tookMs} ms`}  ${error ?? `delivered, status ${statusCode}`}`,
    ),
  };
}
