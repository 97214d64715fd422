/** `jobtree retention`, `jobs --idle-since` and `import --retention`, and the examples of docs/retention.md as they stand there. */
import { transform } from 'esbuild';
import { expect, it } from 'vitest';
import type { Client } from '../../src/client/index.ts';
import { data } from '../support/api.ts';
import { example } from '../support/documentation.ts';
import { unknownJob, useServer } from '../support/use-server.ts';
import { run, startOnTerminal } from './program.ts';

const server = useServer({ JOBTREE_IDLE_SECONDS: '1', JOBTREE_RETENTION_SECONDS: '3600' });
const env = () => ({ env: server.env });
const documented = (name: string) => example('retention.md', name);

it('retention shows how long a tree is kept, and first sets what its options name', async () => {
  const { id } = await server.client.createJob({ type: 'kept' });
  const show = async (...options: string[]) =>
    (await run(['retention', id, ...options], env())).stdout.replace(/^Idle since .*\n/m, '');
  expect(await show()).toBe('Kept for 1h once it is complete.\n');
  expect(await show('--keep', '30d', '--idle-expiry', '2d')).toBe(
    'Kept for 30d once it is complete.\nCancelled when it has been idle for 2d.\n',
  );
  expect(await show('--keep', 'never', '--idle-expiry', 'never')).toBe('Kept forever.\n');
  expect(await show('--keep', '0')).toBe('Deleted as soon as it is complete.\n');
  await show('--keep', '1h');
  await server.client.sealJob(id);
  const json = JSON.parse(await show('--keep', '1h', '--json'));
  const { completedAt } = (await server.client.job(id)).progress;
  expect(json).toEqual({
    jobId: id,
    retentionSeconds: 3_600,
    reapAt: new Date(Date.parse(completedAt ?? '') + 3_600_000).toISOString(),
    idleExpirySeconds: null,
    idleSince: null,
  });
  expect(await show()).toBe(`Kept for 1h once it is complete, until ${json.reapAt}.\n`);
});

it('on a terminal a message is broken between words, and JSON is not', async () => {
  const { id } = await server.client.createJob({ type: 'narrow', sealed: true });
  const lines = async (...options: string[]) =>
    (await startOnTerminal(['retention', id, ...options], server.env, 40).ended).stdout.split('\r\n');
  expect(await lines()).toEqual([
    'Kept for 1h once it is complete, until',
    expect.stringMatching(/^\S+Z\.$/),
    '',
  ]);
  expect(await lines('--json')).toEqual([expect.stringMatching(/^\{.*\}$/), '']);
});

it.each([
  [unknownJob, ['--keep', '1h'], 4, 'NOT_FOUND'],
  [undefined, ['--keep', '11000d'], 2, 'retentionSeconds'],
  [undefined, ['--keep', '-1'], 2, 'give seconds'],
  [undefined, ['--idle-expiry', '0'], 2, 'idleExpirySeconds'],
  [undefined, ['--keep', 'long'], 2, 'give seconds'],
])('retention refuses %s %j', async (given, options, code, message) => {
  const id = given ?? (await server.client.createJob({ type: 'refused' })).id;
  const ended = await run(['retention', id, ...options], env());
  expect([ended.code, ended.stdout]).toEqual([code, '']);
  if (message !== 'NOT_FOUND') expect(ended.stderr).toContain(message);
});

it('import sets the retention of its job', async () => {
  const args = ['import', '-', '--format', 'lines', '--type', 'rows', '--retention', 'never', '--json'];
  const ended = await run(args, { ...env(), input: 'a\nb\n' });
  const { jobId } = JSON.parse(ended.stdout);
  expect((await server.client.job(jobId)).retentionSeconds).toBeNull();
});

it('jobs --idle-since lists trees that only wait for more items', async () => {
  const { id } = await server.client.createJob({ type: 'idle' });
  const list = async (since: string) =>
    (await run(['jobs', '--type', 'idle', '--idle-since', since, '--json'], env())).stdout;
  await expect.poll(() => list('0s'), { timeout: 20_000, interval: 200 }).toContain(id);
  expect(await list('1h')).toBe('');
  expect((await run(['retention', id], env())).stdout).toContain('Idle since 20');
});

it('the documented examples work as described', async () => {
  const { client } = server;
  const { code } = await transform(
    `export default async (client) => {${documented('retention-ts')} return { id, retentionSeconds, reapAt }; }`,
    { loader: 'ts' },
  );
  const { default: act } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    default: (client: Client) => Promise<{ id: string }>;
  };
  const made = await act(client);
  expect(made).toEqual({ id: expect.any(String), retentionSeconds: null, reapAt: null });

  for (const line of documented('retention-sh').trim().split('\n')) {
    const args = line.replace('$JOB', made.id).split(' ').slice(1);
    expect((await run(args, env())).code, line).toBe(0);
  }
  const days = 86_400;
  expect(await client.job(made.id)).toMatchObject({
    retentionSeconds: 30 * days,
    idleExpirySeconds: 2 * days,
  });

  const answer = await data(server.url, documented('retention-graphql'), { job: made.id });
  expect(answer.setRetention.job).toEqual({
    retentionSeconds: 30 * days,
    reapAt: null,
    idleExpirySeconds: 2 * days,
  });
  const idle = await data(server.url, documented('idle-graphql'), { now: new Date().toISOString() });
  expect(idle.jobs.nodes).toEqual(expect.any(Array));

  const [create = '', set = ''] = documented('retention-sql').trim().split('\n');
  const [row] = await server.db.query<{ job_id: string }>(create);
  const kept = () =>
    server.db.query('select retention_seconds as n from jobtree.tree where root_id = $1', [row?.job_id]);
  expect(await kept()).toEqual([{ n: 7_776_000 }]);
  await server.db.query(set);
  expect(await kept()).toEqual([{ n: -1 }]);
});
