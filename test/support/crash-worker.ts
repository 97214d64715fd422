/** A worker in a process of its own: `crash-worker.ts URL TYPE LOG`. It notes every row it works on in a file. */
import { appendFileSync } from 'node:fs';
import { Worker } from '../../src/client/index.ts';

const [url = '', type = '', log = ''] = process.argv.slice(2);
const worker = new Worker({
  url,
  types: {
    [type]: {
      concurrency: 200,
      handler: async (payload) => {
        const { row } = payload as { row: string };
        appendFileSync(log, `${row}\n`);
        return { row: Number(row), square: Number(row) ** 2 };
      },
    },
  },
});
process.on('SIGTERM', () => void worker.stop().then(() => process.exit(0)));
await worker.start();
