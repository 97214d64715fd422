/** A worker that does as its payloads say: `worker.ts URL CONCURRENCY POLL_SECONDS STOP_SECONDS TYPE`. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createClient,
  PermanentError,
  RetryAfterError,
  SnoozeError,
  Worker,
} from '../../src/client/index.ts';

interface Payload {
  readonly sleepMs?: number;
  readonly untilUnwanted?: boolean;
  readonly snoozeMs?: number;
  readonly retryAfterMs?: number;
  readonly tellLast?: boolean;
  readonly failures?: number;
  readonly permanent?: boolean;
  readonly result?: unknown;
}

const [url = '', concurrency = '', poll = '', stop = '', type = ''] = process.argv.slice(2);
const snoozed = new Set<string>();
const client = createClient({ url });
const worker = new Worker({
  client,
  pollIntervalMs: Number(poll) * 1_000,
  stopTimeoutMs: Number(stop) * 1_000,
  types: {
    [type]: {
      concurrency: Number(concurrency),
      claimAhead: false,
      handler: async (payload, { signal, attempt, lastAttempt, key }) => {
        console.log('begun');
        const { sleepMs, untilUnwanted, failures = 0, permanent, result, ...more } = payload as Payload;
        if (sleepMs !== undefined) {
          await delay(sleepMs);
          console.log('ended');
        }
        if (untilUnwanted) {
          if (!signal.aborted) await once(signal, 'abort');
          throw new Error('It is of no use.');
        }
        const { snoozeMs, retryAfterMs, tellLast } = more;
        if (snoozeMs !== undefined && !snoozed.has(key)) {
          snoozed.add(key);
          throw new SnoozeError(snoozeMs);
        }
        if (retryAfterMs !== undefined && attempt === 1)
          throw new RetryAfterError('It is too much.', { retryAfterMs });
        if (tellLast && !lastAttempt) throw new Error('There is another one.');
        if (tellLast) return attempt;
        if (attempt <= failures) throw new Error('It fails.');
        if (permanent) throw new PermanentError('It is no use.');
        return result;
      },
    },
  },
});
worker.on('failed', () => {});
worker.on('disconnected', () => {});
await worker.run();
await client.close();
