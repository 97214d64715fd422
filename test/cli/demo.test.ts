import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { data } from '../support/api.ts';
import { freePort } from '../support/ports.ts';
import { makeFolder } from './folder.ts';
import { start, startOnTerminal } from './program.ts';

it('the demo leaves a shop to look at, says where, and takes back what would go on without it', {
  timeout: 120_000,
}, async () => {
  const port = await freePort();
  const env = {
    DATABASE_URL: undefined,
    JOBTREE_DATA_DIR: join(await makeFolder(), 'data'),
    JOBTREE_PORT: String(port),
  };
  const program = start(['demo'], env);
  const at = `http://127.0.0.1:${port}`;
  await program.printed(/3\. A shop.*\/dashboard\/\s/s);
  expect(program.output.stdout).toContain(`${at}/dashboard/`);
  const shop = async () =>
    data(
      `${at}/graphql`,
      `{ deadLetterGroups { code } serializeKeys { key blocked } schedules { nodes { name nextAt } }
         queue(type: "sendNewsletter") { paused ready } jobs(filter: { types: ["chargeOrder"] }) { nodes { progress { succeeded completedAt } } } }`,
    );
  await expect
    .poll(async () => (await shop()).deadLetterGroups.map(({ code }: { code: string }) => code).toSorted(), {
      timeout: 60_000,
    })
    .toEqual(['CARD_DECLINED', 'NO_ADDRESS', 'TIMEOUT']);
  const found = await shop();
  expect(found.serializeKeys.find(({ key }: { key: string }) => key === 'acme').blocked).toBeGreaterThan(0);
  expect(found.schedules.nodes).toMatchObject([{ name: 'nightly-report' }]);
  expect(found.queue).toEqual({ paused: true, ready: 4 });
  const { succeeded, completedAt } = found.jobs.nodes[0].progress;
  expect(succeeded).toBeGreaterThan(0);
  expect(completedAt).toBeNull();
  program.process.kill('SIGINT');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /\nStopping\. The jobs of the demo stay in Postgres \(embedded, data in .*\/data\)\.\n$/,
  );
});

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
