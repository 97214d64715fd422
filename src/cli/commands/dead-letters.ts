/** `jobtree dead-letters`: what failed for good, in groups; or one group, with examples. */
import type { Client, DeadLetterGroup, DeadLetterGroupWithItems } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted } from '../figures.ts';
import { oneLine, print } from '../output.ts';
import { type Cell, Table } from '../table.ts';

export interface DeadLettersOptions extends ApiOptions {
  readonly type?: readonly string[];
  readonly since?: Date;
  readonly limit: number;
}

type Group = Omit<DeadLetterGroup, 'example'>;

export async function listDeadLetters(
  groupId: string | undefined,
  options: DeadLettersOptions,
): Promise<number> {
  await withClient(options, async (client) => {
    if (groupId !== undefined) {
      const group = await client.deadLetterGroup(groupId, { first: options.limit });
      print(options.json ? `${JSON.stringify(group)}\n` : describe(group));
      return;
    }
    const groups = await readGroups(client, options);
    if (options.json) for (const group of groups) print(`${JSON.stringify(group)}\n`);
    else new Table(columns, 'Nothing has failed for good.').print(groups.map(toCells));
  });
  return exitCodes.success;
}

/** Since a time: how many of each group there are since then. */
async function readGroups(client: Client, { type: types, since, limit: first }: DeadLettersOptions) {
  const selection = { first, ...(types && { types }) };
  if (since === undefined) return client.deadLetterGroups(selection);
  const entries = await client.deadLetterDigest(since, selection);
  return entries.map(({ count, group }): Group => ({ ...group, count }));
}

/** The id comes first and whole: it is what the other commands take. */
const columns = [
  { title: 'GROUP' },
  { title: 'COUNT', align: 'right' },
  { title: 'LAST' },
  { title: 'TYPE', cut: 'middle' },
  { title: 'CODE AND MESSAGE', cut: 'end' },
] as const;

function toCells({ id, type, code, pattern, count: size, lastAt, note }: Group): Cell[] {
  const remark = note == null ? '' : ` (${note})`;
  return [id, count(size), toMinute(lastAt), type, `${code}: ${pattern}${remark}`];
}

function describe(group: DeadLetterGroupWithItems): string {
  const { type, code, pattern, count: size, firstAt, lastAt, note, items } = group;
  const lines = [
    `${counted(size, 'item')} of type ${oneLine(type)} failed for good: ${code}: ${oneLine(pattern)}`,
    `From ${toMinute(firstAt)} to ${toMinute(lastAt)}`,
    ...(note == null ? [] : [`Note: ${note}`]),
    ...items.flatMap(({ id, job, payload, failureCount, failures, note: itemNote, log }) => [
      '',
      `${id} of ${job.id}`,
      `  payload: ${JSON.stringify(payload)}`,
      ...(itemNote == null ? [] : [`  note: ${oneLine(itemNote)}`]),
      ...log.map(({ at, text }) => `  log: ${toMinute(at)} ${oneLine(text)}`),
      `  ${counted(failureCount, 'failure')}, the last${whereOf(failures.at(-1))}: ${failures.at(-1)?.message ?? ''}`,
      ...(failures.at(-1)?.stack ?? '').split('\n').flatMap((line) => (line === '' ? [] : `    ${line}`)),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

/** ` at host1:4312 (attempt 3, 2026-11-21 10:00)`; without a worker if nobody knows it. */
function whereOf(failure: DeadLetterGroupWithItems['items'][number]['failures'][number] | undefined): string {
  if (failure === undefined) return '';
  const { worker, attempt, at } = failure;
  return `${worker == null ? '' : ` at ${oneLine(worker)}`} (attempt ${attempt}, ${toMinute(at)})`;
}

const toMinute = (time: string) => time.slice(0, 16).replace('T', ' ');
