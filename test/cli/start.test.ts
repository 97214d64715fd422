import { createServer } from 'node:http';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { toText } from '../../src/cli/terminal-log.ts';
import { freePort } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { makeFolder } from './folder.ts';
import { run, start, startOnTerminal } from './program.ts';

const database = useDatabase();

const free = { JOBTREE_PORT: '0' };
const connections = async (condition: string) =>
  (await database.query(`select from pg_stat_activity where datname = current_database() and ${condition}`))
    .length;

it('says where it listens, serves, and ends cleanly at SIGTERM', async () => {
  const program = start(['start'], { DATABASE_URL: database.url, ...free });
  await program.printed('"msg":"ready"');
  program.process.kill('SIGTERM');
  const { code, stdout, stderr } = await program.ended;
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^Postgres {2}127\.0\.0\.1:\d+\/test_\w+\nAPI {7}http:\/\/127\.0\.0\.1:\d+\/graphql\nDashboard http:\/\/127\.0\.0\.1:\d+\/dashboard\/\nGraphiQL {2}.*\nAccess {4}open: /,
    ),
  });
  for (const line of stderr.trimEnd().split('\n'))
    expect(JSON.parse(line)).toMatchObject({ name: 'jobtree' });
});

it('on a terminal its log is text for people', async () => {
  const program = startOnTerminal(['start'], { DATABASE_URL: database.url, ...free, NO_COLOR: '1' });
  await program.printed('ready');
  program.process.stdin.write('\x03');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d info {2}ready {2}url=http:\S+ {2}processes=1\r$/m);
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d info {2}stopped\r$/m);
  expect(stdout).not.toContain('"msg"');
});

it('a line of the log has no control characters, and includes errors', () => {
  const entry = {
    time: 0,
    pid: 1,
    name: 'jobtree',
    type: '\u001b[2J x',
    err: { message: 'm\u0007', stack: 'at\u0007' },
  };
  const clean = (level: number) => stripVTControlCharacters(toText({ ...entry, level, msg: 'a\u001b]b' }));
  const line = String.raw`a\u001b]b  type="\u001b[2J x"  error=m\u0007`;
  expect(clean(40)).toMatch(/^\d\d:\d\d:\d\d warn {2}/);
  expect(clean(40).slice('00:00:00 warn  '.length)).toBe(line);
  expect(clean(50).slice('00:00:00 error '.length)).toBe(`${line}\n${String.raw`at\u0007`}`);
});

it('does not start on a public address without a decision about authentication', async () => {
  const env = { DATABASE_URL: database.url, ...free, JOBTREE_HOST: '0.0.0.0' };
  for (const command of [['start'], ['start', '--processes', '2']]) {
    const { code, stdout, stderr } = await run(command, { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/JOBTREE_AUTH=keys .*jobtree api-keys create .*JOBTREE_AUTH=none/);
  }
});

it('requires keys if the settings say so', async () => {
  const program = start(['start'], { DATABASE_URL: database.url, ...free, JOBTREE_AUTH: 'keys' });
  await program.printed('"msg":"ready"');
  program.process.kill('SIGTERM');
  expect((await program.ended).stdout).toContain('Access    by keys\n');
});

it('after an uncaught fault it finishes its requests, logs the first fault as fatal, and exits once with status 1', async () => {
  const port = String(await freePort());
  const program = start(['start'], {
    DATABASE_URL: database.url,
    JOBTREE_PORT: port,
    NODE_OPTIONS: `--import ${new URL('fault.mjs', import.meta.url).href}`,
  });
  await program.printed('"msg":"ready"');
  const locker = await database.connect();
  await locker.query('begin');
  await locker.query('lock table jobtree.job');
  const answer = fetch(`http://127.0.0.1:${port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ jobs { nodes { id } } }' }),
  });
  await expect.poll(() => connections(`wait_event_type = 'Lock'`)).toBe(1);
  program.process.kill('SIGUSR2');
  await program.printed('another uncaught fault');
  await locker.query('rollback');
  await locker.end();
  expect((await answer).status).toBe(200);
  const { code, stderr } = await program.ended;
  expect(code).toBe(1);
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.filter(({ level }) => level === 60)).toMatchObject([{ err: { message: 'a rejection' } }]);
  expect(lines.filter(({ msg }) => msg === 'shutting down')).toHaveLength(1);
});

it('continues without its database, and answers again once it is back', async () => {
  const port = String(await freePort());
  const program = start(['start'], {
    DATABASE_URL: database.url,
    JOBTREE_PORT: port,
    // Sweeps would keep the connection busy that is to notice, and have its error for themselves.
    JOBTREE_SWEEP_INTERVAL_MS: '60000',
  });
  await program.printed('"msg":"ready"');
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  await expect.poll(() => connections(`application_name = 'jobtree' and state = 'active'`)).toBe(0);
  expect(await connections(`application_name = 'jobtree'`)).toBeGreaterThan(0);
  await database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  await program.printed(
    '"reason":"terminating connection due to administrator command","msg":"a connection to Postgres broke"',
  );
  await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  expect(program.process.exitCode).toBeNull();
  program.process.kill('SIGINT');
  expect((await program.ended).code).toBe(0);
});

it('a Ctrl-C that arrives twice, as npm passes it on, ends it cleanly', async () => {
  const program = start(['start'], { DATABASE_URL: database.url, ...free });
  await program.printed('"msg":"ready"');
  program.process.kill('SIGINT');
  await program.printed('"msg":"shutting down"');
  program.process.kill('SIGINT');
  expect(await program.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('"msg":"stopped"') });
});

it('invalid and unknown settings stop the start, and all are listed', async () => {
  const env = {
    DATABASE_URL: 'mysql://x',
    JOBTREE_PORT: 'many',
    JOBTREE_POOL_SIZE: '1',
    JOBTREE_PROT: '4000',
  };
  const { code, stdout, stderr } = await run(['start'], { env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  for (const name of Object.keys(env))
    expect(stderr).toMatch(new RegExp(`^  ${name} (must start|is "\\w+": it must be|is not a setting)`, 'm'));
  expect(stderr.trimEnd().split('\n')).toHaveLength(5);
  expect(stderr).toMatch(/^ {2}JOBTREE_PROT is not a setting: did you mean JOBTREE_PORT\?$/m);
});

it('the variables that `jobtree work` sets for commands are not unknown settings', async () => {
  const env = {
    DATABASE_URL: database.url,
    JOBTREE_URL: 'http://x',
    JOBTREE_ITEM_ID: 'a',
    JOBTREE_JOB_ID: 'b',
    JOBTREE_TYPE: 'c',
    JOBTREE_ATTEMPT: '1',
  };
  expect(await run(['migrate'], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('up to date'),
  });
});

it('a port in use and an unreachable database are reported in one line', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const taken = await run(['start'], {
    env: { DATABASE_URL: database.url, JOBTREE_PORT: String(port), JOBTREE_LOG_LEVEL: 'silent' },
  });
  expect(taken).toMatchObject({
    code: 1,
    stderr: `jobtree: Another program uses port ${port} of 127.0.0.1: stop it, or set JOBTREE_PORT to another port.\n`,
  });
  await new Promise((resolve) => other.close(resolve));
  const gone = await run(['start'], { env: { DATABASE_URL: `postgres://127.0.0.1:${port}/x`, ...free } });
  expect(gone).toMatchObject({
    code: 5,
    stderr: `jobtree: Can't connect to Postgres at 127.0.0.1:${port}: ECONNREFUSED.\n`,
  });
});

it('migrate prepares the embedded Postgres, names its folder, and says what it applied', async () => {
  const folder = join(await makeFolder(), 'data');
  const env = { DATABASE_URL: undefined, JOBTREE_DATA_DIR: folder };
  const { code, stdout } = await run(['migrate'], { env });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    new RegExp(`^Postgres  embedded, data in ${folder}\n(?:Applying \\w+\n)+Applied \\d+ migrations\\.\n$`),
  );
});
