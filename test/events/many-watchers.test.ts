/** Many who come at once, as after a restart, cost a few queries and not one each; those who come back cost none. */
import pino from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Hub } from '../../src/events/hub.ts';
import { newType, useEngine } from '../support/engine.ts';

const ours = useEngine();
const trees = 100;
const watchersOfEach = 100;

it(`${trees * watchersOfEach} watchers of ${trees} trees at once cost some dozen queries, and none when they return`, async () => {
  const type = newType();
  const jobs = await Promise.all(
    Array.from({ length: trees }, async () => (await ours.create({ type }))[type] as string),
  );
  const { database } = ours.engine;
  const hub = new Hub({
    database,
    // Every message arrives anyway.
    transport: { join: async () => {}, leave: () => {} },
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => hub.close());
  const queries = vi.spyOn(database.pool, 'query');

  const watch = async (jobId: string) => {
    const live = await hub.watchJob((await hub.rootOf(jobId)) ?? '', jobId, 100);
    if (live === undefined) throw new Error(`There is no job ${jobId}.`);
    await live.next();
    return live;
  };
  const everybody = () =>
    Promise.all(jobs.flatMap((jobId) => Array.from({ length: watchersOfEach }, () => watch(jobId))));

  const lives = await everybody();
  expect(queries.mock.calls.length).toBeLessThanOrEqual(50);
  await Promise.all(lives.map((live) => live.return()));
  queries.mockClear();
  await Promise.all((await everybody()).map((live) => live.return()));
  expect(queries).not.toHaveBeenCalled();
});
