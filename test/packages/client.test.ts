/** The package jobtree-client, packed and installed alone into a project outside of the repository. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useServer } from '../support/use-server.ts';

const server = useServer();
const root = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);
const mb = 1024 * 1024;

const program = `
import { createClient, defineType, type JobProgress, Worker } from 'jobtree-client';

const double = defineType<number, number>('double');
const client = createClient({ url: process.env.JOBTREE_URL ?? '' });
const worker = new Worker({ client, types: { double: { concurrency: 2, handler: double.handler((n) => n * 2) } } });
await worker.start();
const job = await client.createJob(double.job({ items: [1, 2, 3], sealed: true }));
let last: JobProgress | undefined;
for await (last of client.watchJob(job.id)) {}
console.log(last?.message, last?.succeeded);
for await (const { result } of client.results(job.id)) console.log(result);
await worker.stop();
await client.close();
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobtree-client-'));
  const npm = (...words: string[]) => execute('npm', words, { cwd: folder });
  // It is built: a build of it now would take away what other tests load.
  await npm(
    'pack',
    '--ignore-scripts',
    '--workspace',
    'jobtree-client',
    '--prefix',
    root,
    '--pack-destination',
    folder,
  );
  const [tarball = ''] = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
  await writeFile(join(folder, 'package.json'), '{"type": "module", "private": true}');
  await npm('install', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`);
  await rm(join(folder, tarball));
  await writeFile(join(folder, 'main.ts'), program);
});
afterAll(() => rm(folder, { recursive: true }));

it('is small', async () => {
  const lock = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8'));
  const packages = Object.keys(lock.packages);
  expect(packages.length).toBeLessThan(10);
  const names = await readdir(join(folder, 'node_modules'), { recursive: true });
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(join(folder, 'node_modules', name))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(3 * mb);
});

it.each(['nodenext', 'bundler'])('has complete types with moduleResolution %s', async (resolution) => {
  const words = [
    '--strict',
    '--noEmit',
    '--exactOptionalPropertyTypes',
    '--target',
    'es2022',
    '--lib',
    'es2023,dom',
  ];
  const module = resolution === 'bundler' ? 'esnext' : 'nodenext';
  const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node'];
  const tsc = join(root, 'node_modules/.bin/tsc');
  await execute(tsc, [...words, ...types, '--module', module, '--moduleResolution', resolution, 'main.ts'], {
    cwd: folder,
  });
});

it('works under Node', async () => {
  const env = { ...process.env, JOBTREE_URL: server.url };
  const { stdout } = await execute(join(root, 'node_modules/.bin/tsx'), ['main.ts'], { cwd: folder, env });
  expect(stdout).toBe('Job complete 3\n2\n4\n6\n');
});

it.each([
  [`export { watchJob } from 'jobtree-client';`, 10],
  [`export { useJobProgress } from 'jobtree-client/react';`, 10],
  [`import 'jobtree-client/element';`, 12],
])('gives browsers %s in %d kB, compressed', async (contents, kb) => {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: folder },
    external: ['react'],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
  });
  const code = outputFiles[0]?.contents ?? '';
  expect(code.length).toBeGreaterThan(10_000);
  expect(gzipSync(code).length).toBeLessThanOrEqual(kb * 1_000);
});

it('includes the licences of what is built in', async () => {
  const files = await readdir(join(folder, 'node_modules/jobtree-client/dist'));
  expect(files).toContain('LICENSE-graphql-ws.md');
});
