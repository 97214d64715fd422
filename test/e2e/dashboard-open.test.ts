/**
 * A page that stays open keeps nothing of what it has shown: 50 trees move, and after each round the page has shown all of them. OPEN_MINUTES=60 moves
 * them once a second for an hour, and says what the page holds and what the server's process takes meanwhile.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, CDPSession } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { data } from '../support/api.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const minutes = Number(process.env.OPEN_MINUTES ?? 0);
/** Each tree has an item for each; an hour may have fewer rounds, but not more. */
const rounds = minutes > 0 ? minutes * 60 : 36;
const treeCount = 50;
/** Looks at what is held: the first once everything has been shown for a while. */
const looks = 6;

describe.skipIf(withoutBrowser)('a page that stays open', () => {
  const db = useDatabase();
  let server: ServerProcess;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServerProcess(db.url), launchBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await server.end();
  });

  const types = Array.from({ length: treeCount }, (_, n) => `moving-${n}`);

  it('holds as much after many changes as after few', { timeout: 180_000 + minutes * 66_000 }, async () => {
    const client = createClient({ url: server.url });
    onTestFinished(() => client.close());
    const items = Array.from({ length: rounds }, () => ({ payload: null }));
    for (const type of types) await client.createJob({ type, items, sealed: true });
    const page = await browser.newPage({ viewport: { width: 1280, height: 2_600 } });
    await page.goto(new URL('dashboard/#/', server.url).href);
    const session = await page.context().newCDPSession(page);
    const held: ({ round: number; serverMs: number } & Awaited<ReturnType<typeof look>>)[] = [];
    const openedAt = performance.now();
    for (let round = 1; held.length < looks; round++) {
      const startedAt = performance.now();
      await moveAll(server.url);
      const words = `${round.toLocaleString('en')} of ${rounds.toLocaleString('en')} items`;
      const shown = () =>
        page.evaluate(
          (length) =>
            [...document.querySelectorAll('.words')].map(({ textContent }) => textContent?.slice(0, length)),
          words.length,
        );
      await expect
        .poll(shown, { timeout: 120_000, interval: 50 })
        .toEqual(Array.from({ length: treeCount }, () => words));
      if (minutes > 0) await delay(Math.max(0, 1_000 - (performance.now() - startedAt)));
      const done = minutes > 0 ? (performance.now() - openedAt) / (minutes * 60_000) : round / rounds;
      if (done >= (held.length + 1) / looks)
        held.push({ round, ...(await look(session)), serverMs: cpuMs(server.process.pid as number) });
    }
    if (minutes > 0) console.table(held);
    const [first, last] = [held[0], held.at(-1)] as [(typeof held)[0], (typeof held)[0]];
    expect(last.heapBytes).toBeLessThan(1.1 * first.heapBytes + 500_000);
    expect(last.nodes).toBeLessThan(first.nodes + 200);
    expect(last.listeners).toBeLessThan(first.listeners + 20);
    await page.close();
  });

  it('holds as much after 3,000 events of the list as after 1,500', { timeout: 240_000 }, async () => {
    const client = createClient({ url: server.url });
    onTestFinished(() => client.close());
    for (let n = 0; n < treeCount; n++)
      await client.createJob({ type: 'busy', items: [{ payload: null }], sealed: true });
    const page = await browser.newPage({ viewport: { width: 1280, height: 2_600 } });
    // What the server has said of the list, again and again with other figures. The rows are there before it.
    let resolve = (_: (event: number) => void) => {};
    const isTold = new Promise<(event: number) => void>((done) => {
      resolve = done;
    });
    await page.routeWebSocket('**/graphql', (socket) => {
      socket.connectToServer().onMessage((text) => {
        socket.send(text);
        const message = JSON.parse(String(text));
        const trees = message.payload?.data?.jobs?.jobs;
        if (trees?.length === treeCount)
          resolve((event) => {
            for (const tree of trees)
              Object.assign(tree.treeProgress, { percent: event, itemProgress: event });
            socket.send(JSON.stringify(message));
          });
      });
    });
    await page.goto(new URL('dashboard/#/?types=busy', server.url).href);
    const tell = await isTold;
    await page
      .getByRole('link', { name: 'busy' })
      .nth(treeCount - 1)
      .waitFor();
    const session = await page.context().newCDPSession(page);
    const heldAfter = async (from: number, until: number) => {
      for (let event = from; event <= until; event++) {
        tell(event);
        if (event % 25 === 0) await page.locator(`[aria-valuenow="${event}"]`).first().waitFor();
      }
      return look(session);
    };
    const few = await heldAfter(1, 1_500);
    const many = await heldAfter(1_501, 3_000);
    expect(many.heapBytes).toBeLessThan(few.heapBytes + 500_000);
    expect(many.nodes).toBeLessThan(few.nodes + 200);
    expect(many.listeners).toBeLessThan(few.listeners + 20);
    await page.close();
  });

  async function moveAll(url: string): Promise<void> {
    const { claimItems } = await data(
      url,
      `mutation ($requests: [ClaimRequestInput!]!) {
        claimItems(input: { worker: "test", requests: $requests }) { ... on ClaimItemsPayload { assignments { id } } }
      }`,
      { requests: types.map((type) => ({ type, limit: 1 })) },
    );
    await data(
      url,
      `mutation ($reports: [ReportInput!]!) {
        reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
      }`,
      {
        reports: claimItems.assignments.map(({ id }: { id: string }) => ({
          assignmentId: id,
          outcome: { success: { result: null } },
        })),
      },
    );
  }
});

async function look(session: CDPSession) {
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
  return { heapBytes: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') };
}

/** The CPU time of a process so far; elsewhere than on Linux, unknown. */
function cpuMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return Number.NaN;
  }
}
