/** What `npm ci` installs for somebody who tries the demo: what tests and checks need is left out. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import type { Lock } from '../../tools/lockfile.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const { packages } = JSON.parse(read('package-lock.json')) as Lock;
const { workspaces } = JSON.parse(read('package.json'));
const installed = Object.keys(packages).filter(
  (path) => path.includes('node_modules/') && !packages[path]?.dev && !packages[path]?.os,
);

// npm installs an optional peer dependency, too, if the lockfile has it: that is why Prisma's command line has another name than its package.
it('npm ci installs at most 400 packages, apart from those for one platform', () => {
  expect(read('.npmrc')).toMatch(/^omit=dev$/m);
  expect(installed.length).toBeGreaterThan(200);
  expect(installed.length).toBeLessThanOrEqual(400);
});

it.each(['graphql', 'react', 'react-dom'])('there is one copy of %s', (name) => {
  const copies = Object.keys(packages).filter((path) => path.endsWith(`node_modules/${name}`));
  expect(copies).toEqual([`node_modules/${name}`]);
});

it('the image is built from the package.json of every workspace', () => {
  for (const folder of workspaces) {
    expect(read('deploy/Dockerfile')).toContain(`COPY ${folder}/package.json ${folder}/\n`);
  }
});
