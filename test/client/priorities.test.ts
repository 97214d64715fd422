/**
 * A worker among priorities: what is ready is found at once, however many priorities there are, since its poll may be far
 * away. PRIORITY_ITEMS makes it larger, and has it print how long each took.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { type Client, createClient, Worker } from '../../src/client/index.ts';
import { Database } from '../../src/db/database.ts';
import type { App } from '../../src/server/create-app.ts';
import { lastOf } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';

const itemCount = Number(process.env.PRIORITY_ITEMS ?? 300);
const priorityCounts = [1, 2, 32];
const concurrency = 5;
/** Two claims of all that may be at work and claimed ahead: what five handlers of 1 ms begin in 10 ms. */
const heldAtOnce = 2 * (concurrency + 10 * concurrency);

let db: TestDatabase;
let app: App;
let client: Client;
const tookMs = new Map<number, number>();

beforeAll(async () => {
  db = await createDatabase();
  app = await startServer(db.url);
  client = createClient({ url: app.url });
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await client.close();
  await app.close();
  await db.drop();
  if (process.env.PRIORITY_ITEMS === undefined) return;
  const one = tookMs.get(1) ?? Number.NaN;
  for (const [count, ms] of tookMs)
    console.log(
      `${itemCount} items, ${count} priorities: ${Math.round(ms)} ms, ${(ms / one).toFixed(2)} times as long`,
    );
});

/** Of each claim that goes to the database: how many claims had ended when it began, and what it got. */
function watchClaims() {
  const claims: { endedBefore: number; items: number; locked: boolean }[] = [];
  // On a busy machine a claim may be repeated, and gives the same leases again.
  const known = new Set<string | null>();
  const { call } = Database.prototype;
  vi.spyOn(Database.prototype, 'call').mockImplementation(async function (
    this: Database,
    name: string,
    ...values: unknown[]
  ) {
    const endedBefore = claims.length;
    const rows = await call.apply(this, [name, ...values]);
    // An exchange is reports, and then a claim.
    const requests = name === 'claim_items' ? values[1] : name === 'exchange' ? values[9] : [];
    if ((requests as string[]).length > 0) {
      const leases = rows as { lease_id: string | null; payloads: string | null; kind: string }[];
      const items = leases
        .filter(({ lease_id }) => !known.has(lease_id))
        .reduce((sum, { payloads }) => sum + (payloads?.split('\u001e').length ?? 0), 0);
      for (const { lease_id } of leases) known.add(lease_id);
      claims.push({ endedBefore, items, locked: leases.some(({ kind }) => kind === 'LOCKED') });
    }
    return rows as never;
  } as typeof call);
  return claims;
}

it.each(priorityCounts)('items of %i priorities are all found at once', async (priorities) => {
  const type = `priorities-${priorities}`;
  const { id } = await client.createJob({ type });
  const added = Array.from({ length: itemCount }, (_, i) => ({ payload: i, priority: i % priorities }));
  await client.addItems(id, added, { seal: true });
  const claims = watchClaims();
  const worker = new Worker({
    client,
    types: { [type]: { concurrency, handler: () => delay(1).then(() => null) } },
    pollIntervalMs: 3_600_000,
  });
  const order: number[] = [];
  worker.on('claimed', ({ payload }) => order.push((payload as number) % priorities));
  let released = 0;
  worker.on('released', () => released++);
  const startedAt = performance.now();
  await worker.start();
  expect(await lastOf(client.watchJob(id))).toMatchObject({ status: 'COMPLETED', succeeded: itemCount });
  tookMs.set(priorities, performance.now() - startedAt);
  await worker.stop();

  expect(claims.reduce((sum, { items }) => sum + items, 0)).toBe(itemCount + released);
  // On a busy machine the worker may give back what it claimed ahead: then the order says nothing.
  if (released > 0) return;
  // Nothing came back, so what a later claim got was ready before: no claim has missed it.
  const missed = claims.filter(
    ({ items, locked }, i) =>
      items === 0 && !locked && claims.some((later) => later.endedBefore > i && later.items > 0),
  );
  expect(missed).toEqual([]);
  // From the highest on; two claims under way may come back in either order.
  const disorder = order.filter((priority, i) => i >= heldAtOnce && priority > (order[i - heldAtOnce] ?? 0));
  expect(disorder).toEqual([]);
});
