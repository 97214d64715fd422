/** What becomes of a kept connection while the program does not read from it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startProxy } from '../support/proxy.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();

it('a call does not meet the connection that the server closed while the program was busy', async () => {
  const proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
  const program = fileURLToPath(new URL('../support/busy-caller.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', program, proxy.url, 'busy'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('called');
  proxy.cut();
  proxy.mend();
  child.stdin.end('\n');
  expect((await lines.next()).value).toBe('created');
  await ended;
});
