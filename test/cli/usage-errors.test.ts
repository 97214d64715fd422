/** What is said of a command line that can't be used: which value, which rule, and where the help is. */
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { run, startOnTerminal } from './program.ts';

it.each([
  [['jobs', '--limit', '0'], '--limit is "0": give a whole number from 1 to 1000000.', 'jobtree jobs --help'],
  [['jobs', '--limit'], '--limit needs a value: --limit <n>', 'jobtree jobs --help'],
  [['jobs', '--outcome', 'x'], '--outcome is "x": allowed choices are succeeded', 'jobtree jobs --help'],
  [['completion', 'tcsh'], 'shell is "tcsh": allowed choices are bash', 'jobtree completion --help'],
  [['type', 'put', 'x', '0'], 'version is "0": give a whole number from 1', 'jobtree type put --help'],
  [
    ['api-keys', 'create', 'x'],
    "missing required option '--role <role...>'",
    'jobtree api-keys create --help',
  ],
  [['queue', 'x', '--resume', '--pause'], "--pause can't be combined with --resume", 'jobtree queue --help'],
  [['jobs', '--statuss'], "unknown option '--statuss'\n(Did you mean --status?)", 'jobtree jobs --help'],
  [['schedule', 'puut'], "unknown command 'puut'\n(Did you mean put?)", 'jobtree schedule --help'],
  [['callback', 'list'], "unknown command 'list'\n`", 'jobtree callback --help'],
  [
    ['start', '--port', '80'],
    "unknown option '--port'. The settings of the server are environment variables: this one is JOBTREE_PORT.",
    'jobtree start --help',
  ],
  [['top', '--interval', '0'], '--interval is "0": give a time from 100ms to 1d.', 'jobtree top --help'],
  [['top', '--interval', '30d'], '--interval is "30d": give a time from 100ms to 1d.', 'jobtree top --help'],
  [
    ['work', 'x', '--stop-when-idle', '30d', '--', 'cat'],
    '--stop-when-idle is "30d": give a time from 0s to 1d.',
    'jobtree work --help',
  ],
  [
    ['work', 'x', '--stop-timeout', '2d', '--', 'cat'],
    '--stop-timeout is "2d": give a time from 0s to 1d.',
    'jobtree work --help',
  ],
  [['nothing'], "unknown command 'nothing'", 'jobtree help'],
])('%j is refused, and the help that explains it is named', async (args, message, help) => {
  const { code, stdout, stderr } = await run(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.startsWith(`jobtree: ${message}`)).toBe(true);
  expect(stderr.split('\n').at(-2)).toMatch(new RegExp(`^\`${help}\` (explains|lists)`));
});

it.each([40, 80])('a refusal fits a terminal of %i columns, with our name in front', async (columns) => {
  const { stdout } = await startOnTerminal(['update-item', 'x', '--run-at', 'soon'], {}, columns).ended;
  const lines = stripVTControlCharacters(stdout).split(/\r?\n/);
  expect(lines[0]).toMatch(/^jobtree: --run-at is "soon": give/);
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
});

it('a help lists the options that many commands share last', async () => {
  for (const command of ['schedule put', 'cancel-items', 'replay', 'queue']) {
    const { stdout } = await run([...command.split(' '), '--help']);
    const options = [...stdout.matchAll(/^ {2}(?:-h, )?(--[a-z-]+)/gm)].map(([, name]) => name);
    expect([command, ...options.slice(-3)]).toEqual([command, '--url', '--json', '--help']);
  }
});
