/** What the log says of items: which they are, and why one failed. What is in them only where a setting says so. */
import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { createApp } from '../../src/server/create-app.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();

type Line = Record<string, unknown> & { msg: string };

/** A logger at its most talkative, and its lines. */
function recording(): { logger: pino.Logger; linesOf: (msg: string) => Line[] } {
  const lines: Line[] = [];
  const logger = pino({ level: 'debug' }, { write: (text: string) => void lines.push(JSON.parse(text)) });
  return { logger, linesOf: (msg) => lines.filter((line) => line.msg === msg) };
}

/** A server and a client, and two items of a job: one that succeeds, and one that fails for good. */
async function workOn(env: Record<string, string>, logger: pino.Logger) {
  const app = await createApp({
    config: readConfig({ JOBTREE_PORT: '0', ...env }),
    databaseUrl: db.url,
    logger,
  });
  const client = createClient({ url: app.url });
  onTestFinished(async () => {
    await client.close();
    await app.close();
  });
  const items = [{ payload: 'secret payload' }, { payload: 'bad payload' }];
  const { id } = await client.createJob({ type: 'logged', items, sealed: true, maxFailuresPerItem: 0 });
  const [good, bad] = await client.claimItems('w', [{ type: 'logged', limit: 2 }]);
  if (good === undefined || bad === undefined) throw new Error('There is nothing to claim.');
  await client.reportOutcomes([
    { assignmentId: good.id, result: 'secret result' },
    { assignmentId: bad.id, failure: { code: 'BAD_ROW', message: 'It is bad.' } },
  ]);
  return { id, good, bad, app };
}

describe('the server', () => {
  it('logs each item that starts, ends and fails, without payloads', async () => {
    const { logger, linesOf } = recording();
    const { id, good, bad } = await workOn({}, logger);
    const rawId = (globalId: string) => globalId.slice(globalId.indexOf(':') + 1);
    expect(linesOf('item started')).toMatchObject(
      [good, bad].map((one) => ({
        assignmentId: rawId(one.id),
        itemId: rawId(one.itemId),
        jobId: rawId(id),
        type: 'logged',
        attempt: 1,
        worker: 'w',
      })),
    );
    expect(linesOf('item reported')).toMatchObject([
      { assignmentId: rawId(good.id), status: 'ACCEPTED' },
      { assignmentId: rawId(bad.id), status: 'ACCEPTED', failure: 'BAD_ROW' },
    ]);
    expect(linesOf('item failed')).toMatchObject([
      {
        type: 'logged',
        jobId: rawId(id),
        itemId: rawId(bad.itemId),
        attempt: 1,
        worker: 'w',
        code: 'BAD_ROW',
        message: 'It is bad.',
        final: true,
        items: 1,
      },
    ]);
    for (const msg of ['item started', 'item reported', 'item failed'])
      expect(JSON.stringify(linesOf(msg))).not.toMatch(/secret|bad payload/);
  });

  it('with JOBTREE_LOG_PAYLOADS shows payloads and results', async () => {
    const { logger, linesOf } = recording();
    await workOn({ JOBTREE_LOG_PAYLOADS: 'true' }, logger);
    expect(JSON.stringify(linesOf('item started'))).toContain('secret payload');
    expect(JSON.stringify(linesOf('item reported'))).toContain('secret result');
  });
});

it('a worker logs starts, failures with their reasons, and all other outcomes', async () => {
  const { logger, linesOf } = recording();
  const { app } = await workOn({}, pino({ level: 'silent' }));
  const client = createClient({ url: app.url });
  const worker = new Worker({
    client,
    name: 'talker',
    logger,
    types: {
      told: {
        concurrency: 2,
        handler: (payload) => {
          if (payload === 'bad') throw Object.assign(new Error('It is bad.'), { code: 'BAD_ROW' });
          return 'secret result';
        },
      },
    },
  });
  const items = [{ payload: 'good' }, { payload: 'bad' }];
  const job = await client.createJob({ type: 'told', items, sealed: true, maxFailuresPerItem: 0 });
  await worker.start();
  onTestFinished(async () => {
    await worker.stop();
    await client.close();
  });
  for await (const progress of client.watchJob(job.id)) if (progress.status === 'COMPLETED') break;
  await expect.poll(() => linesOf('item failed')).toHaveLength(1);
  await expect.poll(() => linesOf('item succeeded')).toHaveLength(1);
  const about = { worker: 'talker', jobId: job.id, type: 'told', attempt: 1 };
  expect(linesOf('worker connected')).toMatchObject([{ worker: 'talker' }]);
  expect(linesOf('item started')).toMatchObject([about, about]);
  expect(linesOf('item failed')).toMatchObject([{ ...about, code: 'BAD_ROW', reason: 'It is bad.' }]);
  expect(JSON.stringify(linesOf('item succeeded'))).not.toContain('secret');
});
