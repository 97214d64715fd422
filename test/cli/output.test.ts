/** Types, names, keys and messages of strangers do nothing to the terminal of whoever looks at them. */
import { expect, it } from 'vitest';
import { useServer } from '../support/use-server.ts';
import { run, startOnTerminal } from './program.ts';

const server = useServer();
/** A title, a bell, a cleared screen, a colour by one character, text from right to left, a line of its own. */
const hostile = 'x\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u2028\nfake: 0 failed';
const escaped = String.raw`x\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e`;
const forbidden = ['\u001b]', '\u0007', '\u001b[2J', '\u009b', '\u202e', '\u2028', '\nfake'];

function check(command: string, text: string): void {
  expect([command, forbidden.filter((one) => text.includes(one))]).toEqual([command, []]);
}

it('text from strangers is escaped', async () => {
  const { client, env } = server;
  const items = [{ payload: hostile, serializeKey: hostile }, { payload: 1 }];
  const spec = { type: hostile, items, sealed: true, maxFailuresPerItem: 0 };
  const { id } = await client.createJob({ ...spec, children: [{ type: `${hostile}2`, feed: {} }] });
  await client.queues.set(hostile, { concurrency: 5 });
  const script = 'printf "%b" "\\033]0;owned\\007\\033[2J\\nfake: 0 failed\\302\\23331m" >&2; exit 100';
  const args = ['work', hostile, '--name', hostile, '--stop-when-idle', '0.5', '--', 'sh', '-c', script];
  const worked = await run(args, { env });
  expect(worked.stderr).toContain(String.raw`EXIT_100: \u001b]0;owned`);
  check('work', worked.stderr);

  const commands = [
    ['jobs', '--all'],
    ['queues'],
    ['queue', hostile],
    ['keys'],
    ['dead-letters'],
    ['top', '--once'],
    ['watch', id],
    ['watch', id, '--tree'],
    ['jobs', '--json'],
    ['dead-letters', '--json'],
    ['results', `${id}\u001b[2J`],
    ['no-such-\u001b[2J-command'],
  ];
  for (const command of commands) {
    const { stdout, stderr } = await run(command, { env });
    check(command.join(' '), stdout + stderr);
    if (command.includes('--json'))
      for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ type: hostile });
  }
  expect((await run(['jobs'], { env })).stdout).toContain(escaped);
  for (const command of [['watch', id], ['jobs']]) {
    const { stdout } = await startOnTerminal(command, env).ended;
    check(`${command.join(' ')}, on a terminal`, stdout);
  }
});

it('payloads and results are escaped', async () => {
  const { client, env } = server;
  const { id } = await client.createJob({ type: 'cat', items: [{ payload: hostile }], sealed: true });
  await run(['work', 'cat', '--verbose', '--stop-when-idle', '0.5', '--', 'cat'], { env });
  await expect.poll(async () => (await client.job(id)).progress.succeeded).toBe(1);
  const { stdout } = await run(['results', id], { env });
  check('results', stdout);
  expect(JSON.parse(stdout)).toMatchObject({ payload: hostile, result: hostile });
  for (const command of [
    ['results', id],
    ['results', id, '--json'],
    ['items', id],
  ])
    check(command.join(' '), (await startOnTerminal(command, { ...env, NO_COLOR: '1' }).ended).stdout);
});
