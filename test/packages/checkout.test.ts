/** The command in a checkout, as npx runs it. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);

it('a checkout that is not compiled says how to compile it; its command works from then on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'jobtree-checkout-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  const { name, version, type, bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version, type, bin }));
  // A cache of its own, where npx keeps what it finds at first.
  const env = { ...process.env, npm_config_cache: join(folder, 'cache') };
  const npx = () => execute('npx', ['--offline', '--yes', 'jobtree'], { cwd: folder, env });
  await expect(npx()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('`npm run build`') });
  await mkdir(join(folder, 'dist/cli'), { recursive: true });
  await writeFile(join(folder, 'dist/cli/main.js'), "console.log('compiled');");
  expect((await npx()).stdout).toBe('compiled\n');
});
