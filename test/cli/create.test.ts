import { expect, it } from 'vitest';
import { data, work } from '../support/api.ts';
import { example } from '../support/documentation.ts';
import { unknownJob, useServer } from '../support/use-server.ts';
import { makeFile } from './folder.ts';
import { run } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });

it('the documented tree is created from YAML, and its items are listed', async () => {
  const created = await run(['create', await makeFile('tree.yaml', example('cli.md', 'create'))], env());
  expect(created).toMatchObject({ code: 0, stderr: '' });
  const id = created.stdout.trim();
  const job = await server.client.job(id);
  expect(job).toMatchObject({ type: 'fetch', children: [{ id: expect.stringMatching(/^Job:/) }] });
  const items = await run(['items', id], env());
  expect(items.stdout.split('\n')).toEqual([
    expect.stringMatching(/^ID +STATUS +FAILURES {2}DETAIL$/),
    expect.stringMatching(/^JobItem:\S+ +ready +0 {2}\{"url":"https:\/\/example.com\/a.csv"\}$/),
    expect.stringMatching(/b\.csv/),
    '',
  ]);
});

it('an item that failed before says why, and all its details can be shown', async () => {
  const job = { type: 'again', items: [{ payload: { to: 'Ada' } }], backoffMs: [0] };
  const { id } = await server.client.createJob(job);
  const [assignment] = await server.client.claimItems('w1', [{ type: 'again', limit: 1 }]);
  const failure = { code: 'TIMEOUT', message: 'no answer' };
  await server.client.reportOutcomes([{ assignmentId: assignment?.id ?? '', failure }]);
  const { stdout } = await run(['items', id], env());
  expect(stdout).toMatch(/ after TIMEOUT: no answer · \{"to":"Ada"\}\n$/);
  const one = await run(['items', assignment?.itemId ?? ''], env());
  expect(one).toMatchObject({ code: 0, stderr: '' });
  expect(one.stdout).toMatch(/^item +JobItem:\S+\nstatus /);
  expect(one.stdout).toMatch(/^payload +\{"to":"Ada"\}\nfailures +1\n {2}1 +\S+Z w1: TIMEOUT: no answer$/m);
  const json = await run(['items', assignment?.itemId ?? '', '--json'], env());
  expect(JSON.parse(json.stdout)).toMatchObject({ id: assignment?.itemId, failureCount: 1 });
  const unknown = await run(['items', `JobItem:${unknownJob.slice(4)}:7`], env());
  expect([unknown.code, unknown.stderr]).toEqual([4, expect.stringContaining('There is no ')]);
  expect((await run(['items', unknownJob], env())).stderr).toBe(`jobtree: There is no job ${unknownJob}.\n`);
  expect(await run(['items', 'DeadLetterGroup:1'], env())).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^jobtree: id is "DeadLetterGroup:1": give the id of a job, .* or of an item,/,
    ),
  });
});

it('DETAIL has the note of an item or else its last failure, and its payload', async () => {
  const { client } = server;
  const type = 'detailed';
  const { id } = await client.createJob({
    type,
    items: [{ payload: 1 }, { payload: 2 }],
    backoffMs: [3_600_000],
  });
  const claim = () => client.claimItems('w', [{ type, limit: 2 }]);
  const [first, second] = (await claim()).map((assignment) => assignment.id);
  await data(
    server.url,
    'mutation ($notes: [ItemNoteInput!]!) { noteItems(input: { notes: $notes }) { __typename } }',
    { notes: [{ assignmentId: second, note: 'page 1 of 2' }] },
  );
  const failure = { code: 'E', message: 'no' };
  await client.reportOutcomes([{ assignmentId: first ?? '', failure }]);
  const listed = async () => (await run(['items', id], env())).stdout.trimEnd().split('\n').slice(1);
  expect(await listed()).toEqual([
    expect.stringMatching(/ retrying +1 {2}again in (1h|59m) after E: no · 1$/),
    expect.stringMatching(/ running +0 {2}page 1 of 2 · 2$/),
  ]);
  await client.reportOutcomes([{ assignmentId: second ?? '', failure: { ...failure, retryAfterMs: 0 } }]);
  expect((await listed())[1]).toMatch(/ ready +1 {2}page 1 of 2 · 2$/);
  const [again] = await claim();
  await client.reportOutcomes([{ assignmentId: again?.id ?? '', result: 'done' }]);
  expect((await listed())[1]).toMatch(/ succeeded +1 {2}2$/);
});

it('a dedupe key creates a job from JSON only once', async () => {
  const path = await makeFile(
    'tree.json',
    JSON.stringify({ type: 'once', dedupeKey: 'a', items: [{ payload: '2026-01-01' }] }),
  );
  const first = await run(['create', path, '--json'], env());
  const again = await run(['create', path, '--json'], env());
  const { jobId } = JSON.parse(first.stdout);
  expect(JSON.parse(first.stdout)).toEqual({ jobId, created: true });
  expect(JSON.parse(again.stdout)).toEqual({ jobId, created: false });
  expect(again.stderr).toMatch(/nothing was created/);
});

it('with --watch it prints the id, and what came of the job', async () => {
  const path = await makeFile('nothing.yaml', 'type: nothing\nsealed: true');
  const { code, stdout, stderr } = await run(['create', path, '--watch'], env());
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'Job complete\n' });
  expect(stdout).toMatch(/^Job:.*\n0 items: 0 succeeded.*\n$/);
  const json = await run(['create', path, '--watch', '--json'], env());
  expect(
    json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ created: true }, { event: 'progress' }, { event: 'summary' }]);
});

it('a time in YAML keeps its text', async () => {
  const { stdout } = await run(
    ['create', await makeFile('time.yml', 'type: time\nitems: [{payload: 2026-01-01}]')],
    env(),
  );
  const page = await server.client.items(stdout.trim());
  expect(page.nodes).toMatchObject([{ payload: '2026-01-01' }]);
});

it.each([
  ['no.yaml', undefined, 6, /no\.yaml can't be read/],
  ['list.yaml', '- a\n- b', 6, /does not describe a job: it is not an object\.$/m],
  ['broken.yaml', 'type: [a', 6, /broken\.yaml does not describe a job: .* \(line 2\)\.$/m],
  ['broken.json', '{', 6, /broken\.json does not describe a job: /],
  ['empty.yaml', '', 6, /does not describe a job/],
  ['typo.yaml', 'type: a\nitem: []', 2, /item/],
  ['wrong.yaml', 'type: ""', 2, /type/],
] as const)('%s is refused, and nothing is created', async (name, text, code, message) => {
  const path = text === undefined ? `/nowhere/${name}` : await makeFile(name, text);
  const before = (await server.client.jobs({ first: 1 })).nodes[0]?.id;
  const refused = await run(['create', path], env());
  expect(refused).toMatchObject({ code, stdout: '' });
  expect(refused.stderr).toMatch(message);
  expect((await server.client.jobs({ first: 1 })).nodes[0]?.id).toBe(before);
});

it('seal lets a job complete; items says why an item failed', async () => {
  const { id } = await server.client.createJob({ type: 'sealed', maxFailuresPerItem: 0, items: [{}, {}] });
  await work(server.url, 'sealed', 1);
  const [assignment] = await server.client.claimItems('me', [{ type: 'sealed', limit: 1 }]);
  await server.client.reportOutcomes([
    { assignmentId: assignment?.id ?? '', failure: { code: 'WRONG', message: 'not\u001b[2J this one' } },
  ]);
  expect(await run(['seal', id], env())).toEqual({ code: 0, stdout: 'Sealed: 2 items.\n', stderr: '' });
  const failed = await run(['items', id, '--status', 'failed'], env());
  expect(failed.stdout).toMatch(/failed +1 {2}WRONG: not\\u001b\[2J this one\n$/);
  const json = await run(['items', id, '--json', '--limit', '1'], env());
  expect(
    json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).status),
  ).toEqual(['SUCCEEDED']);
  expect((await run(['watch', id], env())).code).toBe(3);
});

it.each(['seal', 'items'])('%s reports a job that does not exist', async (command) => {
  expect(await run([command, unknownJob], env())).toMatchObject({
    code: 4,
    stdout: expect.not.stringMatching(/Job:/),
  });
});
