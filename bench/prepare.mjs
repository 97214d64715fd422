/** What the benchmark needs before it can start: its own packages, those of the tests, and a fresh build of the product. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

function npm(directory, ...words) {
  const { status } = spawnSync('npm', words, {
    cwd: directory,
    // The output of the benchmark is its table alone.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(`${here}node_modules/graphile-worker`)) npm(here, 'ci', '--no-audit', '--no-fund');
npm(`${here}..`, 'run', '--silent', 'development');
npm(`${here}..`, 'run', '--silent', 'build');
