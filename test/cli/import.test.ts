import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createDatabase } from '../support/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { freePort, startServer } from '../support/server.ts';
import { unknownJob, useServer } from '../support/use-server.ts';
import { makeFile } from './folder.ts';
import { run, start } from './program.ts';

const server = useServer();

async function importFile(file: string, ...options: string[]) {
  return run(['import', file, ...options], { env: server.env });
}

async function payloads(jobId: string): Promise<unknown[]> {
  const { nodes } = await server.client.items(jobId, { first: 1_000 });
  return nodes.map((item) => item.payload);
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}\n`).join('');

it('a CSV row becomes an object of texts, in the order of the file', async () => {
  const file = await makeFile(
    'people.csv',
    '\uFEFFname,note\r\nAda,"two\r\nlines, ""quoted"""\r\n\r\nGrâce,\r\n',
  );
  const { code, stdout, stderr } = await importFile(
    file,
    '--type',
    'people',
    '--max-failures',
    '7',
    '--backoff',
    '1s,2m',
    '--priority',
    '-3',
    '--tolerate',
    '2.5%',
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('2 items added') });
  const job = await server.client.job(stdout.trim());
  expect(job).toMatchObject({
    type: 'people',
    maxFailuresPerItem: 7,
    backoffMs: [1_000, 120_000],
    priority: -3,
    toleratedFailureCount: null,
    toleratedFailurePercentage: 2.5,
  });
  expect(job.progress).toMatchObject({ sealed: true, itemCount: 2 });
  expect(job.dedupeKey).toMatch(/^people\.csv [\w-]{12}$/);
  expect(await payloads(job.id)).toEqual([
    { name: 'Ada', note: 'two\r\nlines, "quoted"' },
    { name: 'Grâce', note: '' },
  ]);
});

it('a line of NDJSON becomes its value', async () => {
  const file = await makeFile('values.ndjson', '{"a":[1,null]}\n\n"text"\n17');
  const { stdout } = await importFile(file, '--type', 'values', '--json');
  const { jobId, added } = JSON.parse(stdout);
  expect(added).toBe(3);
  expect(await payloads(jobId)).toEqual([{ a: [1, null] }, 'text', 17]);
});

it('a plain line becomes a text; thousands of lines keep their order', async () => {
  const file = await makeFile('lines.txt', numbers(2_345));
  const { stdout } = await importFile(file, '--type', 'lines');
  const all: unknown[] = [];
  let after: string | undefined;
  do {
    const page = await server.client.items(stdout.trim(), { first: 1_000, after });
    all.push(...page.nodes.map((item) => item.payload));
    after = page.hasNextPage ? (page.endCursor ?? undefined) : undefined;
  } while (after !== undefined);
  expect(all).toEqual(Array.from({ length: 2_345 }, (_, i) => `line ${i}`));
});

it('standard input creates a job that stays open, and --job adds to it', async () => {
  const input = 'a;b\n1;2\n';
  const options = ['--format', 'csv', '--delimiter', ';'];
  const first = await run(['import', '-', '--type', 'stdin', '--no-seal', ...options], {
    env: server.env,
    input,
  });
  const jobId = first.stdout.trim();
  const second = await run(['import', '-', '--job', jobId, ...options], { env: server.env, input });
  expect(second).toMatchObject({ code: 0, stdout: `${jobId}\n` });
  expect(await payloads(jobId)).toEqual([
    { a: '1', b: '2' },
    { a: '1', b: '2' },
  ]);
  expect((await server.client.job(jobId)).progress.sealed).toBe(true);
});

it.each<[string, string, string | Buffer, string]>([
  ['a CSV row that was cut off', 'a.csv', 'a,b\n1,2\n3', 'line 3: the row has 1 cell, the header has 2'],
  [
    'a CSV row with too many cells',
    'a.csv',
    'a,b\n"1\n2",2\n3,4,5\n',
    'line 4: the row has 3 cells, the header has 2',
  ],
  [
    'a quote that is never closed',
    'a.csv',
    'a,b\n1,2\n3,"4\n5,6\n',
    'line 3: a quote is opened in it and never closed',
  ],
  ['a quote within an unquoted cell', 'a.csv', 'a,b\n1,2"3\n', 'line 2: a quote is misplaced'],
  ['a header that names a column twice', 'a.csv', 'a,a\n1,2\n', 'line 1: the header names "a" twice'],
  ['a header with an unnamed column', 'a.csv', 'a,\n1,2\n', 'line 1: column 2 of the header has no name'],
  ['a header and nothing else', 'a.csv', 'a,b\n', 'it has no rows'],
  ['an empty file', 'a.csv', '', 'the file is empty'],
  ['a file of empty lines', 'a.txt', '\n\n', 'it has no rows'],
  ['a line that is not JSON', 'a.ndjson', '{"a":1}\n{"a":\n', 'line 2: not JSON'],
  ['Latin-1', 'a.txt', Buffer.from('Ada\nGr\xE2ce\n', 'latin1'), 'line 2: not UTF-8 (byte 6 of the file)'],
  ['UTF-16', 'a.csv', Buffer.from('\uFEFFa,b\n1,2\n', 'utf16le'), 'line 1: not UTF-8 (byte 0 of the file)'],
  [
    'a character that was cut off',
    'a.txt',
    Buffer.from('Ada\nGrâ').subarray(0, -1),
    'line 2: not UTF-8: the file ends within a character',
  ],
  ['what Postgres can not store', 'a.ndjson', '"a"\n"\\u0000"\n', 'line 2: the value has a character'],
])('%s is refused, and no job is created', async (name, fileName, content, message) => {
  const file = await makeFile(fileName, content);
  const { code, stdout, stderr } = await importFile(file, '--type', name);
  expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
  expect(stderr).toContain(message);
  const { nodes } = await server.client.jobs({ filter: { types: [name] } });
  expect(nodes).toEqual([]);
});

it('a row that does not match the schema of the type is refused, and no job is created', async () => {
  const payload = { type: 'object', required: ['to'] };
  await server.client.types.register({ type: 'typed', version: 1, payload });
  const file = await makeFile('typed.ndjson', '{"to":"Ada"}\n{"too":"Grace"}\n');
  const { code, stdout, stderr } = await importFile(file, '--type', 'typed');
  expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
  expect(stderr).toContain('typed.ndjson, line 2: payload.to is missing (version 1 of typed).');
  expect((await server.client.jobs({ filter: { types: ['typed'] } })).nodes).toEqual([]);
});

it('a file with a late error cancels the job that was created', async () => {
  const file = await makeFile('late.ndjson', `${'{}\n'.repeat(2_400)}{"a":`);
  const { code, stdout, stderr } = await importFile(file, '--type', 'late');
  expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
  expect(stderr).toMatch(
    /line 2401: not JSON.*\nThe job was cancelled \(Job:[^)]+\); 2,000 items had been added\./,
  );
  await expect
    .poll(async () => (await server.client.jobs({ filter: { types: ['late'] } })).nodes)
    .toMatchObject([
      { cancelledAt: expect.any(String), progress: { status: 'CANCELLED', cancelled: 2_000 } },
    ]);
});

it('a file with a late error leaves an existing job open', async () => {
  const { id } = await server.client.createJob({ type: 'theirs' });
  const file = await makeFile('late.ndjson', `${'{}\n'.repeat(1_400)}{"a":`);
  const { code, stderr } = await importFile(file, '--job', id);
  expect(code).toBe(6);
  expect(stderr).toContain(`1,000 items had been added to ${id}, which is as open as it was.`);
  await expect
    .poll(() => server.client.job(id))
    .toMatchObject({ sealedAt: null, cancelledAt: null, progress: { itemCount: 1_000 } });
});

it('with a dedupe key an interrupted import resumes and adds nothing twice', async () => {
  const options = ['--type', 'again', '--dedupe-key', 'march'];
  const first = await importFile(await makeFile('part.txt', numbers(1_500)), ...options, '--no-seal');
  const whole = await makeFile('whole.txt', numbers(2_500));
  const second = await importFile(whole, ...options, '--json');
  expect(JSON.parse(second.stdout)).toMatchObject({
    jobId: first.stdout.trim(),
    added: 1_000,
    duplicates: 1_500,
  });
  const third = await importFile(whole, ...options);
  expect(third).toMatchObject({
    code: 0,
    stdout: first.stdout,
    stderr: 'The job is already sealed: nothing was added.\n',
  });
});

it('lost answers add nothing twice', async () => {
  const proxy = await startProxy(server.url);
  try {
    const { id } = await server.client.createJob({ type: 'lossy' });
    const program = start(['import', '-', '--format', 'lines', '--job', id, '--url', proxy.url]);
    program.process.stdin.write(numbers(1_000));
    await program.printed('1,000 items added');
    proxy.swallowAnswers();
    program.process.stdin.write(numbers(1_000));
    for await (const progress of server.client.watchJob(id)) if (progress.itemCount === 2_000) break;
    proxy.cut();
    proxy.mend();
    program.process.stdin.end();
    const { code, stderr } = await program.ended;
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('1,000 items added, 1,000 already there in'),
    });
    expect((await server.client.job(id)).progress).toMatchObject({ itemCount: 2_000, sealed: true });
  } finally {
    await proxy.close();
  }
});

/** A server of the test's own whose Postgres can be cut off. */
async function startFragile() {
  const database = await createDatabase();
  const postgres = await startProxy(database.url);
  const own = await startServer(postgres.url);
  const client = createClient({ url: own.url, retryMs: 30_000 });
  onTestFinished(async () => {
    postgres.mend();
    await client.close();
    await own.close();
    await postgres.close();
    await database.drop();
  });
  return { postgres, client, env: { JOBTREE_URL: own.url } };
}

async function cutOff({ postgres, env }: { postgres: TcpProxy; env: { JOBTREE_URL: string } }) {
  postgres.cut();
  const impatient = createClient({ url: env.JOBTREE_URL, retryMs: 0 });
  await expect.poll(() => impatient.jobs().catch((error) => error.code)).toBe('UNREACHABLE');
  await impatient.close();
}

it('an import resumes after an outage of Postgres and adds every row once', async () => {
  const fragile = await startFragile();
  const program = start(['import', '-', '--format', 'lines', '--type', 'blip'], fragile.env);
  program.process.stdin.write(numbers(1_000));
  await program.printed('1,000 items added');
  await cutOff(fragile);
  program.process.stdin.write(numbers(1_000));
  program.process.stdin.end(numbers(500));
  await program.printed('Trying again');
  fragile.postgres.mend();
  const { code, stdout, stderr } = await program.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('2,500 items added') });
  const { progress } = await fragile.client.job(stdout.trim());
  expect(progress).toMatchObject({ itemCount: 2_500, sealed: true });
});

it('an import that gives up says what is known, and what to do', async () => {
  const fragile = await startFragile();
  const options = ['--format', 'lines', '--type', 'gone', '--patience', '1s'];
  const program = start(['import', '-', ...options], fragile.env);
  program.process.stdin.write(numbers(1_000));
  await program.printed('1,000 items added');
  await cutOff(fragile);
  program.process.stdin.end(numbers(1_000));
  const { code, stdout, stderr } = await program.ended;
  expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
  expect(stderr).toMatch(/1,000 items had been added/);
  const [, id = ''] = /could not be cancelled.*jobtree cancel (Job:\S+)$/s.exec(stderr.trim()) ?? [];
  fragile.postgres.mend();
  // What was added may not have been counted yet.
  await expect
    .poll(async () => (await fragile.client.job(id)).progress)
    .toMatchObject({ itemCount: 1_000, sealed: false });
  expect(await fragile.client.job(id)).toMatchObject({ cancelledAt: null });
});

it('an import that never gets its last answer does not claim that the job is open', async () => {
  const { id } = await server.client.createJob({ type: 'unknown' });
  const proxy = await startProxy(server.url);
  try {
    const options = ['--format', 'lines', '--job', id, '--url', proxy.url, '--patience', '1s'];
    const program = start(['import', '-', ...options]);
    program.process.stdin.write(numbers(1_000));
    await program.printed('1,000 items added');
    proxy.swallowAnswers();
    program.process.stdin.end(numbers(1_000));
    for await (const progress of server.client.watchJob(id)) if (progress.itemCount === 2_000) break;
    proxy.cut();
    const { code, stderr } = await program.ended;
    expect(code).toBe(5);
    expect(stderr).toContain(`At least 1,000 items had been added to ${id}`);
    expect((await server.client.job(id)).progress.sealed).toBe(false);
  } finally {
    await proxy.close();
  }
});

it('Ctrl-C during the creation of the job leaves no open job behind', async () => {
  const proxy = await startProxy(server.url);
  try {
    const file = await makeFile('early.txt', numbers(10));
    const program = start(['import', file, '--type', 'early', '--url', proxy.url, '--patience', '5s']);
    await proxy.cutAt('"createJob"');
    program.process.kill('SIGINT');
    proxy.mend();
    expect(await program.ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('was cancelled'),
    });
    const { nodes } = await server.client.jobs({ filter: { types: ['early'] } });
    expect(nodes).toMatchObject([{ cancelledAt: expect.any(String) }]);
  } finally {
    await proxy.close();
  }
});

it('Ctrl-C cancels the job that was made, also while standard input keeps silent', async () => {
  const program = start(['import', '-', '--format', 'lines', '--type', 'interrupted'], server.env);
  program.process.stdin.write(numbers(1_000));
  await program.printed('1,000 items added');
  program.process.kill('SIGINT');
  expect(await program.ended).toMatchObject({
    code: 130,
    stdout: '',
    stderr: expect.stringContaining('The job was cancelled'),
  });
  const { nodes } = await server.client.jobs({ filter: { types: ['interrupted'] } });
  expect(nodes).toMatchObject([{ cancelledAt: expect.any(String) }]);
});

it('with --watch it continues until the job is complete', async () => {
  const file = await makeFile('watched.txt', 'one\n');
  const program = start(['import', file, '--type', 'watched', '--watch'], server.env);
  await program.printed('Waiting for job to start…');
  const [assignment] = await server.client.claimItems('test', [{ type: 'watched', limit: 1 }]);
  await server.client.reportOutcomes([{ assignmentId: assignment?.id ?? '', result: null }]);
  const { code, stdout, stderr } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Job:.*\n1 item: 1 succeeded.*\n$/);
  expect(stderr).toMatch(/\nWaiting for job to start…\n(?:.*\n)*Job complete\n$/);
});

it('impossible requests are refused at once', async () => {
  const file = await makeFile('good.txt', 'x\n');
  const unnamed = await makeFile('data', 'x\n');
  const cases: [string[], number, string][] = [
    [[file], 2, 'Give either --type'],
    [[file, '--type', 't', '--job', unknownJob], 2, 'Give either --type'],
    [[file, '--job', unknownJob, '--max-failures', '3'], 2, '--max-failures is for new jobs'],
    [[unnamed, '--type', 't'], 2, 'Add --format'],
    [[file, '--type', 't', '--priority', 'high'], 2, '--priority is "high": give a whole number'],
    [[file, '--type', 't', '--tolerate', '100.1%'], 2, 'a share from 0% to 100%'],
    [[file, '--type', 't', '--tolerate', '1.5'], 2, '--tolerate is "1.5": give a number, or a share'],
    [[`${file}.txt`, '--type', 't'], 6, 'there is no such file'],
    [[file, '--job', unknownJob], 4, `There is no job ${unknownJob}.\nNothing was added.\n`],
    [[file, '--type', 't', '--delimiter', 'ab'], 2, '--delimiter is "ab": give one character'],
    [[file, '--type', 't', '--url', `http://127.0.0.1:${await freePort()}/graphql`], 5, 'ECONNREFUSED'],
  ];
  await Promise.all(
    cases.map(async ([args, code, message]) => {
      const ended = await importFile(args[0] as string, ...args.slice(1));
      expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code, stdout: '' });
      expect(ended.stderr).toContain(message);
    }),
  );
});
