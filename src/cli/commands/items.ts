/** `jobtree items`: the items of a job, in their order; or one item. */
import type { Client, Item, ItemStatus } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { colourOf } from '../colours.ts';
import { CommandError } from '../command-error.ts';
import { toJson } from '../exact-json.ts';
import { exitCodes } from '../exit-codes.ts';
import { printField } from '../fields.ts';
import { counted, wait } from '../figures.ts';
import { oneLine, print } from '../output.ts';
import { type Cell, Table } from '../table.ts';

export interface ItemsOptions extends ApiOptions {
  readonly status?: readonly Lowercase<ItemStatus>[];
  readonly find?: string;
  readonly path?: string;
  readonly code?: readonly string[];
  readonly dedupeKey?: readonly string[];
  readonly limit: number;
}

const pageSize = 1_000;
/** Of a search. */
const mostFound = 100;

export async function listItems(jobId: string, options: ItemsOptions): Promise<number> {
  if (jobId.startsWith('JobItem:')) return showItem(jobId, options);
  if (!jobId.startsWith('Job:'))
    throw new CommandError(
      exitCodes.usage,
      `id is "${jobId}": give the id of a job, which starts with Job:, or of an item, which starts with JobItem:`,
    );
  if (options.path !== undefined && options.find === undefined)
    throw new CommandError(exitCodes.usage, '--path needs --find: what is under this key');
  const statuses = options.status?.map((status) => status.toUpperCase() as ItemStatus);
  const table = new Table(columns, 'There are no such items.');
  await withClient(options, async (client) => {
    let left = options.limit;
    let after: string | undefined;
    do {
      const page = await read(client, jobId, {
        ...options,
        statuses,
        first: Math.min(left, pageSize),
        after,
      });
      if (options.json) for (const item of page.nodes) print(`${JSON.stringify(item)}\n`);
      // A search that has found nothing yet goes on.
      else if (page.nodes.length > 0 || page.next === undefined) table.print(page.nodes.map(toCells));
      left -= page.nodes.length;
      after = left > 0 ? page.next : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

interface PageRequest extends Pick<ItemsOptions, 'find' | 'path' | 'code' | 'dedupeKey'> {
  readonly statuses: readonly ItemStatus[] | undefined;
  readonly first: number;
  readonly after: string | undefined;
}

/** A page of the items, or of those that are sought; `next` is where to go on. */
async function read(client: Client, jobId: string, request: PageRequest) {
  const { find, path, code, dedupeKey, statuses, first, after } = request;
  if ((find ?? code ?? dedupeKey) === undefined) {
    const { nodes, hasNextPage, endCursor } = await client.items(jobId, { first, after, statuses });
    return { nodes, next: hasNextPage ? (endCursor ?? undefined) : undefined };
  }
  const sought = path === undefined ? { text: find } : { path, equals: find };
  const found = await client.searchItems(jobId, {
    ...sought,
    codes: code,
    dedupeKeys: dedupeKey,
    from: after,
    first: Math.min(first, mostFound),
  });
  return { nodes: found.nodes, next: found.nextFrom ?? undefined };
}

/** The id comes first and whole: it is what the other commands take. */
const columns = [
  { title: 'ID' },
  { title: 'STATUS' },
  { title: 'FAILURES', align: 'right' },
  { title: 'DETAIL', cut: 'end' },
] as const;

function toCells(item: Item): Cell[] {
  const word = item.status.toLowerCase();
  return [item.id, { text: word, colour: colourOf(word) }, String(item.failureCount), textOf(item)];
}

/** What failed says why, and what is worked on what its worker noted; of others the payload shows which it is. */
function textOf({ status, failures, note, payload, finishedAt, retryAt }: Item): string {
  const last = failures.at(-1);
  const reason = last && `${last.code}: ${last.message}`;
  if (status === 'FAILED' && reason !== undefined) return reason;
  const shown = toJson(payload);
  if (finishedAt !== null) return shown;
  const after = reason && `${retryAt == null ? '' : `again in ${wait(retryAt)} `}after ${reason}`;
  return [note ?? after, shown].filter((text) => text !== undefined).join(' · ');
}

async function showItem(id: string, options: ItemsOptions): Promise<number> {
  const { item, standstills } = await withClient(options, async (client) => {
    const item = await client.item(id);
    return {
      item,
      standstills: item.finishedAt == null && !options.json ? await client.standstills(id) : [],
    };
  });
  if (options.json) print(`${JSON.stringify(item)}\n`);
  else {
    for (const [name, text] of fieldsOf(item)) printField(name, text);
    for (const { message } of standstills) printField('why', oneLine(message));
    const stack = item.failures.at(-1)?.stack;
    if (stack) print(`stack\n${stack.replaceAll(/^/gm, '  ')}\n`);
  }
  return exitCodes.success;
}

/** Those that say something. */
function fieldsOf(item: Item): (readonly [name: string, text: string])[] {
  const { assignment, blockedBy, retryAt, runAt, result, failureCount, failures } = item;
  const fields = [
    ['item', item.id],
    ['status', item.status.toLowerCase()],
    ['added', item.createdAt],
    ['finished', item.finishedAt],
    ['due', retryAt ?? runAt],
    [
      'held by',
      // The assignment may be read a moment later than the item.
      item.status === 'RUNNING' && assignment
        ? `${assignment.worker}, attempt ${assignment.attempt}, since ${assignment.claimedAt}`
        : null,
    ],
    ['behind', blockedBy?.id],
    ['key', item.serializeKey],
    ['dedupe', item.dedupeKey],
    ['note', item.note],
    ['payload', toJson(item.payload)],
    ['result', item.status === 'SUCCEEDED' ? toJson(result) : null],
    ['failures', failureCount === 0 ? null : String(failureCount)],
    ...failures.map(({ attempt, at, worker, code, message }) => [
      `  ${attempt}`,
      `${at}${worker == null ? '' : ` ${worker}`}: ${code}: ${message}`,
    ]),
    ['log', item.log.length === 0 ? null : counted(item.log.length, 'line')],
    ...item.log.map(({ attempt, at, text }) => [`  ${attempt}`, `${at} ${text}`]),
  ] as const;
  return fields.flatMap(([name = '', text]) => (text == null ? [] : [[name, oneLine(text)] as const]));
}
