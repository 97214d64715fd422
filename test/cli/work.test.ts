import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Item, JobSpec } from '../../src/client/index.ts';
import { createDatabase } from '../support/database.ts';
import { makeKey } from '../support/keys.ts';
import { startProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';
import { makeFolder } from './folder.ts';
import { type Ended, run, start, startOnTerminal, startShell } from './program.ts';

const server = useServer();

async function create(type: string, payloads: unknown[], policies: Partial<JobSpec> = {}): Promise<string> {
  const items = payloads.map((payload) => ({ payload }));
  const { id } = await server.client.createJob({ type, items, sealed: true, backoffMs: [], ...policies });
  return id;
}

async function items(jobId: string): Promise<Item[]> {
  return (await server.client.items(jobId)).nodes;
}

/** Runs a command for each item of the job, until it is complete. */
async function work(jobId: string, type: string, command: string[], ...options: string[]): Promise<Ended> {
  const program = start(['work', type, ...options, '--', ...command], server.env);
  await completion(jobId);
  program.process.kill('SIGTERM');
  return program.ended;
}

async function completion(jobId: string): Promise<void> {
  for await (const { status } of server.client.watchJob(jobId)) if (status === 'COMPLETED') return;
}

it('the payload arrives as JSON, and the output is JSON, text or nothing', async () => {
  const id = await create('echo', [{ a: ['ä', 1] }, 'words', null]);
  const script = 'read -r line; case $line in *words*) echo plain words;; null) ;; *) echo "$line";; esac';
  const { code, stderr } = await work(id, 'echo', ['sh', '-c', script]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('3 items succeeded, 0 attempts failed'),
  });
  expect((await items(id)).map((item) => item.result)).toEqual([{ a: ['ä', 1] }, 'plain words', null]);
});

it('the command receives its item in its environment', async () => {
  const id = await create('who', [0]);
  await work(id, 'who', [
    'sh',
    '-c',
    'echo "$JOBTREE_ITEM_ID $JOBTREE_JOB_ID $JOBTREE_TYPE $JOBTREE_ATTEMPT $JOBTREE_URL"',
  ]);
  const [item] = await items(id);
  expect(item?.result).toBe(`${item?.id} ${id} who 1 ${server.url}`);
});

it('exit code 100 is a permanent failure; any other, or a signal, is retried', async () => {
  const id = await create('exits', ['permanent', 'failing', 'killed', 'silent'], { maxFailuresPerItem: 1 });
  const script = `case $(cat) in
    *permanent*) echo "no such thing" >&2; exit 100;;
    *failing*) yes noise | head -n 2000 >&2; echo "the end" >&2; exit 7;;
    *killed*) kill -9 $$;;
    *) exit 1;;
  esac`;
  const { code } = await work(id, 'exits', ['sh', '-c', script]);
  expect(code).toBe(0);
  const failures = (await items(id)).map((item) => item.failures.map(({ code, message }) => [code, message]));
  const tail = expect.stringMatching(/^(?:noise\n){300,333}the end$/);
  expect(failures).toEqual([
    [['EXIT_100', 'no such thing']],
    [
      ['EXIT_7', tail],
      ['EXIT_7', tail],
    ],
    [
      ['SIGKILL', 'sh was ended by SIGKILL.'],
      ['SIGKILL', 'sh was ended by SIGKILL.'],
    ],
    [
      ['EXIT_1', 'sh exited with 1.'],
      ['EXIT_1', 'sh exited with 1.'],
    ],
  ]);
});

it('commands run up to --concurrency at once', async () => {
  const id = await create('pairs', [0, 1]);
  const folder = await makeFolder();
  // Each waits for the other one, which it would never see if they ran one after the other.
  const script = 'touch "$1/$JOBTREE_ITEM_ID"; until [ "$(ls "$1" | wc -l)" = 2 ]; do sleep 0.05; done';
  const ended = await work(id, 'pairs', ['sh', '-c', script, 'sh', folder], '--concurrency', '2');
  expect(ended).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('2 items succeeded'),
  });
});

it('a cancelled job ends its command, with everything that the command started', async () => {
  const id = await create('endless', [0], { heartbeatIntervalMs: 1_000 });
  const folder = await makeFolder();
  const script = `sh -c 'trap "echo ended > $1/inner; exit" TERM; echo up; while :; do sleep 0.1; done' sh "$1" >&2 & trap 'wait; echo ended > $1/outer; exit' TERM; echo started > $1/started; wait`;
  const program = start(['work', 'endless', '--', 'sh', '-c', script, 'sh', folder], server.env);
  await program.printed('Connected');
  for await (const { status } of server.client.watchJob(id)) if (status === 'RUNNING') break;
  await startShell(`until [ -f ${folder}/started ]; do sleep 0.05; done`).ended;
  await server.client.cancelJob(id);
  await program.printed('its command is stopped: the item or its job was cancelled');
  program.process.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
  expect(await readFile(join(folder, 'outer'), 'utf8')).toBe('ended\n');
  expect(await readFile(join(folder, 'inner'), 'utf8')).toBe('ended\n');
});

it('SIGTERM lets the command finish and claims no more', async () => {
  const id = await create('orderly', ['first', 'second']);
  const folder = await makeFolder();
  const script = `touch "$1/started"; until [ -f "$1/go" ]; do sleep 0.05; done`;
  const program = start(
    ['work', 'orderly', '--concurrency', '1', '--', 'sh', '-c', script, 'sh', folder],
    server.env,
  );
  await startShell(`until [ -f ${folder}/started ]; do sleep 0.05; done`).ended;
  program.process.kill('SIGTERM');
  await program.printed(
    'Stopping: 1 command may take 30 s to finish. A second Ctrl-C or SIGTERM ends it and gives its item back.\n',
  );
  await startShell(`touch ${folder}/go`).ended;
  expect(await program.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/\nStopped: 1 item/) });
  expect((await items(id)).map((item) => item.status)).toEqual(['SUCCEEDED', 'READY']);
});

it('a command that does not finish in time is ended and its item given back, at no cost of an attempt', async () => {
  const id = await create('slow', [0]);
  const program = start(['work', 'slow', '--stop-timeout', '0', '--', 'sleep', '60'], server.env);
  for await (const { status } of server.client.watchJob(id)) if (status === 'RUNNING') break;
  program.process.kill('SIGINT');
  expect(await program.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('given back') });
  expect(await items(id)).toMatchObject([{ status: 'READY', failures: [], assignment: null }]);
});

/** A worker that has begun a command which ends by SIGKILL alone. */
async function startStubborn(id: string, url = server.url) {
  const folder = await makeFolder();
  const script = `trap '' TERM INT; echo $$ > "$1/pid"; while :; do sleep 0.1; done`;
  const program = start(['work', 'stubborn', '--', 'sh', '-c', script, 'sh', folder], { JOBTREE_URL: url });
  for await (const { status } of server.client.watchJob(id)) if (status === 'RUNNING') break;
  await startShell(`until [ -s ${folder}/pid ]; do sleep 0.05; done`).ended;
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
  const commandEnded = () => startShell(`while kill -0 ${pid} 2>/dev/null; do sleep 0.05; done`).ended;
  return { program, commandEnded };
}

it('a second signal ends commands at once and gives their items back, at no cost of an attempt', async () => {
  const id = await create('stubborn', [0]);
  const { program, commandEnded } = await startStubborn(id);
  program.process.kill('SIGINT');
  await program.printed('A second Ctrl-C or SIGTERM ends it and gives its item back.\n');
  program.process.kill('SIGTERM');
  const { code, stderr } = await program.ended;
  expect({ code, stderr }).toEqual({
    code: 143,
    stderr: expect.stringMatching(/: given back\.\nStopped: 0 items/),
  });
  await commandEnded();
  expect(await items(id)).toMatchObject([{ status: 'READY', failures: [], assignment: null }]);
  await server.client.cancelJob(id);
});

it('a second signal ends it within a moment, and a third one immediately, while the server does not answer', async () => {
  for (const [first, second, third] of [
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGINT', 'SIGTERM'],
  ] as const) {
    const id = await create('stubborn', [0]);
    const proxy = await startProxy(server.url);
    onTestFinished(() => proxy.close());
    const { program, commandEnded } = await startStubborn(id, proxy.url);
    proxy.swallowAnswers();
    program.process.kill(first);
    await program.printed('Stopping: ');
    program.process.kill(second);
    if (third !== undefined) {
      await program.printed('its command is stopped');
      program.process.kill(third);
    }
    expect(await program.ended).toMatchObject({
      code: 143,
      stderr: expect.stringContaining(
        'Ended at once: 1 item becomes ready again after three missed heartbeats.\n',
      ),
    });
    await commandEnded();
    await server.client.cancelJob(id);
  }
});

it('a command that does not exist is refused before anything is claimed', async () => {
  const id = await create('typo', [0]);
  const { code, stderr } = await run(['work', 'typo', '--', 'no-such-program'], { env: server.env });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'jobtree: There is no program no-such-program to run.\n',
  });
  expect(await items(id)).toMatchObject([{ status: 'READY', failures: [] }]);
});

it('a type that is empty is refused', async () => {
  const ended = await run(['work', '', '--', 'true'], { env: server.env });
  expect(ended).toEqual({
    code: 2,
    stdout: '',
    stderr: 'jobtree: type is empty: name the type of the jobs to work on.\n',
  });
});

it('a worker with a refused key ends, and so does one whose key is for other types', async () => {
  const db = await createDatabase();
  onTestFinished(() => db.drop());
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  onTestFinished(() => app.close());
  const { key } = await makeKey(db, ['worker'], { types: ['mail.*'] });
  const refused = (token: string) =>
    run(['work', 'resize', '--', 'true'], { env: { JOBTREE_URL: app.url, JOBTREE_TOKEN: token } });
  expect(await refused(`${key.slice(0, -3)}abc`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('refuses the caller'),
  });
  expect(await refused('')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The server requires a key: set JOBTREE_TOKEN to one\.\nStopped/),
  });
  expect(await refused(key)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Your scope does not include the type "resize".'),
  });
  // Its claims and its hints are refused, and one line says it.
  const { stderr } = await refused((await makeKey(db, ['producer'])).key);
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(
      /^This needs the role admin or worker; yours: producer\. The key is the one in JOBTREE_TOKEN\.$/,
    ),
    'Stopped: 0 items succeeded, 0 attempts failed.',
  ]);
});

it('--json prints every outcome', async () => {
  const id = await create('told', ['good', 'bad'], { maxFailuresPerItem: 0 });
  const { stdout } = await work(id, 'told', ['grep', 'good'], '--json', '--concurrency', '1');
  const lines = stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { event: 'succeeded', attempt: 1 },
    { event: 'failed', attempt: 1, code: 'EXIT_1', retryAt: null },
  ]);
});

it.each([
  [[], 'none'],
  [['--pass-token'], 'the key'],
])('%j gives the command the key of the worker: %s', async (options, shown) => {
  const type = `token ${shown}`;
  const id = await create(type, [null]);
  const command = ['sh', '-c', 'printenv JOBTREE_TOKEN || echo none'];
  const env = { ...server.env, JOBTREE_TOKEN: 'the key' };
  await run(['work', type, ...options, '--stop-when-idle', '0.5', '--', ...command], { env });
  expect((await items(id)).map(({ result }) => result)).toEqual([shown]);
});

it('--stop-when-idle ends it when nothing is left to do', async () => {
  const id = await create('few', [0]);
  const { code } = await run(['work', 'few', '--stop-when-idle', '3', '--', 'cat'], { env: server.env });
  expect(code).toBe(0);
  expect(await items(id)).toMatchObject([{ status: 'SUCCEEDED', result: 0 }]);
});

it('--stop-when-idle waits until the server has said that nothing is ready', async () => {
  const id = await create('late', [0]);
  const locker = await server.db.connect();
  await locker.query('begin');
  await locker.query('lock table jobtree.queue_entry in access exclusive mode');
  const program = start(['work', 'late', '--stop-when-idle', '0.1', '--', 'cat'], server.env);
  await program.printed('Connected');
  const waiting = `select from pg_locks where relation = 'jobtree.queue_entry'::regclass and not granted
    and waitstart < clock_timestamp() - interval '300 ms'`;
  await expect.poll(async () => (await locker.query(waiting)).rowCount).toBeGreaterThan(0);
  await locker.query('rollback');
  await locker.end();
  expect((await program.ended).code).toBe(0);
  expect(await items(id)).toMatchObject([{ status: 'SUCCEEDED', result: 0 }]);
});

it('an outcome that the server never receives is reported, with exit code 1', async () => {
  const id = await create('unheard', [0]);
  const proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
  const folder = await makeFolder();
  const script = `touch "$1/started"; until [ -f "$1/go" ]; do sleep 0.05; done`;
  const program = start(['work', 'unheard', '--stop-timeout', '1', '--', 'sh', '-c', script, 'sh', folder], {
    JOBTREE_URL: proxy.url,
  });
  await startShell(`until [ -f ${folder}/started ]; do sleep 0.05; done`).ended;
  proxy.cut();
  await program.printed('Trying again…');
  program.process.kill('SIGTERM');
  await startShell(`touch ${folder}/go`).ended;
  const { code, stderr } = await program.ended;
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('stopped before the server knew what became of 1 item'),
  });
  await server.client.cancelJob(id);
});

it('--verbose prints a line for each item', async () => {
  const id = await create('verbose', ['good', 'bad'], { maxFailuresPerItem: 0 });
  const { stderr } = await work(id, 'verbose', ['grep', 'good'], '--verbose', '--concurrency', '1');
  const [good, bad] = await items(id);
  expect(stderr).toMatch(new RegExp(`^${good?.id} succeeded, attempt 1, [\\d.]+ s$`, 'm'));
  expect(stderr).toMatch(new RegExp(`^${bad?.id} failed, attempt 1, [\\d.]+ s \\(for good\\): EXIT_1`, 'm'));
});

it('on a terminal a line counts in place, and messages appear above it', async () => {
  const id = await create('counted', ['good', 'bad'], { maxFailuresPerItem: 0 });
  const program = startOnTerminal(['work', 'counted', '--', 'grep', 'good'], {
    ...server.env,
    NO_COLOR: '1',
  });
  await completion(id);
  await program.printed('1 done, 1 failed, 0 running, ');
  program.process.stdin.write('\x03');
  const { stdout } = await program.ended;
  const shown = stdout.replaceAll('\x1b[K', '');
  expect(shown).toMatch(/\rJobItem:\S+ failed, attempt 1 \(for good\):\s+EXIT_1.*\r\n\r\d done/);
  expect(shown).toMatch(/\rStopped: 1 item succeeded, 1 attempt failed\.\r\n$/);
});
