/** The scripts of `jobtree completion` in the shells themselves. zsh and fish are skipped where they are not installed, but never in CI. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { cli } from '../support/server.ts';
import { makeFolder } from './folder.ts';
import { run, startShell } from './program.ts';

const isMissing = (shell: string) =>
  process.env.CI === undefined && spawnSync(shell, ['-c', 'true']).status !== 0;

/** A folder with the script, a program `jobtree`, and two files. */
async function prepare(shell: string) {
  const folder = await makeFolder();
  const { code, stdout } = await run(['completion', shell]);
  expect(code).toBe(0);
  await writeFile(join(folder, 'script'), stdout);
  await writeFile(join(folder, 'jobtree'), `#!/bin/sh\nexec ${process.execPath} ${cli} "$@"\n`);
  await chmod(join(folder, 'jobtree'), 0o755);
  await writeFile(join(folder, 'people.csv'), '');
  await writeFile(join(folder, 'with blank.csv'), '');
  return { folder, env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}`, HOME: folder } };
}

/** What is typed, and some of what it can become; `!` before what it must not. */
const cases: [typed: string, ...found: string[]][] = [
  ['jobtree ', 'start', 'import', 'help', '!put'],
  ['jobtree sche', 'schedule', 'schedules', '!start'],
  ['jobtree schedule ', 'put', 'sync', '!import'],
  ['jobtree schedule put --mis', '--missed'],
  ['jobtree schedule put nightly --missed ', 'skip', 'run-once', 'run-all', '!put'],
  ['jobtree import --form', '--format', '!--flat'],
  ['jobtree import peo', 'people.csv'],
  ['jobtree import people.csv --type x --format ', 'csv', 'ndjson'],
  ['jobtree completion ', 'bash', 'zsh', 'fish'],
  ['jobtree results --out peo', 'people.csv'],
];

function check(typed: string, found: string[], offered: readonly string[]): void {
  for (const one of found)
    if (one.startsWith('!')) expect([typed, ...offered]).not.toContain(one.slice(1));
    else expect([typed, ...offered]).toContain(one);
}

it('bash', async () => {
  const { folder, env } = await prepare('bash');
  for (const [typed, ...found] of cases) {
    const words = typed.split(' ').map((word) => `'${word}'`);
    const script = `source ./script; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _jobtree; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const offered = execFileSync('bash', ['--norc', '-c', script], { cwd: folder, env, encoding: 'utf8' });
    check(typed, found, offered.split('\n'));
  }
  const blank = `source ./script; COMP_WORDS=(jobtree import with); COMP_CWORD=2; _jobtree; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(execFileSync('bash', ['--norc', '-c', blank], { cwd: folder, env, encoding: 'utf8' })).toBe(
    'with blank.csv\n',
  );
});

it.skipIf(isMissing('fish'))('fish', async () => {
  const { folder, env } = await prepare('fish');
  for (const [typed, ...found] of cases) {
    const script = `source ./script; complete -C '${typed}'`;
    const offered = execFileSync('fish', ['--no-config', '-c', script], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    check(
      typed,
      found,
      offered.split('\n').map((line) => line.split('\t')[0] ?? ''),
    );
  }
});

it.skipIf(isMissing('zsh'))('zsh', async () => {
  const { folder, env } = await prepare('zsh');
  const setUp = `cd ${folder}; PS1='> '; autoload -U compinit; compinit -u -D; zstyle ':completion:*' list-prompt ''; LISTMAX=10000; eval "$(cat script)"; echo rea""dy`;
  for (const [typed, ...found] of cases) {
    // On a terminal of its own, as somebody types it: Tab twice lists what there is.
    const shell = startShell("exec script -qec 'stty cols 120 rows 100; exec zsh -f -i' /dev/null", env);
    shell.process.stdin.write(`${setUp}\n`);
    await shell.printed('ready\r\n');
    shell.process.stdin.write(`${typed}\t\t`);
    for (const one of found) if (!one.startsWith('!')) await shell.printed(one);
    shell.process.kill('SIGKILL');
  }
});

it('an unknown shell is refused', async () => {
  const { code, stderr } = await run(['completion', 'tcsh']);
  expect(code).toBe(2);
  expect(stderr).toContain('allowed choices are bash, zsh, fish.');
});
