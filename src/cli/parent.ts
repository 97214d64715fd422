/**
 * `kill` of npx or of `npm run` ends npm and its shell alone. What they started would go on unseen, and keep the port or the work: so it ends, too,
 * as with SIGTERM. A program that npm did not start goes on when its parent ends, as usual: with nohup, setsid or a supervisor.
 */
const checkMs = 1_000;

export function endWithNpm(): void {
  const parent = process.ppid;
  // One of several processes ends with the first of them anyway.
  if (process.env.npm_command === undefined || parent === 1 || process.connected) return;
  const checks = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(checks);
    console.error('jobtree: The npm that started this has ended, so this ends, too.');
    process.kill(process.pid, 'SIGTERM');
  }, checkMs).unref();
}
