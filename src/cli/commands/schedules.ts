/** `jobtree schedules`: a list of schedules, by name. */
import type { Schedule } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { oneLine, print } from '../output.ts';
import { describeTimes } from './schedule.ts';

export interface SchedulesOptions extends ApiOptions {
  readonly limit: number;
}

export async function listSchedules(options: SchedulesOptions): Promise<number> {
  await withClient(options, async (client) => {
    if (!options.json) print(line('NAME', 'WHEN', 'NEXT', 'STATE'));
    let left = options.limit;
    let after: string | undefined;
    do {
      const page = await client.schedules.list({ first: Math.min(left, 1_000), after });
      for (const schedule of page.nodes)
        print(options.json ? `${JSON.stringify(schedule)}\n` : toLine(schedule));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

function toLine(schedule: Schedule): string {
  const { name, nextAt, queued } = schedule;
  const words = [stateOf(schedule)];
  if (queued.length > 0) words.push(`${queued.length} queued`);
  return line(oneLine(name), describeTimes(schedule), nextAt ?? '-', words.join(', '));
}

function stateOf({ pausedAt, lastFailure, behindMs }: Schedule): string {
  if (lastFailure != null) return pausedAt == null ? 'failing' : 'paused, failed';
  if (pausedAt != null) return 'paused';
  return behindMs > 10_000 ? 'behind' : 'ok';
}

function line(name: string, when: string, next: string, state: string): string {
  return `${name.padEnd(24)}  ${when.padEnd(32)}  ${next.padEnd(24)}  ${state}\n`;
}
