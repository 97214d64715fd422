import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { settingDescriptions } from '../../src/config/settings.ts';
import { run, startOnTerminal } from './program.ts';

/** Of all commands with their own options. */
function all(command: Command, path = ''): { path: string; command: Command }[] {
  return command.commands.flatMap((one) => {
    const own = `${path} ${one.name()}`.trim();
    return [{ path: own, command: one }, ...all(one, own)];
  });
}

it('the help of every command describes every option', () => {
  for (const { path, command } of all(createProgram())) {
    for (const { long, description } of command.options) expect(description, `${path} ${long}`).not.toBe('');
  }
});

it('the short help fits a screen of 80 by 24 and names every command', async () => {
  const { code, stdout } = await run(['--help']);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeLessThan(24);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  const words = stdout.split(/\s+/);
  for (const command of createProgram().commands) expect(words).toContain(command.name());
});

it.each([80, 40])('every help fits a terminal of %i columns', async (columns) => {
  const commands = all(createProgram()).map(({ path }) => path);
  const helps = [
    '',
    'help commands',
    'help settings',
    'help exit-codes',
    ...commands.map((path) => `help ${path}`),
  ];
  // A long name or address keeps its line to itself.
  const isLong = (line: string) => line.trim().split(' ').length > 1 && line.length > columns;
  await Promise.all(
    helps.map(async (words) => {
      const { code, stdout } = await startOnTerminal(words.split(' ').filter(Boolean), {}, columns).ended;
      if (words !== '') expect(code).toBe(0);
      const lines = stripVTControlCharacters(stdout).split(/\r?\n/);
      expect({ words, long: lines.filter(isLong) }).toEqual({ words, long: [] });
    }),
  );
});

it('help explains commands, settings and exit codes, and refuses unknown topics', async () => {
  const settings = (await run(['help', 'settings'])).stdout;
  for (const { name, standard } of settingDescriptions)
    expect(settings).toContain(`  ${name} (${standard})\n`);
  const some = (await run(['help', 'settings', 'redis'])).stdout;
  expect(some).toContain('REDIS_URL');
  expect(some).not.toContain('JOBTREE_PORT');
  expect((await run(['help', 'exit-codes'])).stdout).toContain('4         what an id or a name stands for');
  expect((await run(['help', 'schedule', 'put'])).stdout).toContain('--cron');
  expect((await run(['help', 'commands'])).stdout).toContain('Turn the rows of a file');
  for (const words of [['nothing'], ['schedule', 'nothing'], ['settings', 'nothing-of-that-kind']]) {
    const { code, stdout, stderr } = await run(['help', ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('nothing');
  }
});

it.each([
  ['pause', 'jobtree queue TYPE --pause'],
  ['failed', 'jobtree dead-letters'],
  ['logs', 'jobtree items JobItem:ID'],
  ['status', 'jobtree watch ID'],
  ['retry', 'jobtree replay'],
  ['export', 'jobtree results ID --out FILE'],
  ['list', 'jobtree jobs'],
  ['ls', 'jobtree jobs'],
  ['stats', 'jobtree top'],
  ['add', 'jobtree import FILE'],
  ['stop', 'jobtree cancel ID'],
])('the word that other queues use for %s leads to its name here', async (guess, command) => {
  const { code, stdout, stderr } = await run([guess]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(`unknown command '${guess}'. `);
  expect(stderr).toContain(command);
});
