/**
 * `jobtree replay` and `jobtree discard`: dead letters are tried again, or settled. `jobtree cancel-items`: pending items are cancelled.
 * `jobtree promote-items`: items that wait for their next attempt are tried now. `carryOut` is also for operations on trees. The server goes on if
 * this is broken off.
 */
import { createInterface } from 'node:readline/promises';
import type {
  Client,
  DeadLetterFilter,
  ItemStatus,
  Operation,
  PendingItemFilter,
} from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted } from '../figures.ts';
import { catchInterruption } from '../interruption.ts';
import { printError, printOutcome } from '../output.ts';
import { createProgressDisplay } from '../progress-display.ts';

export interface OperateOptions extends ApiOptions {
  readonly job?: string;
  readonly type?: string[];
  readonly code?: string[];
  readonly group?: string[];
  readonly status?: string[];
  readonly item?: string[];
  readonly dedupeKey?: string[];
  readonly since?: Date;
  readonly until?: Date;
  readonly payload?: unknown;
  readonly payloadPatch?: unknown;
  readonly yes?: true;
}

/** On a terminal more than these are asked back. */
const few = 10;

const words = {
  REPLAY: { verb: 'Replay', doing: 'Replaying', done: 'Replayed', noun: 'item', left: 'settled otherwise' },
  DISCARD: {
    verb: 'Discard',
    doing: 'Discarding',
    done: 'Discarded',
    noun: 'item',
    left: 'settled otherwise',
  },
  CANCEL: {
    verb: 'Cancel',
    doing: 'Cancelling',
    done: 'Cancelled',
    noun: 'item',
    left: 'finished otherwise',
  },
  PROMOTE: { verb: 'Promote', doing: 'Promoting', done: 'Promoted', noun: 'item', left: 'due by themselves' },
  CANCEL_TREES: {
    verb: 'Cancel',
    doing: 'Cancelling',
    done: 'Cancelled',
    noun: 'tree',
    left: 'complete by then',
  },
  DELETE_TREES: {
    verb: 'Delete',
    doing: 'Deleting',
    done: 'Deleted',
    noun: 'tree',
    left: 'deleted otherwise',
  },
} as const;
type Kind = keyof typeof words;
export type TreeOperationKind = 'CANCEL_TREES' | 'DELETE_TREES';
export type OperationKind = Exclude<Kind, TreeOperationKind>;
const isPending = (kind: OperationKind) => kind === 'CANCEL' || kind === 'PROMOTE';

export async function operate(kind: OperationKind, options: OperateOptions): Promise<number> {
  refuseEverything(kind, options);
  return carryOut(kind, options, {
    count: (client, signal) => countItems(client, kind, options, signal),
    begin: (client) => begin(client, kind, options),
    comment: async (client, { total }, signal) => {
      if (kind !== 'REPLAY') return true;
      if (total === 0) await sayWhatWaits(client, options, signal);
      const skipped = await saySkipped(client, options, signal);
      return total > 0 || skipped === 0;
    },
  });
}

/** What is specific to an operation. */
export interface Steps {
  count(client: Client, signal: AbortSignal): Promise<number>;
  begin(client: Client): Promise<Operation>;
  /** Says more about it once it has ended, and whether that is a success. */
  comment?(client: Client, ended: Operation, signal: AbortSignal): Promise<boolean>;
}

/** Asks, begins, and follows to the end. */
export async function carryOut(
  kind: Kind,
  options: ApiOptions & { readonly yes?: true },
  { count, begin, comment }: Steps,
): Promise<number> {
  const interruption = catchInterruption();
  const { signal } = interruption;
  const { verb, noun } = words[kind];
  let isSuccess = true;
  try {
    const operation = await withClient(options, async (client) => {
      if (options.yes !== true && process.stdin.isTTY && process.stderr.isTTY) {
        const found = await count(client, signal);
        const isFew = found <= (kind === 'DELETE_TREES' ? 0 : few);
        if (!isFew && !(await isConfirmed(`${verb} ${counted(found, noun)}?`, signal))) return;
      }
      const ended = await follow(client, kind, await begin(client), signal);
      isSuccess = (await comment?.(client, ended, signal)) ?? true;
      return ended;
    });
    if (operation !== undefined) {
      const exitCode = answer(kind, operation, options);
      return isSuccess ? exitCode : exitCodes.failure;
    }
    printError(`${words[kind].done} nothing.\n`);
    return exitCodes.failure;
  } catch (error) {
    if (signal.aborted) return interruption.exitCode;
    throw error;
  }
}

/** These mean the same for dead letters and pending items. */
const sharedSelectors = ['job', 'type', 'code', 'item', 'dedupeKey'] as const;
const toOption = (name: string) => `--${name.replace('dedupeKey', 'dedupe-key')}`;

/** What must be said, lest it be about everything. */
function refuseEverything(kind: OperationKind, options: OperateOptions): void {
  if (options.payload !== undefined && options.item?.length !== 1)
    throw new CommandError(exitCodes.usage, '--payload is for one item: name it with --item.');
  const selectors = [...sharedSelectors, isPending(kind) ? 'status' : 'group', 'since', 'until'] as const;
  if (selectors.some((name) => options[name] !== undefined)) return;
  const names = selectors.map(toOption);
  throw new CommandError(
    exitCodes.usage,
    `Say what to ${words[kind].verb.toLowerCase()}: give at least one of ${names.join(', ')}.`,
  );
}

const toFilter = (options: OperateOptions) => ({
  jobId: options.job,
  types: options.type,
  codes: options.code,
  itemIds: options.item,
  dedupeKeys: options.dedupeKey,
});

const toDeadLetterFilter = (options: OperateOptions): DeadLetterFilter => ({
  ...toFilter(options),
  groupIds: options.group,
  diedFrom: options.since?.toISOString(),
  diedUntil: options.until?.toISOString(),
});

const toPendingFilter = (options: OperateOptions): PendingItemFilter => ({
  ...toFilter(options),
  statuses: options.status?.map((status) => status.toUpperCase() as ItemStatus),
  addedFrom: options.since?.toISOString(),
  addedUntil: options.until?.toISOString(),
});

function countItems(
  client: Client,
  kind: OperationKind,
  options: OperateOptions,
  signal: AbortSignal,
): Promise<number> {
  if (!isPending(kind))
    return client.deadLetterCount(toDeadLetterFilter(options), { replayable: kind === 'REPLAY', signal });
  const filter = toPendingFilter(options);
  return client.pendingItemCount(
    kind === 'PROMOTE' ? { ...filter, statuses: filter.statuses ?? ['RETRYING'] } : filter,
    { signal },
  );
}

function begin(client: Client, kind: OperationKind, options: OperateOptions): Promise<Operation> {
  if (kind === 'CANCEL') return client.cancelItems(toPendingFilter(options));
  if (kind === 'PROMOTE') return client.promoteItems(toPendingFilter(options));
  const filter = toDeadLetterFilter(options);
  return kind === 'DISCARD'
    ? client.discardDeadLetters(filter)
    : client.replayDeadLetters(filter, { payload: options.payload, payloadPatch: options.payloadPatch });
}

/** Whoever replays what has not failed for good finds nothing, and may look for what still waits for a retry. */
async function sayWhatWaits(client: Client, options: OperateOptions, signal: AbortSignal): Promise<void> {
  const names = sharedSelectors.filter((name) => options[name] !== undefined).map(toOption);
  if (names.length === 0) return;
  const waiting = await client
    .pendingItemCount({ ...toFilter(options), statuses: ['RETRYING'] }, { signal })
    .catch(() => 0);
  if (waiting === 0) return;
  const [verb, them] = waiting === 1 ? ['waits', 'it'] : ['wait', 'them'];
  printError(
    `Nothing that matches has failed for good. ${counted(waiting, 'item')} that could match ${verb} for a retry: \`jobtree promote-items\` with the same ${names.join(', ')} tries ${them} now.\n`,
  );
}

/** Returns how many of the dead letters that are left can't be replayed. */
async function saySkipped(client: Client, options: OperateOptions, signal: AbortSignal): Promise<number> {
  const filter = toDeadLetterFilter(options);
  const count = (replayable: boolean) =>
    client.deadLetterCount(filter, { replayable, signal }).catch(() => 0);
  const [all, replayable] = await Promise.all([count(false), count(true)]);
  const skipped = Math.max(0, all - replayable);
  if (skipped > 0)
    printError(
      `Skipped ${counted(skipped, 'dead letter')}: what belongs to a cancelled job can't be replayed, only discarded.\n`,
    );
  return skipped;
}

async function isConfirmed(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C comes to the terminal, and not as a signal to the process, while it reads a line.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    terminal.close();
  }
}

async function follow(client: Client, kind: Kind, begun: Operation, signal: AbortSignal): Promise<Operation> {
  const display = createProgressDisplay(process.stderr, 1_000);
  let operation = begun;
  try {
    if (operation.status === 'RUNNING') {
      for await (operation of client.watchOperation(operation.id, { signal })) {
        display.show('operation', {
          label: '',
          share: Math.min(1, operation.done / Math.max(1, operation.total)),
          text: `${words[kind].doing}: ${count(operation.done)} of ${counted(operation.total, words[kind].noun)}…`,
        });
      }
    }
  } finally {
    display.end();
  }
  return operation;
}

function answer(kind: Kind, operation: Operation, { json }: ApiOptions): number {
  const { done, total, status, skipped, skippedReason } = operation;
  const other = total - done - skipped;
  const refused =
    skipped > 0 ? `; skipped ${counted(skipped, 'item')}, the first because ${skippedReason}` : '';
  const left = other > 0 ? `; ${count(other)} could not be, or were ${words[kind].left}` : '';
  const cancelled = status === 'CANCELLED' ? ' before it was cancelled' : '';
  const text = `${words[kind].done} ${counted(done, words[kind].noun)}${cancelled}${left}${refused.replace(/\.$/, '')}.`;
  printOutcome(json, operation, text);
  return status === 'CANCELLED' ? exitCodes.failure : exitCodes.success;
}
