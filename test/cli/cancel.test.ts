import { expect, it } from 'vitest';
import { unknownJob, useServer } from '../support/use-server.ts';
import { run, startOnTerminal } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });

it('cancel ends a job and all below it, and says how many items were pending', async () => {
  const { id } = await server.client.createJob({
    type: 'cancelled',
    items: Array(1_000).fill({}),
    children: [{ type: 'below' }],
  });
  expect(await run(['cancel', id], env())).toEqual({
    code: 0,
    stdout: 'Cancelled: 1,000 items were pending.\n',
    stderr: '',
  });
  const job = await server.client.job(id);
  expect(job.cancelledAt).not.toBeNull();
  expect(job.progress).toMatchObject({ status: 'CANCELLED', cancelled: 1_000 });

  // Once more changes nothing.
  expect((await run(['cancel', id], env())).stdout).toBe('Cancelled: 1,000 items were pending.\n');
  const json = await run(['cancel', id, '--json'], env());
  expect(JSON.parse(json.stdout)).toEqual({ jobId: id, cancelledItems: 1_000 });
});

it('delete removes a whole tree, and requires its root', async () => {
  const { id } = await server.client.createJob({
    type: 'deleted',
    items: [{}],
    children: [{ type: 'below' }],
  });
  const child = (await server.client.job(id)).children[0]?.id ?? '';
  const refused = await run(['delete', child], env());
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(/^jobtree: .* is not a root/);

  expect(await run(['delete', id], env())).toEqual({ code: 0, stdout: 'Deleted.\n', stderr: '' });
  expect((await run(['watch', id], env())).code).toBe(4);
  expect((await run(['delete', id], env())).code).toBe(4);

  const another = await server.client.createJob({ type: 'deleted' });
  const json = await run(['delete', another.id, '--json'], env());
  expect(JSON.parse(json.stdout)).toEqual({ jobId: another.id });
});

it.each(['cancel', 'delete'])("%s says at once what it can't do", async (command) => {
  const cases: [string[], number, string][] = [
    [[unknownJob], 4, 'There is no'],
    [['17'], 2, '17'],
    [[], 2, `Say what to ${command}: give the id of a job, or at least one option`],
    [[unknownJob, '--type', 'x'], 2, 'not both'],
  ];
  for (const [args, code, message] of cases) {
    const ended = await run([command, ...args], env());
    expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code, stdout: '' });
    expect(ended.stderr).toContain(message);
  }
});

const createMany = async (type: string, count: number) => {
  for (let n = 0; n < count; n++) await server.client.createJob({ type, sealed: true, items: [{}] });
};

it('cancel ends all trees that match its options, and passes by what is complete', async () => {
  const { client } = server;
  await createMany('all-cancelled', 3);
  const [held] = await client.claimItems('w', [{ type: 'all-cancelled', limit: 1 }]);
  await client.reportOutcomes([{ assignmentId: held?.id ?? '', result: 1 }]);
  const jobs = { filter: { types: ['all-cancelled'], wholeTrees: true } };
  await expect
    .poll(() => client.jobCount({ filter: { ...jobs.filter, outcomes: ['SUCCEEDED'] } }))
    .toEqual({ count: 1, since: null });
  expect(await run(['cancel', '--type', 'all-cancelled'], env())).toEqual({
    code: 0,
    stdout: 'Cancelled 2 trees.\n',
    stderr: '',
  });
  await expect
    .poll(async () => (await client.jobs(jobs)).nodes.map(({ progress }) => progress.outcome))
    .toEqual(['CANCELLED', 'CANCELLED', 'SUCCEEDED']);
  const { stdout } = await run(['cancel', '--type', 'all-cancelled', '--json'], env());
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'CANCEL_TREES', total: 0, done: 0, status: 'FINISHED' });
});

it('on a terminal, deleting trees that match asks for confirmation, with their number', async () => {
  const { client } = server;
  await createMany('all-deleted', 2);
  const filter = { types: ['all-deleted'] };
  const refused = startOnTerminal(['delete', '--type', 'all-deleted'], server.env);
  await refused.printed('Delete 2 trees? [y/N]');
  refused.process.stdin.write('n\n');
  expect((await refused.ended).code).toBe(1);
  expect(await client.jobCount({ filter })).toMatchObject({ count: 2 });
  const sure = startOnTerminal(
    ['delete', '--type', 'all-deleted', '--status', 'waiting', '--yes'],
    server.env,
  );
  expect((await sure.ended).stdout).toContain('Deleted 2 trees.');
  await expect.poll(() => client.jobCount({ filter })).toMatchObject({ count: 0 });
});
