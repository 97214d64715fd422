/** `jobtree queue` and `queues`, and the examples of docs/queues.md as they stand there. */
import { transform } from 'esbuild';
import { expect, it } from 'vitest';
import type { Client } from '../../src/client/index.ts';
import { data } from '../support/api.ts';
import { example } from '../support/documentation.ts';
import { useServer } from '../support/use-server.ts';
import { run } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });
const documented = (name: string) => example('queues.md', name);

it('queue sets what its options name, and shows it; queues lists it', async () => {
  await server.client.createJob({ type: 'letters', items: Array(1_234).fill({}).slice(0, 1_000) });
  const lines = [
    'letters: 1,000 ready, 0 scheduled, 0 retrying, 0 waiting, 0 blocked, 0 running',
    'limits: paused, 5 at once, 100 in 10s, expires after 90m',
    'new jobs, priority: 0',
    'new jobs, failures per item: 7',
    'new jobs, backoff: 500ms, 2s',
    'new jobs, backoff jitter: 0.2',
    'new jobs, heartbeat: 5s',
    '',
  ];
  const options =
    '--pause --concurrency 5 --rate 100/10s --lifetime 1.5h --priority 0 --max-failures 7 --backoff 500ms,2s --backoff-jitter 0.2';
  const args = ['queue', 'letters', ...options.split(' '), '--heartbeat-interval', '5s'];
  expect(await run(args, env())).toEqual({ code: 0, stdout: lines.join('\n'), stderr: '' });
  const listed = (await run(['queues'], env())).stdout;
  expect(listed).toBe(
    'TYPE     READY  SCHEDULED  RETRYING  WAITING  BLOCKED  RUNNING  REMARKS\n' +
      'letters  1,000          0         0        0        0        0  no worker, paused, 5 at once, 100 in 10s, expires after 90m\n',
  );

  const none = [
    '--resume',
    ...['concurrency', 'rate', 'lifetime', 'priority', 'max-failures', 'backoff', 'backoff-jitter'].flatMap(
      (name) => [`--${name}`, 'none'],
    ),
  ];
  expect((await run(['queue', 'letters', ...none], env())).stdout).toBe(
    'letters: 1,000 ready, 0 scheduled, 0 retrying, 0 waiting, 0 blocked, 0 running\nlimits: none\nnew jobs, heartbeat: 5s\n',
  );
  const json = await run(['queue', 'letters', '--json'], env());
  expect(JSON.parse(json.stdout)).toMatchObject({
    type: 'letters',
    ready: 1_000,
    heartbeatIntervalMs: 5_000,
    rate: null,
  });
  const all = await run(['queues', '--json'], env());
  expect(
    all.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type),
  ).toEqual(['letters']);
});

it.each([
  [['--concurrency', '0'], 2, 'from 1 to 1000000'],
  [['--rate', '100'], 2, '100/10s'],
  [['--rate', '0/10s'], 2, 'rate.limit'],
  [['--rate', '1/0s'], 2, 'rate.intervalMs'],
  [['--rate', '1/25h'], 2, 'rate.intervalMs'],
  [['--lifetime', '0'], 2, 'lifetimeMs'],
  [['--pause', '--resume'], 2, "can't be combined with"],
  [[], 2, 'type'],
])('queue refuses %j', async (options, code, message) => {
  const ended = await run(['queue', options.length === 0 ? '' : 'refused', ...options], env());
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: '' });
  expect(ended.stderr).toContain(message);
});

it('the documented examples work as described', async () => {
  const { client } = server;
  const settings = () => client.queues.get('sendMail');
  const { code } = await transform(
    `export default async (client) => {${documented('settings-ts')} return { ready, running }; }`,
    { loader: 'ts' },
  );
  const { default: act } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    default: (client: Client) => Promise<unknown>;
  };
  expect(await act(client)).toEqual({ ready: 0, running: 0 });
  const limited = {
    paused: false,
    concurrency: 5,
    rate: { limit: 100, intervalMs: 10_000 },
    maxFailuresPerItem: 5,
  };
  expect(await settings()).toMatchObject({ ...limited, lifetimeMs: 3_600_000 });

  await client.queues.set('sendMail', {
    concurrency: null,
    rate: null,
    lifetimeMs: null,
    maxFailuresPerItem: null,
  });
  const [set = '', ...others] = documented('settings-sh').trim().split('\n');
  const commands = [set, ...others].map((line) => line.split(' ').slice(1));
  expect((await run(commands[0] ?? [], env())).code).toBe(0);
  expect(await settings()).toMatchObject({ ...limited, lifetimeMs: 3_600_000 });
  for (const command of commands.slice(1)) expect((await run(command, env())).code).toBe(0);
  expect(await settings()).toMatchObject({ ...limited, rate: null });

  const answer = await data(server.url, documented('settings-graphql'));
  expect(answer.setQueue.queue).toEqual({
    paused: false,
    concurrency: 5,
    rate: limited.rate,
    ready: 0,
    running: 0,
  });
  expect(await settings()).toMatchObject({ lifetimeMs: null });

  const [pause = '', resume = ''] = documented('settings-sql').trim().split('\n');
  await server.db.query(pause);
  expect(await settings()).toMatchObject({ ...limited, paused: true });
  await server.db.query(resume);
  expect(await settings()).toMatchObject({ ...limited, rate: null });
});

it('queue warns about an unknown type, which may be misspelt', async () => {
  const remark = 'No job and no worker of the type mial is known. Is it spelled right?\n';
  expect(await run(['queue', 'mial', '--pause'], env())).toMatchObject({ code: 0, stderr: remark });
  await server.client.createJob({ type: 'mial' });
  expect((await run(['queue', 'mial', '--resume'], env())).stderr).toBe('');
});
