/** `jobtree workers`: who does what, how much of it they have, and when they were last seen. */
import type { ConnectedWorker } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { age, count } from '../figures.ts';
import { print } from '../output.ts';
import { Table } from '../table.ts';

export interface WorkersOptions extends ApiOptions {
  readonly type?: readonly string[];
  readonly limit: number;
}

const pageSize = 1_000;

export async function listWorkers({ type: types, limit, ...options }: WorkersOptions): Promise<number> {
  const none = types === undefined ? 'No worker is connected.' : 'No connected worker does these types.';
  const table = new Table(columns, none);
  await withClient(options, async (client) => {
    let left = limit;
    let after: string | undefined;
    do {
      const first = Math.min(left, pageSize);
      const page = await client.workers({ first, after, ...(types && { types: [...types] }) });
      if (options.json) for (const worker of page) print(`${JSON.stringify(worker)}\n`);
      else table.print(page.map(toCells));
      left -= page.length;
      after = page.length === first && left > 0 ? page.at(-1)?.name : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

const columns = [
  { title: 'NAME', cut: 'middle' },
  { title: 'TYPES', cut: 'end' },
  { title: 'ITEMS', align: 'right' },
  { title: 'SEEN', align: 'right' },
  { title: 'CONNECTED', align: 'right', spare: true },
  { title: 'VERSION', cut: 'middle', spare: true },
] as const;

function toCells({ name, version, types, connectedAt, seenAt }: ConnectedWorker): string[] {
  return [
    name,
    types.map(({ type }) => type).join(', '),
    itemsOf(types),
    age(seenAt),
    connectedAt == null ? '-' : age(connectedAt),
    version ?? '-',
  ];
}

/** `3/8`: how many it has, and how many it runs at once, if it has said so. */
function itemsOf(types: ConnectedWorker['types']): string {
  let holds = 0;
  let room = 0;
  for (const one of types) {
    holds += one.holds;
    room += one.concurrency ?? 0;
  }
  return room === 0 ? count(holds) : `${count(holds)}/${count(room)}`;
}
