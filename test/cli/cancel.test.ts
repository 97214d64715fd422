import { expect, it } from 'vitest';
import { run } from './program.ts';
import { unknownJob, useServer } from './setup.ts';

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
    [[], 2, "missing required argument 'id'"],
  ];
  for (const [args, code, message] of cases) {
    const ended = await run([command, ...args], env());
    expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code, stdout: '' });
    expect(ended.stderr).toContain(message);
  }
});
