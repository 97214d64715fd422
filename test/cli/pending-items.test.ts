/** Pending items on the command line; the story is that of docs/pending-items.md, whose commands it runs. */
import { expect, it } from 'vitest';
import { example } from '../support/documentation.ts';
import { unknownJob, useServer } from '../support/use-server.ts';
import { run, runCommands, startOnTerminal } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });
const printed = (name: string) =>
  example('pending-items.md', name)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('$'))
    .map((line) => `${line}\n`);

it('pending items are cancelled by filters', async () => {
  const { client } = server;
  const runAt = new Date(Date.now() + 3_600_000);
  const { id } = await client.createJob({
    type: 'sendLetter',
    sealed: true,
    items: [{ dedupeKey: 'ada' }, { dedupeKey: 'grace' }, { payload: 1 }, ...Array(3).fill({ runAt })],
  });
  const [held] = await client.claimItems('w', [{ type: 'sendLetter', limit: 1 }]);
  const ids = { Job: id };
  expect(await runCommands(example('pending-items.md', 'cancel'), ids, server.env)).toEqual(
    printed('cancel'),
  );
  expect((await client.heartbeat([held?.id ?? ''])).map(({ status }) => status)).toEqual(['CANCELLED']);

  const [last] = (await client.items(id, { statuses: ['READY'] })).nodes;
  const items = { JobItem: last?.id ?? '' };
  expect(await runCommands(example('pending-items.md', 'update'), items, server.env)).toEqual(
    printed('update'),
  );
  const { stdout } = await run(
    ['update-item', items.JobItem, '--run-at', '2026-03-01T09:30:00Z', '--json'],
    env(),
  );
  expect(JSON.parse(stdout)).toMatchObject({
    id: items.JobItem,
    payload: { to: 'Ada' },
    priority: 0,
    runAt: '2026-03-01T09:30:00.000Z',
  });
  expect((await run(['work', 'sendLetter', '--stop-when-idle', '0.5', '--', 'cat'], env())).code).toBe(0);
  await expect
    .poll(async () => (await client.job(id)).progress)
    .toMatchObject({ outcome: 'SUCCEEDED', cancelled: 5, succeeded: 1 });

  const listed = await run(['jobs', '--outcome', 'succeeded'], env());
  expect(listed.stdout).toContain(id);
  expect((await run(['jobs', '--outcome', 'cancelled'], env())).stdout).not.toContain(id);
});

it('letters that failed while the post office was closed are tried now', async () => {
  const { client } = server;
  const type = 'sendLetter';
  const { id } = await client.createJob({
    type,
    backoffMs: [3_600_000],
    items: [{ payload: 1 }, { payload: 2 }, { payload: 3, runAt: new Date(Date.now() + 3_600_000) }],
  });
  const failure = { code: 'SMTP_DOWN', message: 'no' };
  for (const { id: assignmentId } of await client.claimItems('w', [{ type, limit: 9 }]))
    await client.reportOutcomes([{ assignmentId, failure }]);
  expect(await runCommands(example('pending-items.md', 'promote'), {}, server.env)).toEqual(
    printed('promote'),
  );
  expect((await client.claimItems('w', [{ type, limit: 9 }])).map(({ payload }) => payload)).toEqual([1, 2]);
  const { stdout } = await run(['promote-items', '--job', id, '--status', 'scheduled', '--json'], env());
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'PROMOTE', total: 1, done: 1 });
  expect((await client.claimItems('w', [{ type, limit: 9 }])).map(({ payload }) => payload)).toEqual([3]);
});

it('on a terminal, cancelling more than a few items asks for confirmation', async () => {
  const { id } = await server.client.createJob({ type: 'asked', items: Array(12).fill({}) });
  const refused = startOnTerminal(['cancel-items', '--job', id], server.env);
  await refused.printed('Cancel 12 items? [y/N]');
  refused.process.stdin.write('n\n');
  expect((await refused.ended).code).toBe(1);
  expect(await server.client.pendingItemCount({ jobId: id })).toBe(12);
  const sure = startOnTerminal(['cancel-items', '--job', id, '--yes'], server.env);
  expect((await sure.ended).stdout).toContain('Cancelled 12 items.');
  const later = { type: 'asked', items: Array(12).fill({ runAt: new Date(Date.now() + 3_600_000) }) };
  const { id: scheduled } = await server.client.createJob(later);
  const promoted = startOnTerminal(
    ['promote-items', '--job', scheduled, '--status', 'scheduled'],
    server.env,
  );
  await promoted.printed('Promote 12 items? [y/N]');
  promoted.process.stdin.write('y\n');
  expect((await promoted.ended).stdout).toContain('Promoted 12 items.');
});

it('replay says what waits for a retry if nothing has failed for good', async () => {
  const { id } = await server.client.createJob({ type: 'later', items: [{}, {}], backoffMs: [3_600_000] });
  const held = await server.client.claimItems('w', [{ type: 'later', limit: 2 }]);
  const failure = { code: 'EXIT_7', message: 'no' };
  await server.client.reportOutcomes(held.map((one) => ({ assignmentId: one.id, failure })));
  const { code, stdout, stderr } = await run(['replay', '--code', 'EXIT_7'], env());
  expect([code, stdout]).toEqual([0, 'Replayed 0 items.\n']);
  expect(stderr).toBe(
    'Nothing that matches has failed for good. 2 items that could match wait for a retry: `jobtree promote-items` with the same --code tries them now.\n',
  );
  const hint =
    '2 items failed and wait for a retry: `jobtree jobs --status running` lists the jobs, `jobtree items ID --status retrying` why.\n';
  expect(await run(['dead-letters', '--type', 'later'], env())).toMatchObject({ code: 0, stderr: hint });
  expect((await run(['dead-letters', '--type', 'other'], env())).stderr).toBe('');
  expect((await run(['discard', '--job', id], env())).stderr).toBe('');
  // That says nothing of items that wait.
  expect((await run(['replay', '--since', '1h'], env())).stderr).toBe('');
  expect((await run(['replay', '--code', 'EXIT_8'], env())).stderr).toBe('');
  await server.client.createJob({ type: 'later', items: [{}] });
  const [dead] = await server.client.claimItems('w', [{ type: 'later', limit: 1 }]);
  const final = { assignmentId: dead?.id ?? '', failure: { ...failure, permanent: true } };
  await server.client.reportOutcomes([final]);
  const replayed = await run(['replay', '--code', 'EXIT_7'], env());
  expect(replayed).toEqual({ code: 0, stdout: 'Replayed 1 item.\n', stderr: '' });
});

it('impossible requests are refused at once and change nothing', async () => {
  const { id } = await server.client.createJob({ type: 'refused', items: [{ payload: 1 }] });
  const [item] = (await server.client.items(id)).nodes;
  const itemId = item?.id ?? '';
  const cases: [string[], number, string][] = [
    [['cancel-items'], 2, 'Say what to cancel'],
    [['cancel-items', '--yes'], 2, 'at least one of --job, --type, --code, --item, --dedupe-key, --status'],
    [['cancel-items', '--job', unknownJob], 4, 'There is no job'],
    [
      ['cancel-items', '--status', 'dead'],
      2,
      'allowed choices are waiting, blocked, scheduled, retrying, ready',
    ],
    [['promote-items'], 2, 'Say what to promote'],
    [['promote-items', '--job', unknownJob], 4, 'There is no job'],
    [['promote-items', '--status', 'ready'], 2, 'allowed choices are retrying, scheduled'],
    [['cancel-items', '--group', 'x'], 2, 'unknown option'],
    [['update-item'], 2, "missing required argument 'id'"],
    [['update-item', itemId], 2, 'Say what to change: give --run-at, --priority or --payload.'],
    [['update-item', itemId, '--run-at', 'soon'], 2, 'give now, a time'],
    [['update-item', itemId, '--payload', '{'], 2, 'give JSON'],
    [['update-item', itemId, '--priority', '40000'], 2, 'give a whole number'],
    [['update-item', id, '--payload', '2'], 2, 'is not the id of an item'],
    [['update-item', `JobItem:${id.slice(4)}:1`, '--payload', '2'], 4, 'There is no item'],
  ];
  for (const [args, code, message] of cases) {
    const ended = await run(args, env());
    expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code, stdout: '' });
    expect(ended.stderr).toContain(message);
  }
  const [held] = await server.client.claimItems('w', [{ type: 'refused', limit: 1 }]);
  expect(held?.payload).toBe(1);
  const late = await run(['update-item', itemId, '--payload', '2'], env());
  expect([late.code, late.stderr]).toEqual([
    1,
    `jobtree: Item ${itemId} can't be changed: its status is RUNNING.\n`,
  ]);
});
