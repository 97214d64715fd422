/** Loaded into a server: notes each time for which its event loop was blocked, in milliseconds, as a line of the file BLOCKS. */
import { appendFileSync } from 'node:fs';

const everyMs = 5;
const leastMs = 15;

let last = performance.now();
setInterval(() => {
  const now = performance.now();
  const blockedMs = Math.round(now - last - everyMs);
  if (blockedMs >= leastMs) appendFileSync(process.env.BLOCKS, `${blockedMs}\n`);
  last = now;
}, everyMs).unref();
