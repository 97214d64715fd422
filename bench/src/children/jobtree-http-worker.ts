/** Works with nothing but fetch: two loops, each with one request that reports what it has and claims the next. */
import { exchange } from '../../../dist/client/operations.js';
import { finish, readTask } from '../child.ts';
import { type Payload, result } from '../payload.ts';
import type { WorkerTask } from '../task.ts';

interface Answer {
  readonly data: {
    readonly reportOutcomes?: { readonly entries: readonly unknown[] };
    readonly claimItems: {
      readonly assignments: readonly { readonly id: string; readonly payload: Payload }[];
    };
  };
}

const { url, target, items = 0, batch } = readTask<WorkerTask>();
const query = String(exchange);
const start = performance.now();
const cpu = process.cpuUsage();
let done = 0;

async function loop(worker: string): Promise<void> {
  let reports: { assignmentId: string; result: unknown }[] = [];
  while (done < items) {
    const variables = {
      withReports: reports.length > 0,
      withReleases: false,
      withClaims: true,
      reports: reports.length > 0 ? { reports } : undefined,
      claims: { worker, wants: [{ type: target, limit: batch }] },
    };
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    const { data } = (await response.json()) as Answer;
    // What was accepted is not answered one by one.
    done += reports.length - (data.reportOutcomes?.entries.length ?? 0);
    reports = data.claimItems.assignments.map(({ id, payload }) => ({
      assignmentId: id,
      result: result(payload),
    }));
  }
}

await Promise.all([loop('one'), loop('two')]);
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
finish({ items: done, ms, cpuMs: (user + system) / 1000 });
