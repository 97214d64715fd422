/** Calls, is too busy to read anything until a line of standard input comes, and calls again: `busy-caller.ts URL TYPE`. */
import { readSync } from 'node:fs';
import { createClient } from '../../src/client/index.ts';

const [url = '', type = ''] = process.argv.slice(2);
const client = createClient({ url, retryMs: 0 });
await client.createJob({ type });
process.stdout.write('called\n');
readSync(0, Buffer.alloc(1));
const outcome = await client.createJob({ type }).then(() => 'created', String);
process.stdout.write(`${outcome}\n`);
await client.close();
