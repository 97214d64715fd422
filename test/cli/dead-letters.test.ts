/** Dead letters on the command line; the story is that of docs/dead-letters.md, whose commands it runs. */
import { expect, it } from 'vitest';
import { Worker } from '../../src/client/index.ts';
import { examples } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver } from '../support/receiver.ts';
import { unknownJob, useServer } from '../support/use-server.ts';
import { makeFile } from './folder.ts';
import { run, runCommands, startOnTerminal } from './program.ts';

const server = useServer({ JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8' });
const env = () => ({ env: server.env });
const pages = examples('dead-letters.md');

const runExample = (name: string, ids: Record<string, string>) =>
  runCommands(pages.get(name) ?? '', ids, server.env);

const work = (type: string, script: string) =>
  run(['work', type, '--stop-when-idle', '0.5', '--', 'sh', '-c', script], env());

it('a bad deploy fails items, which are grouped, inspected, replayed and discarded', async () => {
  const { client } = server;
  const receiver = await startReceiver();
  const url = `http://127.0.0.1:${receiver.port}/ops`;
  const [, alert] = await runExample('alert', { 'https://ops.example.com/jobtree': url });
  expect(alert).toBe((pages.get('alert') ?? '').split('\n').slice(3).join('\n'));
  const said = (type: string) => receiver.received.filter(({ body }) => body.type === type);

  const names = Array.from({ length: 12 }, (_, i) => ({ payload: `name ${i}` }));
  const { id } = await client.createJob({
    type: 'parse',
    sealed: true,
    items: names,
    callbacks: [{ endpoint: 'ops' }],
    children: [{ type: 'store', feed: {} }],
  });
  await runExample('fail', {});
  expect(await client.job(id)).toMatchObject({ progress: { failed: 12, completions: 1 } });
  await eventually(() => expect(said('dead_letters.alert')).toHaveLength(1));

  const [list = ''] = await runExample('groups', {});
  const [heading, row = ''] = list.split('\n');
  expect(heading).toBe((pages.get('groups') ?? '').split('\n')[1]);
  expect(row).toMatch(
    /^DeadLetterGroup:\S{36} +12 {2}\S+ \S+ {2}parse +EXIT_100: Row … of names.txt is bad\.$/,
  );
  const ids = { DeadLetterGroup: row.split(' ')[0] ?? '', Job: id, JobItem: '' };
  const told = said('dead_letters.alert')[0]?.body.data;
  expect(told).toMatchObject({ type: 'parse', threshold: 10, groups: [{ id: ids.DeadLetterGroup }] });

  const [shown = ''] = await runExample('example', ids);
  expect(shown).toMatch(/^12 items of type parse failed for good: EXIT_100: Row … of names.txt is bad\.\n/);
  expect(shown).toContain('payload: "name ');
  expect(shown).toMatch(/1 failure, the last at \S+ \(attempt 1, .{16}\): Row /);
  ids.JobItem = /JobItem:\S+/.exec(shown)?.[0] ?? '';

  expect(await runExample('note', ids)).toEqual(['Noted.\n']);
  expect((await run(['dead-letters'], env())).stdout).toContain(
    'The deploy of Friday; roll back · EXIT_100: Row … of names.txt is bad.\n',
  );

  // The worker is mended while they are replayed.
  const types = Object.fromEntries(
    ['parse', 'store'].map((type) => [type, { concurrency: 1, handler: (payload: unknown) => payload }]),
  );
  const mended = new Worker({ client, types });
  await mended.start();
  const [one, rest, , watched] = await runExample('replay', ids);
  expect([one, rest]).toEqual(['Replayed 1 item.\n', 'Replayed 11 items.\n']);
  expect(watched).toContain('12 items: 12 succeeded');
  await mended.stop();

  const tree = await client.job(id);
  expect(tree.progress).toMatchObject({ status: 'COMPLETED', succeeded: 12, failed: 0 });
  expect(tree.progress.completions).toBeGreaterThanOrEqual(2);
  const child = await client.job(tree.children[0]?.id ?? '');
  expect(child.progress).toMatchObject({ status: 'COMPLETED', itemCount: 12, succeeded: 12 });
  const corrected = (await client.items(id)).nodes.find((item) => item.id === ids.JobItem);
  expect(corrected).toMatchObject({ payload: 'Ada', result: 'Ada', failureCount: 1 });
  expect((await run(['dead-letters'], env())).stdout.split('\n')).toHaveLength(2);
  expect(await runExample('discard', ids)).toEqual(['Discarded 0 items.\n']);

  await eventually(() => expect(said('tree.completed').length).toBeGreaterThanOrEqual(2));
  const completions = said('tree.completed').map(({ body }) => body.data.completions);
  expect(new Set(completions).size).toBe(completions.length);
  expect(completions).toContain(1);
  const last = said('tree.completed').find(({ body }) => body.data.completions === Math.max(...completions));
  expect(last?.body.data).toMatchObject({ rootId: id, outcome: 'SUCCEEDED', jobs: 2, failed: 0 });
  expect(said('dead_letters.alert')).toHaveLength(1);
  await receiver.close();
});

it('the lines of the example become items', async () => {
  const lines = Array.from({ length: 12 }, (_, i) => `name ${i + 1}\n`);
  const file = await makeFile('names.txt', lines.join(''));
  const [printed = ''] = await runExample('import', { 'names.txt': file });
  const { progress } = await server.client.job(printed.trim());
  expect(progress.itemCount).toBe(12);
  await server.client.cancelJob(printed.trim());
});

it('a second completion says that it is one', async () => {
  const { client } = server;
  const { id } = await client.createJob({ type: 'twice', sealed: true, maxFailuresPerItem: 0, items: [{}] });
  await work('twice', 'exit 1');
  expect((await run(['replay', '--job', id], env())).stdout).toBe('Replayed 1 item.\n');
  expect((await client.job(id)).progress).toMatchObject({ status: 'RUNNING', completions: 1 });
  const watching = run(['watch', id, '--json'], env());
  await work('twice', 'cat');
  const states = (await watching).stdout.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []));
  expect(states.at(-2)).toMatchObject({ status: 'COMPLETED', completions: 2, succeeded: 1 });
});

/** A job all of whose items have failed for good. */
async function failed(type: string, count: number): Promise<string> {
  const { client } = server;
  const items = Array(count).fill({});
  const { id } = await client.createJob({ type, sealed: true, maxFailuresPerItem: 0, items });
  const held = await client.claimItems('w', [{ type, limit: count }]);
  await client.reportOutcomes(
    held.map((assignment) => ({ assignmentId: assignment.id, failure: { code: 'E', message: 'no' } })),
  );
  return id;
}

it('on a terminal, an operation on more than a few items asks for confirmation', async () => {
  const id = await failed('asked', 11);
  const refused = startOnTerminal(['discard', '--job', id], server.env);
  await refused.printed('Discard 11 items? [y/N]');
  refused.process.stdin.write('n\n');
  expect((await refused.ended).code).toBe(1);
  expect(await server.client.deadLetterCount({ jobId: id })).toBe(11);

  const agreed = startOnTerminal(['discard', '--job', id], server.env);
  await agreed.printed('Discard 11 items? [y/N]');
  agreed.process.stdin.write('y\n');
  expect(await agreed.ended).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Discarded 11 items.'),
  });

  const few = await failed('few', 10);
  expect((await startOnTerminal(['replay', '--job', few], server.env).ended).stdout).toContain(
    'Replayed 10 items.',
  );
  const many = await failed('many', 12);
  const sure = startOnTerminal(['replay', '--job', many, '--yes'], server.env);
  expect((await sure.ended).stdout).toContain('Replayed 12 items.');
});

it('an operation prints JSON, and says how many items were skipped', async () => {
  const id = await failed('json', 2);
  const status = async () => (await server.client.job(id)).progress.status;
  await expect.poll(status).toBe('COMPLETED');
  // Too late: it changes nothing.
  await server.client.cancelJob(id);
  const other = await failed('json', 1);
  const { stdout } = await run(['replay', '--type', 'json', '--code', 'E', 'F', '--json'], env());
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'REPLAY', status: 'FINISHED', total: 3, done: 3 });
  expect((await server.client.job(other)).progress).toMatchObject({ status: 'RUNNING', failed: 0 });
});

it('dead letters of cancelled jobs are counted apart, since no replay can retry them', async () => {
  const { client } = server;
  const { id } = await client.createJob({ type: 'skipped', maxFailuresPerItem: 0, items: [{}, {}, {}] });
  const held = await client.claimItems('w', [{ type: 'skipped', limit: 2 }]);
  const failure = { code: 'E', message: 'no' };
  await client.reportOutcomes(held.map(({ id }) => ({ assignmentId: id, failure })));
  expect(await client.deadLetterCount({ jobId: id })).toBe(2);
  await client.cancelJob(id);
  expect(await client.deadLetterCount({ jobId: id })).toBe(0);
  expect(await client.deadLetterCount({ jobId: id }, { replayable: false })).toBe(2);
  const alone = await run(['replay', '--job', id], env());
  expect(alone).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('Replayed 0 items.'),
    stderr: expect.stringContaining(
      "Skipped 2 dead letters: what belongs to a cancelled job can't be replayed",
    ),
  });
  await failed('skipped', 1);
  const operation = await client.replayDeadLetters({ types: ['skipped'] });
  expect(operation).toMatchObject({ total: 1, done: 1 });
  expect((await run(['discard', '--job', id], env())).stdout).toContain('Discarded 2 items.');
});

it('invalid requests are refused at once and change nothing', async () => {
  const id = await failed('refused', 1);
  const unknownGroup = 'DeadLetterGroup:01890000-0000-7000-8000-000000000000';
  const cases: [string[], number, string][] = [
    [['replay'], 2, 'Say what to replay: give at least one of --job, --type'],
    [['discard', '--yes'], 2, 'Say what to discard'],
    [['replay', '--job', unknownJob], 4, 'There is no job'],
    [['replay', '--job', '17'], 2, '17'],
    [['replay', '--job', id, '--payload', '{'], 2, 'give JSON'],
    [['replay', '--job', id, '--payload', '1'], 2, '--payload is for one item: name it with --item.'],
    [['replay', '--since', 'yesterday'], 2, 'give a time'],
    [['discard', '--job', id, '--payload', '1'], 2, 'unknown option'],
    [['dead-letters', unknownGroup], 4, 'There are no dead letters in the group'],
    [['dead-letters', id], 2, `group is not the id of a group of dead letters: "${id}".`],
    [['dead-letters', '17'], 2, 'Such an id starts with DeadLetterGroup:'],
    [
      ['dead-letters', 'DeadLetterGroup:17'],
      2,
      '"DeadLetterGroup:17". Such an id is DeadLetterGroup: and a UUID.',
    ],
    [['note', unknownGroup, 'x'], 4, 'There are no dead letters in the group'],
    [['note'], 2, "missing required argument 'group'"],
  ];
  for (const [args, code, message] of cases) {
    const ended = await run(args, env());
    expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code, stdout: '' });
    expect(ended.stderr).toContain(message);
  }
  expect(await server.client.deadLetterCount({ jobId: id })).toBe(1);
});

it('payloads that are wrong in the same way are corrected by a patch', async () => {
  const { client } = server;
  const items = [{ payload: { amount: 1, to: 'Ada' } }, { payload: { to: 'Bob' } }, { payload: 'x' }];
  const { id } = await client.createJob({ type: 'invoice', maxFailuresPerItem: 0, items });
  await work('invoice', 'echo "It is bad." >&2; exit 100');
  const [said] = await runExample('patch', {});
  expect(said).toBe((pages.get('patch') ?? '').split('\n').slice(1).join('\n'));
  const { nodes } = await client.items(id);
  expect(nodes.map(({ payload }) => payload)).toEqual([
    { to: 'Ada', currency: 'EUR' },
    { to: 'Bob', currency: 'EUR' },
    'x',
  ]);
});
