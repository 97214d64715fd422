/** The image has every file that the program reads: what its Dockerfile copies is put together here, and run. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabase } from '../support/database.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('the image can migrate a database and set up its roles', async () => {
  const image = mkdtempSync(join(tmpdir(), 'jobtree-image-'));
  const db = await createDatabase();
  onTestFinished(async () => {
    rmSync(image, { recursive: true });
    await db.drop();
  });
  const copies = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8').matchAll(
    /^COPY --from=build \/jobtree\/(\S+) (\S+)$/gm,
  );
  for (const [, from = '', to = ''] of copies) {
    const target = to.endsWith('/') ? join(image, to, from.split('/').at(-1) ?? '') : join(image, to);
    mkdirSync(resolve(target, '..'), { recursive: true });
    if (from === 'node_modules') symlinkSync(join(root, from), target);
    else cpSync(join(root, from), target, { recursive: true });
  }
  const run = (...args: string[]) =>
    execFileSync(process.execPath, ['dist/cli/main.js', ...args], {
      cwd: image,
      env: { ...process.env, DATABASE_URL: db.url },
      encoding: 'utf8',
    });
  expect(run('--version').trim()).toMatch(/^\d+\.\d+\.\d+/);
  run('migrate');
  expect(run('roles')).toContain('to jobtree_work;');
});
