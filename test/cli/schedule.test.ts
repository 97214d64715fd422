import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { example } from '../support/documentation.ts';
import { useServer } from '../support/use-server.ts';
import { makeFile } from './folder.ts';
import { run, startShell } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });
const schedule = (...args: string[]) => run(['schedule', ...args], env());

it('the documented commands work as described', async () => {
  const file = await makeFile('ping.json', JSON.stringify({ type: 'ping', sealed: true }));
  const commands = example('schedules.md', 'cli').replaceAll(/^jobtree/gm, '$JOBTREE');
  const { code, stdout, stderr } = await startShell(`set -e; cd '${dirname(file)}'; ${commands}`, server.env)
    .ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('Created: the next occurrence is');
  expect(stdout).toMatch(/^nightly +30 2 \* \* \* Europe\/Berlin +\S+Z +ok$/m);
  expect(stdout).toMatch(/^heartbeat +every 600s +\S+Z +ok$/m);
  expect(stdout).toMatch(/^template +.*"yesterday"/m);
  expect(stdout).toContain('Paused.\nResumed: the next occurrence is');
  expect(stdout).toMatch(/^Skipped \S+Z: the next occurrence is/m);
  expect(stdout).toMatch(/^Job:\S+\nID /m);
  expect(stdout).toMatch(/^Job:\S+ +bill +waiting/m);
  expect(stdout.endsWith('Deleted.\n')).toBe(true);
});

it('put says whether anything changed, and keeps a pause unless told otherwise', async () => {
  const put = (...args: string[]) => schedule('put', 'twice', '--every', '1h', '--type', 'x', ...args);
  expect((await put('--paused')).stdout).toBe('Created: it is paused.\n');
  expect((await put()).stdout).toBe('Unchanged: it is paused.\n');
  expect((await put('--no-paused', '--overlap', 'queue', '--missed', 'run-all')).stdout).toMatch(
    /^Changed: the next/,
  );
  const { stdout } = await schedule('show', 'twice', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    everyMs: 3_600_000,
    overlap: 'QUEUE',
    missed: 'RUN_ALL',
    pausedAt: null,
  });
});

it('the list shows that a schedule only skips, and since when', async () => {
  await schedule('put', 'stuck', '--every', '1s', '--overlap', 'skip', '--type', 'stuck');
  const list = async () => (await run(['schedules'], env())).stdout;
  await expect.poll(list, { timeout: 10_000 }).toMatch(/^stuck .* skipping since \d{4}-\S+Z$/m);
});

it('show names policies as put takes them', async () => {
  await schedule('put', 'shown', '--every', '1h', '--missed', 'run-all', '--overlap', 'queue', '--type', 'x');
  expect((await schedule('show', 'shown')).stdout).toMatch(/^missed +run-all\noverlap +queue$/m);
});

it('sync puts the schedules of a file, all or none, and deletes others on request', async () => {
  const spec = (name: string, everyMs = 60_000) => ({ name, everyMs, template: { type: 'x' } });
  const file = await makeFile('schedules.json', JSON.stringify([spec('app/a'), spec('app/b')]));
  expect((await schedule('sync', file)).stdout).toBe('2 created, 0 changed, 0 deleted.\n');
  writeFileSync(file, JSON.stringify([spec('app/b', 61_000)]));
  const json = await schedule('sync', file, '--delete-others', '--prefix', 'app/', '--json');
  expect(JSON.parse(json.stdout)).toEqual({ created: [], changed: ['app/b'], deleted: ['app/a'] });
  writeFileSync(file, JSON.stringify([spec('app/c'), spec('app/d', 0)]));
  const refused = await schedule('sync', file);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(/^jobtree: schedules\[1\]\.times\.everyMs/);
  expect((await schedule('show', 'app/c')).code).toBe(4);
});

it('impossible requests are refused at once', async () => {
  const file = await makeFile('bad.json', '{');
  const cases: [string[], number, string][] = [
    [['show', 'nobody'], 4, 'There is no schedule nobody'],
    [['pause', 'nobody'], 4, 'There is no schedule nobody'],
    [['delete', 'nobody'], 4, 'There is no schedule nobody'],
    [['put', 'x', '--every', '1h'], 2, 'Give either --template'],
    [['put', 'x', '--type', 'x'], 2, 'Give either --cron or --every.'],
    [
      ['put', 'x', '--every', '1h', '--cron', '0 0 * * *', '--type', 'x'],
      2,
      'Give either --cron or --every.',
    ],
    [['put', 'x', '--every', '0', '--type', 'x'], 2, 'everyMs'],
    [
      ['put', 'x', '--every', '1h', '--type', 'x', '--start-at', 'soon'],
      2,
      '--start-at is "soon": give a time',
    ],
    [['skip', 'x', '--at', 'soon'], 2, '--at is "soon": give a time'],
    [['put', 'x', '--cron', '0 0 30 2 *', '--type', 'x'], 2, 'never occurs'],
    [['put', 'x', '--every', '1h', '--type', 'x', '--payload', '{'], 2, '--payload is not valid JSON'],
    [['put', 'x', '--every', '1h', '--template', file], 6, 'not valid JSON'],
    [['sync', 'nothing.json'], 6, "can't be read"],
  ];
  for (const [args, code, message] of cases) {
    const ended = await schedule(...args);
    expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code, stdout: '' });
    expect(ended.stderr).toContain(message);
  }
});
