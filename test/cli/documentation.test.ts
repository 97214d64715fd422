import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { exitCodeMeanings, exitCodes } from '../../src/cli/exit-codes.ts';
import { run } from './program.ts';

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');

test('every exit code is documented', () => {
  for (const name of Object.keys(exitCodes) as (keyof typeof exitCodes)[]) {
    expect(page).toContain(`| ${exitCodes[name]} | ${exitCodeMeanings[name]} |\n`);
  }
});

test('every command and every option is documented, and has help', async () => {
  const { stdout } = await run(['--help']);
  const commands = [...stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name ?? '');
  expect(commands).toEqual(
    expect.arrayContaining([
      'start',
      'migrate',
      'demo',
      'import',
      'watch',
      'export',
      'work',
      'jobs',
      'queues',
      'queue',
      'cancel',
      'delete',
      'cancel-items',
      'update-item',
      'dead-letters',
      'replay',
      'discard',
      'note',
    ]),
  );
  await Promise.all(
    commands
      .filter((name) => name !== 'help')
      .map(async (name) => {
        expect(page).toContain(`| \`jobtree ${name}`);
        const help = (await run([name, '--help'])).stdout;
        for (const [option] of help.matchAll(/--[a-z-]+/g))
          if (option !== '--help') expect(page).toContain(option);
      }),
  );
});
