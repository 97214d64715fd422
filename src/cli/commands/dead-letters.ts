/** `jobtree dead-letters`: what failed for good, in groups; or one group, with examples. */
import type {
  Client,
  DeadLetterGroup,
  DeadLetterGroupWithItems,
  PendingItemFilter,
} from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { toJson } from '../exact-json.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted } from '../figures.ts';
import { oneLine, print, printError, printText } from '../output.ts';
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
      if (!groupId.startsWith('DeadLetterGroup:'))
        throw new CommandError(
          exitCodes.usage,
          `group is not the id of a group of dead letters: "${groupId}". Such an id starts with DeadLetterGroup:`,
        );
      const group = await client.deadLetterGroup(groupId, { first: options.limit });
      if (options.json) print(`${JSON.stringify(group)}\n`);
      else for (const { text, isWhole } of describe(group)) (isWhole ? print : printText)(`${text}\n`);
      return;
    }
    const groups = await readGroups(client, options);
    if (options.json) for (const group of groups) print(`${JSON.stringify(group)}\n`);
    else new Table(columns, 'Nothing has failed for good.').print(groups.map(toCells));
    if (groups.length === 0 && !options.json) await sayWhatWaits(client, options.type);
  });
  return exitCodes.success;
}

/** The server may have to look at very many items; a hint is not worth more than this. */
const hintMs = 2_000;

/** Whoever looks for failures may mean those of items that are still tried again. */
async function sayWhatWaits(client: Client, types: readonly string[] | undefined): Promise<void> {
  const filter: PendingItemFilter = { statuses: ['RETRYING'], ...(types && { types: [...types] }) };
  const signal = AbortSignal.timeout(hintMs);
  const waiting = await client.pendingItemCount(filter, { signal }).catch(() => 0);
  if (waiting === 0) return;
  printError(
    `${counted(waiting, 'item')} failed and ${waiting === 1 ? 'waits' : 'wait'} for a retry: \`jobtree jobs --status running\` lists the jobs, \`jobtree items ID --status retrying\` why.\n`,
  );
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
  // What a colleague says of it is not to be cut off.
  const remark = note == null ? '' : `${note} · `;
  return [id, count(size), toMinute(lastAt), type, `${remark}${code}: ${pattern}`];
}

interface Part {
  readonly text: string;
  /** Whether a terminal gets its lines as they are: files in stacks are there to be opened. */
  readonly isWhole?: true;
}

function describe(group: DeadLetterGroupWithItems): Part[] {
  const { type, code, pattern, count: size, firstAt, lastAt, note, items } = group;
  const heading = [
    `${counted(size, 'item')} of type ${oneLine(type)} failed for good: ${code}: ${oneLine(pattern)}`,
    `From ${toMinute(firstAt)} to ${toMinute(lastAt)}`,
    ...(note == null ? [] : [`Note: ${note}`]),
  ];
  return [{ text: heading.join('\n') }, ...items.flatMap(describeItem)];
}

function describeItem(item: DeadLetterGroupWithItems['items'][number]): Part[] {
  const { id, job, payload, failureCount, failures, note, log } = item;
  const last = failures.at(-1);
  const lines = [
    '',
    `${id} of ${job.id}`,
    `  payload: ${toJson(payload)}`,
    ...(note == null ? [] : [`  note: ${oneLine(note)}`]),
    ...log.map(({ at, text }) => `  log: ${toMinute(at)} ${oneLine(text)}`),
    `  ${counted(failureCount, 'failure')}, the last${whereOf(last)}: ${indented(last?.message ?? '')}`,
  ];
  const stack = (last?.stack ?? '').trimEnd();
  return [
    { text: lines.join('\n') },
    ...(stack === '' ? [] : [{ text: `    ${indented(stack)}`, isWhole: true as const }]),
  ];
}

/** The lines behind the first one. */
function indented(text: string): string {
  return text.replaceAll('\n', '\n    ');
}

/** ` at host1:4312 (attempt 3, 2026-11-21 10:00)`; without a worker if nobody knows it. */
function whereOf(failure: DeadLetterGroupWithItems['items'][number]['failures'][number] | undefined): string {
  if (failure === undefined) return '';
  const { worker, attempt, at } = failure;
  return `${worker == null ? '' : ` at ${oneLine(worker)}`} (attempt ${attempt}, ${toMinute(at)})`;
}

const toMinute = (time: string) => time.slice(0, 16).replace('T', ' ');
