/** What claims cost that wait at a server for work, and how soon one gets an item that is added. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { startService } from '../child.ts';
import type { IdleClaimsMethods } from '../children/idle-claims.ts';
import { whole } from '../figures.ts';
import { Histogram } from '../histogram.ts';
import { createJob, withClient } from '../jobtree.ts';
import { payload } from '../payload.ts';
import type { IdleClaimsTask } from '../task.ts';
import { cpuMs, familyCpuMs, memory } from '../usage.ts';
import { atMost } from '../verdicts.ts';

const perProcess = 2_500;
const typesPerProcess = 25;
/** The most that a claim may wait. */
const waitMs = 30_000;
/** Less than a claim waits, and then what sending each of them again costs. */
const idleSeconds = 10;
const renewingSeconds = 30;
const samples = 200;

export async function measureIdleClaims(bench: Bench): Promise<Report> {
  const size = bench.options.subscribers;
  const found = await withJobtree(bench, async ({ server }) => {
    const waiting = async () => {
      const text = await (await fetch(new URL('/metrics', server.url))).text();
      return Number(/^jobtree_claims_waiting(?:\{.*\})? (\d+)/m.exec(text)?.[1]);
    };
    const jobs: { readonly id: string; readonly type: string }[] = [];
    for (let n = 0; n < Math.ceil(size / perProcess) * typesPerProcess; n++)
      jobs.push(await createJob(server.url));
    const startMb = memory(server.pid)?.now ?? Number.NaN;
    const workers: Awaited<ReturnType<typeof startService<IdleClaimsMethods>>>[] = [];
    for (let first = 0; first < size; first += perProcess) {
      const from = (first / perProcess) * typesPerProcess;
      const types = jobs.slice(from, from + typesPerProcess).map(({ type }) => type);
      const task: IdleClaimsTask = { url: server.url, types, waitMs };
      const worker = await startService<IdleClaimsMethods>('idle-claims', task);
      await worker.ask.connect(first, Math.min(perProcess, size - first));
      workers.push(worker);
    }
    while ((await waiting()) < size) await delay(500);
    const held = memory(server.pid)?.now ?? Number.NaN;

    const shareOf = async (seconds: number) => {
      const cpu = () => [cpuMs(server.pid), familyCpuMs(bench.postgres.pid)].map((ms = Number.NaN) => ms);
      const before = cpu();
      await delay(seconds * 1_000);
      return cpu().map((ms, i) => (ms - (before[i] as number)) / (seconds * 1_000));
    };
    const [idle = Number.NaN] = await shareOf(idleSeconds);
    const [renewing = Number.NaN, postgres = Number.NaN] = await shareOf(renewingSeconds);

    const times = new Histogram();
    await withClient(server.url, async (client) => {
      for (let number = 0; number < samples; number++) {
        const n = Math.floor(Math.random() * jobs.length);
        const sentAt = performance.timeOrigin + performance.now();
        await client.addItems(jobs[n]?.id as string, [{ payload: payload(number) }]);
        const givenAt = await workers[Math.floor(n / typesPerProcess)]?.ask.given(number);
        times.add((givenAt ?? Number.NaN) - sentAt);
      }
    });
    await Promise.all(workers.map(({ stop }) => stop()));
    return { size, kb: ((held - startMb) * 1_024) / size, idle, renewing, postgres, times };
  });
  const { kb, idle, renewing, postgres, times } = found;
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const [p50, p99] = [times.quantile(0.5), times.quantile(0.99)];
  return {
    tables: [
      {
        title: `idle-claims: ${whole(size)} claims that wait, each on a connection of its own`,
        columns: ['kB each', 'server idle', 'asked again', 'Postgres', 'add to claim p50', 'p99'],
        rows: [
          [
            kb.toFixed(1),
            percent(idle),
            percent(renewing),
            percent(postgres),
            `${p50.toFixed(1)} ms`,
            `${p99.toFixed(1)} ms`,
          ],
        ],
        note: `server idle: of a core, while all wait. asked again: while each is answered with nothing after ${waitMs / 1_000} s and sent again.`,
      },
    ],
    verdicts: [
      atMost({ name: 'idle-claims: waiting, of a core', limit: 1, found: idle * 100, unit: ' %' }),
      atMost({ name: 'idle-claims: memory of one', limit: 20, found: kb, unit: ' kB' }),
    ],
    figures: { size, kb, idle, renewing, postgres, p50, p99 },
  };
}
