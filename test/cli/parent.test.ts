/** What becomes of a server or a worker whose parent has gone. */
import { expect, it, onTestFinished } from 'vitest';
import { useServer } from '../support/use-server.ts';
import { startShell } from './program.ts';

const server = useServer();
const npm = { npm_command: 'exec', JOBTREE_PORT: '0' };

it.each([
  ['start', '"msg":"ready"'],
  ['demo', 'keeps running'],
  ['work t -- cat', 'Connected'],
])('%s that npm started ends with it', async (command, begun) => {
  const shell = startShell(`$JOBTREE ${command} & wait`, {
    ...server.env,
    ...npm,
    DATABASE_URL: server.db.url,
  });
  await shell.printed(begun);
  shell.process.kill('SIGKILL');
  // What it started has its pipes, until it ends.
  expect((await shell.ended).stderr).toContain('The npm that started this has ended, so this ends, too.');
});

it.each(['$JOBTREE work t --detach', 'env -u npm_command $JOBTREE work t'])(
  'goes on without its parent: %s',
  async (command) => {
    const script = `${command} -- cat & echo "pid $!"; $JOBTREE work other -- cat & wait`;
    const shell = startShell(script, { ...server.env, ...npm });
    await expect.poll(() => shell.output.stderr.match(/Connected/g)).toHaveLength(2);
    const pid = Number(/pid (\d+)/.exec(shell.output.stdout)?.[1]);
    onTestFinished(async () => {
      process.kill(pid, 'SIGTERM');
      await shell.ended;
    });
    shell.process.kill('SIGKILL');
    await shell.printed('so this ends, too');
    const { id } = await server.client.createJob({ type: 't', items: [{ payload: 1 }], sealed: true });
    for await (const { completedAt } of server.client.watchJob(id)) if (completedAt) break;
  },
);
