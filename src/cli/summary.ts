/** What came of a job, for the end of `watch`. */
import type { CancelReason, Client, JobOutcome, JobProgress } from '../client/index.ts';
import { count, counted, rate, seconds } from './figures.ts';
import { oneLine, printText } from './output.ts';
import { terminalWidth } from './table.ts';
import { shorten } from './width.ts';

export interface Summary {
  readonly jobId: string;
  readonly type: string;
  readonly itemCount: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly outcome: JobOutcome | null;
  /** Why it was cancelled: FAILURES if more items failed than it tolerates. */
  readonly cancelReason: CancelReason | null;
  /** From the first claim to the end; null for a job of which nothing was ever claimed. */
  readonly seconds: number | null;
  readonly itemsPerSecond: number | null;
  /** The most frequent ones among the first failed items. */
  readonly failures: readonly FailureGroup[];
  /** Why its file could not be read to its end, which fails the job, with or without failed items. */
  readonly fileError: { readonly code: string; readonly message: string } | null;
}

interface FailureGroup {
  readonly count: number;
  readonly code: string;
  readonly message: string;
}

const failedItemsRead = 1_000;
const groupsShown = 5;
/** Of a message, on a terminal. `jobtree items` shows all of it. */
const mostLines = 3;

export async function summarise(client: Client, type: string, progress: JobProgress): Promise<Summary> {
  const { jobId, itemCount, succeeded, failed, cancelled, outcome, cancelReason, startedAt, completedAt } =
    progress;
  const ms =
    startedAt == null || completedAt == null ? null : Date.parse(completedAt) - Date.parse(startedAt);
  return {
    jobId,
    type,
    itemCount,
    succeeded,
    failed,
    cancelled,
    outcome: outcome ?? null,
    cancelReason: cancelReason ?? null,
    seconds: ms === null ? null : ms / 1_000,
    itemsPerSecond: ms === null ? null : (rate(itemCount, ms) ?? null),
    failures: failed === 0 ? [] : await failureGroups(client, jobId),
    fileError: outcome === 'FAILED' ? ((await client.job(jobId)).import?.error ?? null) : null,
  };
}

/** By the last failure of each item, which is the one that ended it. */
async function failureGroups(client: Client, jobId: string): Promise<FailureGroup[]> {
  const groups = new Map<string, { count: number; code: string; message: string }>();
  let left = failedItemsRead;
  let after: string | undefined;
  do {
    const page = await client.items(jobId, { statuses: ['FAILED'], first: left, after });
    for (const { failures } of page.nodes) {
      const { code, message } = failures.at(-1) ?? { code: '', message: '' };
      const key = `${code}\n${message}`;
      const group = groups.get(key) ?? { count: 0, code, message };
      group.count++;
      groups.set(key, group);
    }
    left -= page.nodes.length;
    after = (page.hasNextPage && page.endCursor) || undefined;
  } while (after !== undefined && left > 0);
  return [...groups.values()].sort((a, b) => b.count - a.count).slice(0, groupsShown);
}

export function printSummary(prefix: string, summary: Summary): void {
  const { itemCount, succeeded, failed, cancelled } = summary;
  const parts = [`${count(succeeded)} succeeded`];
  const { fileError } = summary;
  const verdict =
    summary.cancelReason === 'FAILURES' && fileError === null ? ' (more than the job tolerates)' : '';
  if (failed > 0) parts.push(`${count(failed)} failed${verdict}`);
  if (cancelled > 0) parts.push(`${count(cancelled)} cancelled`);
  const time = summary.seconds === null ? '' : ` in ${seconds(summary.seconds * 1_000)}`;
  const speed = summary.itemsPerSecond === null ? '' : ` (${count(summary.itemsPerSecond)} items/s)`;
  printText(`${prefix}${counted(itemCount, 'item')}: ${parts.join(', ')}${time}${speed}\n`);
  if (fileError !== null)
    printText(
      `  The file could not be read to its end: ${oneLine(`${fileError.code}: ${fileError.message}`)}\n`,
    );
  for (const group of summary.failures) {
    const [line = ''] = group.message.split('\n');
    const text = `  ${count(group.count)} × ${oneLine(`${group.code}: ${line}`)}`;
    printText(`${shorten(text, mostLines * terminalWidth(), 'end')}\n`);
  }
  if (failed > failedItemsRead) {
    printText(`  (of the first ${count(failedItemsRead)} failed items)\n`);
  }
}
