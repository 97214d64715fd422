/** The examples of a page in TypeScript as modules, for tests that run them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import { afterAll, beforeAll } from 'vitest';
import { bundle } from './bundle.ts';
import { example } from './documentation.ts';

const parent = fileURLToPath(new URL('../client', import.meta.url));

/** To be called at the top of a test file. */
export function useExamples(page: string) {
  let folder: string;
  let count = 0;
  beforeAll(async () => {
    // Below the root, where Node finds packages.
    folder = await mkdtemp(join(parent, '.examples-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** An example as a file that Node can run. */
  async function build(name: string): Promise<string> {
    const { code: main } = await transform(example(page, name), { loader: 'ts' });
    const file = join(folder, `${name}-${count++}.mjs`);
    await writeFile(file, (await bundle({ main }, 'node')).code);
    return file;
  }

  /** Runs an example, and returns what it exports. */
  const load = async <Exports>(name: string) =>
    (await import(pathToFileURL(await build(name)).href)) as Exports;
  return { build, load };
}
