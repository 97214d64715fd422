/**
 * Works with nothing but fetch, in two loops by default. Each request of a loop reports what it has done and claims the next
 * items. With a pace, each request waits for its time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Exchange, ExchangeParts } from '../../../dist/generated/operations.js';
import { finish, readTask, workUntilStopped } from '../child.ts';
import { type Payload, result } from '../payload.ts';
import type { WorkerTask } from '../task.ts';

interface Claimed {
  readonly assignments: readonly { readonly id: string; readonly payload: Payload }[];
}

interface Answer {
  readonly data: {
    readonly exchange?: Claimed & { readonly reported: { readonly entries: readonly unknown[] } };
    readonly claimItems?: Claimed;
  };
}

const {
  url,
  target,
  items = Number.POSITIVE_INFINITY,
  batch,
  perSecond,
  token,
  ...task
} = readTask<WorkerTask>();
const { concurrency = 2 * batch } = task;
const headers = {
  'content-type': 'application/json',
  accept: 'application/json',
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
};
const start = performance.now();
const cpu = process.cpuUsage();
let done = 0;
let due = start;
let stopped = false;

/** Does not make up for late requests. */
async function untilDue(): Promise<void> {
  if (perSecond === undefined) return;
  due = Math.max(due, performance.now()) + (batch / perSecond) * 1000;
  await delay(due - performance.now());
}

async function loop(worker: string): Promise<void> {
  let reports: { assignmentId: string; outcome: { success: { result: unknown } } }[] = [];
  while (done < items && !stopped) {
    await untilDue();
    const claim = { worker, requests: [{ type: target, limit: batch }] };
    const request =
      reports.length > 0
        ? { query: String(Exchange), variables: { input: { reports, claim } } }
        : {
            query: String(ExchangeParts),
            variables: { withReports: false, withReleases: false, withClaims: true, claims: claim },
          };
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(request),
    });
    const { data } = (await response.json()) as Answer;
    // The answer does not list accepted reports.
    done += reports.length - (data.exchange?.reported.entries.length ?? 0);
    const { assignments = [] } = data.exchange ?? data.claimItems ?? {};
    reports = assignments.map(({ id, payload }) => ({
      assignmentId: id,
      outcome: { success: { result: result(payload) } },
    }));
  }
}

const loops = Promise.all(Array.from({ length: concurrency / batch }, (_, i) => loop(`loop ${i}`)));
if (items === Number.POSITIVE_INFINITY) {
  workUntilStopped(
    () => done,
    async () => {
      stopped = true;
      await loops;
    },
  );
}
await loops;
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
finish({ items: done, ms, cpuMs: (user + system) / 1000 });
