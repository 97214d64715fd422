/** A worker that does as its payloads say: `worker.ts URL CONCURRENCY POLL_SECONDS STOP_SECONDS TYPE`. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, PermanentError, Worker } from '../../src/client/index.ts';

interface Payload {
  readonly sleepMs?: number;
  readonly untilUnwanted?: boolean;
  readonly failures?: number;
  readonly permanent?: boolean;
  readonly result?: unknown;
}

const [url = '', concurrency = '', poll = '', stop = '', type = ''] = process.argv.slice(2);
const client = createClient({ url });
const worker = new Worker({
  client,
  pollIntervalMs: Number(poll) * 1_000,
  stopTimeoutMs: Number(stop) * 1_000,
  types: {
    [type]: {
      concurrency: Number(concurrency),
      claimAhead: false,
      handler: async (payload, { signal, attempt }) => {
        console.log('begun');
        const { sleepMs, untilUnwanted, failures = 0, permanent, result } = payload as Payload;
        if (sleepMs !== undefined) {
          await delay(sleepMs);
          console.log('ended');
        }
        if (untilUnwanted) {
          if (!signal.aborted) await once(signal, 'abort');
          throw new Error('It is of no use.');
        }
        if (attempt <= failures) throw new Error('It fails.');
        if (permanent) throw new PermanentError('It is no use.');
        return result;
      },
    },
  },
});
worker.on('failed', () => {});
worker.on('disconnected', () => {});
process.once('SIGTERM', () => {
  void worker.stop().then(() => client.close());
});
await worker.start();
