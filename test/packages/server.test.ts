/** The package jobtree, packed and installed alone as for production: without the embedded Postgres. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);
const mb = 1024 * 1024;

/** What compiles, formats, checks, bundles, tests or generates. */
const developmentTools =
  /^(prisma|@prisma\/.*|typescript|tsx|esbuild|@esbuild\/.*|prettier|@biomejs\/.*|@graphql-codegen\/.*|vite|vitest|@types\/.*|playwright.*|eslint.*)$/;
const permissive = /^(MIT|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0|BlueOak-1\.0\.0|Python-2\.0|Unlicense)$/;

let folder: string;
let db: TestDatabase;
let packages: { name: string; license: string; engine: string }[];
beforeAll(async () => {
  db = await createDatabase();
  folder = await mkdtemp(join(tmpdir(), 'jobtree-server-'));
  const npm = (...words: string[]) => execute('npm', words, { cwd: folder });
  // It is built: a build of it now would take away what other tests load.
  await npm('pack', '--ignore-scripts', '--prefix', root, '--pack-destination', folder, root);
  const [tarball = ''] = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
  await writeFile(join(folder, 'package.json'), '{"private": true}');
  // Fails if a package does not work with the Node that runs the tests, which may be the oldest one.
  await npm(
    'install',
    '--engine-strict',
    '--ignore-scripts',
    '--omit=optional',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    `./${tarball}`,
  );
  await rm(join(folder, tarball));
  const lock = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8'));
  packages = Object.entries(
    lock.packages as Record<string, { license?: string; engines?: { node?: string } }>,
  ).map(([path, { license = '', engines }]) => ({
    name: path.replace(/^.*node_modules\//, ''),
    license,
    engine: engines?.node ?? '',
  }));
});
afterAll(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});

it('takes less than 100 MB', async () => {
  const names = await readdir(join(folder, 'node_modules'), { recursive: true });
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(join(folder, 'node_modules', name))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(100 * mb);
});

it('installs no development tool', () => {
  expect(packages.length).toBeGreaterThan(50);
  expect(packages.map(({ name }) => name).filter((name) => developmentTools.test(name))).toEqual([]);
});

it('has only permissive licences', () => {
  expect(packages.filter(({ license }) => !permissive.test(license))).toEqual([]);
});

it('includes the licences of what is built in', async () => {
  const texts = await readFile(join(folder, 'node_modules/jobtree/dist/LICENSES.md'), 'utf8');
  for (const name of ['@prisma/client', '@pothos/plugin-prisma', 'graphql-yoga', 'graphiql', 'codemirror'])
    expect(texts).toMatch(
      new RegExp(`^## ${name} [\\d.]+ \\((MIT|ISC|Apache-2\\.0)\\)\n\n.*[Cc]opyright`, 'ms'),
    );
  const licences = [...texts.matchAll(/^## \S+ \S+ \((.*)\)$/gm)].map(([, licence = '']) => licence);
  expect(licences.filter((licence) => !permissive.test(licence))).toEqual([]);
});

it('runs the demo, with the file of its second part', async () => {
  const env = { ...process.env, DATABASE_URL: db.url, JOBTREE_PORT: '0' };
  const { stdout } = await execute(join(folder, 'node_modules/.bin/jobtree'), ['demo', '--exit'], {
    cwd: folder,
    env,
  });
  expect(stdout).toMatch(/3,376 results.*Everything came out right\./s);
});
