/** `jobtree callbacks`: what is or was sent to endpoints. `jobtree callback`: the endpoints, and single deliveries. */
import type { CallbackDelivery } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { print } from '../output.ts';

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
  await withClient(options, async ({ callbacks }) => {
    let left = options.limit;
    let after: string | undefined;
    do {
      const page = await callbacks.deliveries({ first: Math.min(left, 1_000), after, filter });
      if (!json && after === undefined) print(line('DELIVERY', 'CREATED', 'STATUS', 'ENDPOINT', 'MESSAGE'));
      for (const delivery of page.nodes) print(json ? `${JSON.stringify(delivery)}\n` : toLine(delivery));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

export async function putEndpoint(name: string, url: string, options: ApiOptions): Promise<number> {
  const put = await withClient(options, ({ callbacks }) => callbacks.putEndpoint({ name, url }));
  return answer(options, put, put.secret ?? 'It has the secret that it had.');
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
  for (const endpoint of endpoints) {
    const { name, url, goneAt } = endpoint;
    answer(options, endpoint, `${name.padEnd(24)}  ${url}${goneAt == null ? '' : '  (gone)'}`);
  }
  return exitCodes.success;
}

export async function showDelivery(id: string, options: ApiOptions): Promise<number> {
  const delivery = await withClient(options, ({ callbacks }) => callbacks.delivery(id));
  return answer(options, delivery, describe(delivery));
}

export async function retryDelivery(id: string, options: ApiOptions): Promise<number> {
  const delivery = await withClient(options, ({ callbacks }) => callbacks.retryDelivery(id));
  return answer(options, delivery, 'It is sent at once.');
}

function answer({ json }: ApiOptions, value: unknown, text: string): number {
  print(`${json ? JSON.stringify(value) : text}\n`);
  return exitCodes.success;
}

function toLine({ id, createdAt, status, endpoint, messageId }: CallbackDelivery): string {
  return line(id, createdAt.slice(0, 16).replace('T', ' '), status.toLowerCase(), endpoint, messageId);
}

function line(id: string, created: string, status: string, endpoint: string, message: string): string {
  return `${id.padEnd(53)}  ${created.padEnd(16)}  ${status.padEnd(9)}  ${endpoint.padEnd(16)}  ${message}\n`;
}

function describe(delivery: CallbackDelivery): string {
  const { messageId, endpoint, status, dueAt, body, attemptCount, attempts } = delivery;
  const next = dueAt == null ? '' : `, next at ${dueAt}`;
  return [
    `${messageId} to ${endpoint}: ${status.toLowerCase()}, ${counted(attemptCount, 'attempt')}${next}`,
    JSON.stringify(body),
    ...attempts.map(
      ({ at, tookMs, statusCode, error }) =>
        `${at}  ${tookMs == null ? '-' : `${tookMs} ms`}  ${error ?? `delivered, status ${statusCode}`}`,
    ),
  ].join('\n');
}
