/** `jobtree callbacks` and `callback`, and the examples of docs/callbacks.md as they stand there. */
import { expect, it } from 'vitest';
import type { CallbackDelivery } from '../../src/client/index.ts';
import { example } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';
import { makeFile } from './folder.ts';
import { run } from './program.ts';

const server = useServer();

/** Runs an example, and compares what each command prints with what stands there, up to `…`. */
async function runExample(name: string, ids: Record<string, string> = {}): Promise<string[]> {
  const outputs: string[] = [];
  const file = await makeFile('months.txt', '2026-10\n2026-11\n');
  for (const [, command = '', documented = ''] of example('callbacks.md', name).matchAll(
    /^\$ jobtree (.*)\n((?:(?!\$).*\n)*)/gm,
  )) {
    const args = command.split(' ').map((word) => ids[word] ?? word.replace('months.txt', file));
    const { code, stdout, stderr } = await run(args, { env: server.env });
    expect({ command, code, stderr: command.startsWith('import') ? '' : stderr }).toEqual({
      command,
      code: 0,
      stderr: '',
    });
    const [said = ''] = documented.split('…');
    expect(stdout.startsWith(said)).toBe(true);
    outputs.push(stdout);
  }
  return outputs;
}

const delivery = async (): Promise<CallbackDelivery> => {
  const [found] = (await server.client.callbacks.deliveries()).nodes;
  if (found === undefined) throw new Error('There is none yet.');
  return found;
};

it('an endpoint is created, a job calls it, and its deliveries are listed', async () => {
  const [secret, , imported, , rotated] = await runExample('cli');
  expect(secret).toMatch(/^whsec_\S{44}\n$/);
  expect(rotated).not.toBe(secret);
  const [endpoint] = await server.client.callbacks.endpoints();
  expect(Date.parse(endpoint?.previousSecretUntil ?? '') - Date.now()).toBeLessThanOrEqual(7_200_000);
  await server.client.cancelJob(imported?.trim() ?? '');
  const { id } = await eventually(delivery);
  await server.db.query(`update jobtree.callback_delivery set due_at = null, failed_at = now()`);

  const [list, shown] = await runExample('failed', { 'CallbackDelivery:0199…': id });
  expect(list?.split('\n')[1]).toMatch(
    new RegExp(`^${id} {2}\\S{10} \\S{5} {2}failed {2}reports {3}tree_\\S+_1$`),
  );
  expect(shown).toContain('"outcome":"CANCELLED"');
  expect((await delivery()).failedAt).toBe(null);

  const shell = example('callbacks.md', 'alert-sh').trim().split(' ').slice(1);
  expect((await run(shell, { env: server.env })).stdout).toContain(
    'alert: reports, with 10 dead letters in 5m\n',
  );
  const none = await run(['queue', 'parse', '--alert', 'none', '--json'], { env: server.env });
  expect(JSON.parse(none.stdout)).toMatchObject({ deadLetterAlert: null });
});

it('an endpoint that is put again keeps its secret, and a deleted one is gone', async () => {
  const env = { env: server.env };
  const put = ['callback', 'put', 'twice', 'https://twice.invalid/'];
  expect((await run(put, env)).stdout).toMatch(/^whsec_/);
  expect((await run(put, env)).stdout).toBe(
    'The URL is now https://twice.invalid/. The secret has not changed.\n',
  );
  expect(JSON.parse((await run([...put, '--json'], env)).stdout)).toMatchObject({
    secret: null,
    endpoint: { name: 'twice' },
  });
  expect((await run(['callback', 'delete', 'twice'], env)).stdout).toBe('Deleted.\n');
  expect((await run(['callback', 'endpoints', '--json'], env)).stdout).not.toContain('twice');
});

it.each<[string[], number, string]>([
  [['callback', 'put', 'x', 'http://127.0.0.1/'], 2, 'is not a public address'],
  [['callback', 'put', 'x', 'mailto:a@b'], 2, 'must begin with https: or http:'],
  [['callback', 'rotate', 'nobody'], 4, 'There is no endpoint nobody'],
  [['callback', 'delete', 'nobody'], 4, 'There is no endpoint nobody'],
  [['callback', 'show', 'CallbackDelivery:00000000-0000-7000-8000-000000000000'], 4, 'There is no delivery'],
  [['callback', 'retry', 'CallbackDelivery:00000000-0000-7000-8000-000000000000'], 4, 'There is no delivery'],
  [['callback', 'retry', 'x'], 2, 'x'],
  [['callbacks', '--status', 'lost'], 2, '--status is "lost": allowed choices are'],
  [['callbacks', '--job', 'x'], 2, 'x'],
  [['queue', 'x', '--alert', 'nobody:1/1s'], 2, 'there is no endpoint of that name'],
  [['queue', 'x', '--alert', '100/5m'], 2, 'give an endpoint, a number and a time'],
])('%j is refused', async (args, code, message) => {
  const ended = await run(args, { env: server.env });
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: '' });
  expect(ended.stderr).toContain(message);
});
