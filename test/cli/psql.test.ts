/** `jobtree psql`, with the psql of the machine, and without one. */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { environmentOf } from '../../src/cli/commands/psql.ts';
import { useServer } from '../support/use-server.ts';
import { makeFolder } from './folder.ts';
import { run } from './program.ts';

const server = useServer();
const isMissing = process.env.CI === undefined && spawnSync('psql', ['--version']).status !== 0;
const query = ['-At', '-c', 'select count(*) >= 0, current_schema from job'];

it.skipIf(isMissing)('opens psql on DATABASE_URL, in the schema jobtree, with its exit code', async () => {
  const env = { DATABASE_URL: server.db.url };
  expect(await run(['psql', '--', ...query], { env })).toMatchObject({ code: 0, stdout: 't|jobtree\n' });
  const failed = await run(['psql', '--', '-v', 'ON_ERROR_STOP=1', '-c', 'select nothing'], { env });
  expect(failed.code).toBe(1);
});

it.skipIf(isMissing)('opens the embedded Postgres of the folder, as its superuser', async () => {
  const env = { DATABASE_URL: undefined, JOBTREE_DATA_DIR: await makeFolder() };
  const none = await run(['psql'], { env });
  expect(none).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('There is no embedded Postgres in'),
  });
  expect((await run(['migrate'], { env })).code).toBe(0);
  const { code, stdout, stderr } = await run(['psql', '--', ...query, '-c', 'select current_user'], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 't|jobtree\npostgres\n' });
  expect(stderr).toContain('Postgres  embedded, data in ');
});

it('without a psql it says how to connect', async () => {
  const { code, stderr } = await run(['psql'], { env: { DATABASE_URL: server.db.url, PATH: '/nowhere' } });
  expect(code).toBe(1);
  expect(stderr).toContain('psql is not installed. Install it');
  expect(stderr).toContain('DATABASE_URL');
});

it('psql gets the address from its environment', () => {
  expect(
    environmentOf(
      'postgres://a%40b:p%2Fw@db.example.com:6432/my%20db?sslmode=verify-full&sslrootcert=ca.pem',
    ),
  ).toEqual({
    PGHOST: 'db.example.com',
    PGPORT: '6432',
    PGUSER: 'a@b',
    PGPASSWORD: 'p/w',
    PGDATABASE: 'my db',
    PGSSLMODE: 'verify-full',
    PGSSLROOTCERT: 'ca.pem',
    PGOPTIONS: '-c search_path=jobtree,public',
  });
  expect(environmentOf('postgres:///x?host=/run/postgresql')).toMatchObject({ PGHOST: '/run/postgresql' });
  expect(environmentOf('postgres://u@first:5433,[::1]/x')).toMatchObject({
    PGHOST: 'first,::1',
    PGPORT: '5433,',
    PGTARGETSESSIONATTRS: 'primary',
  });
});
