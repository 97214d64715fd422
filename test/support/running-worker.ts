/**
 * A worker that is a program: `running-worker.ts URL TYPE STOP_TIMEOUT_MS`. A handler ends when its payload says so: at the end of standard input, when it is aborted, or
 * never.
 */
import { once } from 'node:events';
import { Worker } from '../../src/client/index.ts';

const [url = '', type = '', stopTimeoutMs = ''] = process.argv.slice(2);
const inputEnded = once(process.stdin.resume(), 'end');
const worker = new Worker({
  url,
  types: {
    [type]: {
      concurrency: 1,
      handler: async (payload, { signal }) => {
        if (payload === 'input') await inputEnded;
        if (payload === 'abort') await once(signal, 'abort');
        if (payload === 'never') await new Promise(() => setInterval(() => {}, 1_000));
        return null;
      },
    },
  },
  stopTimeoutMs: Number(stopTimeoutMs),
});
worker.on('claimed', () => console.log('claimed'));
worker.on('aborted', (_, code) => console.log(`aborted: ${code}`));
worker.on('disconnected', () => {});
worker.on('error', (error) => console.log(`error: ${(error as Error).message}`));
await worker.run();
console.log('stopped');
