/**
 * A worker in a process of its own: `stopping-worker.ts URL TYPE`. Its handler takes until standard input ends; then the
 * worker stops, and nothing may keep the process alive.
 */
import { once } from 'node:events';
import { Worker } from '../../src/client/index.ts';

const [url = '', type = ''] = process.argv.slice(2);
const inputEnded = once(process.stdin.resume(), 'end');
const worker = new Worker({
  url,
  types: { [type]: { concurrency: 1, handler: () => inputEnded.then(() => null) } },
  stopTimeoutMs: 200,
});
worker.on('claimed', () => console.log('claimed'));
worker.on('connected', () => worker.on('connected', () => console.log('connected')));
worker.on('disconnected', () => console.log('disconnected'));
worker.on('error', (error) => console.log(`error: ${(error as Error).message}`));
worker.on('stopped', () => console.log('stopped'));
await worker.start();
await inputEnded;
await worker.stop();
