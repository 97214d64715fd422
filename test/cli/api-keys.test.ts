import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { useDatabase } from '../support/use-server.ts';
import { makeFolder } from './folder.ts';
import { run } from './program.ts';

const db = useDatabase();

const apiKeys = (...args: string[]) => run(['api-keys', ...args], { env: { DATABASE_URL: db.url } });

it('keys are created before any server runs, shown once, listed, rotated and revoked', async () => {
  const made = await apiKeys(
    'create',
    'shop',
    '--role',
    'producer',
    'watcher',
    '--type',
    'mail.*',
    '--expires',
    '90d',
  );
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^jobtree_[0-9A-Za-z]{49}\n$/) });
  const named = /^The id of the key, by which you can rotate or revoke it: (ApiKey:\S+)\n$/.exec(made.stderr);
  const list = async () => JSON.parse((await apiKeys('list', '--json')).stdout);
  const key = await list();
  expect(key).toMatchObject({
    id: named?.[1],
    name: 'shop',
    roles: ['producer', 'watcher'],
    types: ['mail.*'],
    revokedAt: null,
    createdBy: 'the command line',
  });
  const listed = await apiKeys('list');
  expect(listed.stdout).toMatch(/ApiKey:\S+ +shop +- +producer,watcher +mail\.\* +never +until /);
  expect(listed.stdout).not.toContain(made.stdout.slice(8, 40));
  const rotated = await apiKeys('rotate', key.id, '--keep', '1h', '--json');
  expect(JSON.parse(rotated.stdout)).toEqual({ id: key.id, key: expect.stringMatching(/^jobtree_/) });
  expect(await apiKeys('revoke', key.id)).toMatchObject({ code: 0, stdout: 'Revoked.\n' });
  expect(await apiKeys('revoke', key.id)).toMatchObject({ code: 0, stdout: 'It was already revoked.\n' });
  expect((await list()).revokedAt).not.toBeNull();
  expect(await apiKeys('rotate', key.id)).toMatchObject({ code: 4 });
  const audit = await db.query(
    'select action, outcome, subjects, actor, address from jobtree.audit_entry order by at',
  );
  const by = { actor: `command line, ${userInfo().username}`, address: hostname() };
  const subjects = ['key shop', 'role producer', 'role watcher', 'type mail.*'];
  expect(audit).toEqual(
    [
      { action: 'createApiKey', outcome: 'OK', subjects },
      { action: 'rotateApiKey', outcome: 'OK', subjects: [key.id] },
      { action: 'revokeApiKey', outcome: 'OK', subjects: [key.id] },
      { action: 'revokeApiKey', outcome: 'OK', subjects: [key.id] },
      { action: 'rotateApiKey', outcome: 'NOT_FOUND', subjects: [key.id] },
    ].map((entry) => ({ ...entry, ...by })),
  );
});

it('the first key in a folder creates its database and names it', async () => {
  const env = { DATABASE_URL: undefined, JOBTREE_DATA_DIR: join(await makeFolder(), 'data') };
  const first = await run(['api-keys', 'create', 'a', '--role', 'admin'], { env });
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^jobtree_\w{49}\n$/) });
  expect(first.stderr).toMatch(/^Created an embedded Postgres in .+\. `jobtree start` uses it/);
  const second = await run(['api-keys', 'create', 'b', '--role', 'worker'], { env });
  expect(second).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Postgres') });
  expect((await run(['api-keys', 'list'], { env })).stdout).toMatch(/ a .*\n.* b /);
});

it('no other command creates a database in a folder without one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'jobtree-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const env = { DATABASE_URL: undefined, JOBTREE_DATA_DIR: join(folder, 'nothing') };
  for (const args of [
    ['api-keys', 'list'],
    ['api-keys', 'revoke', 'ApiKey:01890000-0000-7000-8000-000000000000'],
    ['roles', '--apply'],
  ])
    expect(await run(args, { env })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Run this in the folder where `jobtree start` ran'),
    });
  expect(await readdir(folder)).toEqual([]);
});

it('roles are refused before the tables exist, with advice', async () => {
  const empty = await createDatabase();
  onTestFinished(() => empty.drop());
  await empty.query('drop schema jobtree cascade');
  expect(await run(['roles', '--apply'], { env: { DATABASE_URL: empty.url } })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'jobtree: The database has no jobtree tables: run `jobtree migrate` first.\n',
  });
});

it('roles are refused to an owner who may not create roles, with what to do', async () => {
  const owned = await createDatabase();
  onTestFinished(() => owned.drop());
  const owner = `owner_${new URL(owned.url).pathname.slice(1)}`;
  await owned.query(`create role ${owner} login password 'x'`);
  onTestFinished(async () => {
    await owned.query(`drop owned by ${owner} cascade; drop role ${owner}`);
  });
  await owned.query(
    `grant all on schema jobtree to ${owner}; grant all on all tables in schema jobtree to ${owner}`,
  );
  const url = new URL(owned.url);
  url.username = owner;
  url.password = 'x';
  expect(await run(['roles', '--apply'], { env: { DATABASE_URL: url.href } })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^jobtree: [\s\S]*createrole[\s\S]*`jobtree roles` prints it\.\n$/),
  });
});

it('a key may belong to a tenant', async () => {
  expect(await apiKeys('create', 'mailer', '--role', 'admin', '--tenant', 'acme')).toMatchObject({ code: 0 });
  expect((await apiKeys('list')).stdout).toMatch(/ApiKey:\S+ +mailer +acme +admin +all +never +valid/);
});

it('invalid options of a new key are refused with a reason', async () => {
  expect(await apiKeys('create', 'x')).toMatchObject({ code: 2, stderr: expect.stringContaining('--role') });
  expect(await apiKeys('create', 'x', '--role', 'king')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('admin'),
  });
  expect(await apiKeys('create', 'x', '--role', 'admin', '--type', 'a')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("can't be limited to types"),
  });
  expect(await apiKeys('create', 'x', '--role', 'admin', '--tenant', 'ac*')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('tenant is "ac*"'),
  });
  expect(await apiKeys('revoke', 'nonsense')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('ApiKey:'),
  });
  expect(await apiKeys('revoke', 'ApiKey:00000000-0000-7000-8000-000000000000')).toMatchObject({ code: 4 });
});
