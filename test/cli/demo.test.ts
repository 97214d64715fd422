import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder } from './folder.ts';
import { startOnTerminal } from './program.ts';

it('the demo succeeds on a terminal, on a free port if its own is taken', {
  timeout: 60_000,
}, async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const env = {
    DATABASE_URL: undefined,
    JOBTREE_DATA_DIR: join(await makeFolder(), 'data'),
    JOBTREE_PORT: String(port),
  };
  const { code, stdout } = await startOnTerminal(['demo', '--exit'], env).ended;
  await new Promise((resolve) => other.close(resolve));
  expect(stdout).toContain(`Port ${port} is in use`);
  expect(stdout).toMatch(
    /Pay Ada \$5,270\.00.*Grace was tried again.*3,376 results.*Everything came out right\.\s*$/s,
  );
  expect(stdout).toMatch(/█░+ {2}Job running, \d+% complete… {2}[\d,]+\/3,376/);
  expect(code).toBe(0);
});
