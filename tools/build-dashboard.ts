/**
 * Bundles the dashboard for browsers, into dist/dashboard, and the page of one tree, into dist/watch: each a page and its files, compressed, with
 * their hashes in their names.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { build, type Rollup } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Returns the folders of the packages that became part of them. */
export async function buildDashboard(): Promise<readonly string[]> {
  const dashboard = await buildPage('src/dashboard', 'dist/dashboard');
  return [...new Set([...dashboard, ...(await buildPage('src/dashboard/watch', 'dist/watch'))])];
}

async function buildPage(source: string, target: string): Promise<readonly string[]> {
  const folder = join(root, target);
  const built = await build({
    root: join(root, source),
    configFile: false,
    logLevel: 'error',
    // The page may be behind any prefix: it names its files relative to itself.
    base: './',
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2022',
      // These know light-dark(), as all do since 2024: it is not written out.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      assetsInlineLimit: 0,
      // What a screen imports is fetched together with it. Every browser that knows light-dark() knows how.
      modulePreload: { polyfill: false },
      rolldownOptions: {
        // What every screen needs is one file, which is smaller than several, and has nothing that is loaded later. What several screens
        // share is another: a screen is there after two requests, instead of twenty.
        output: {
          codeSplitting: {
            groups: [
              {
                name: (id, chunks) => {
                  const entries = entriesOf(id, chunks);
                  if (entries.some((entry) => entry.isEntry)) return 'first';
                  return entries.length > 1 ? 'shared' : null;
                },
              },
            ],
          },
        },
      },
    },
  });
  for (const path of await readdir(folder, { recursive: true })) {
    if (!/\.\w+$/.test(path)) continue;
    const content = await readFile(join(folder, path));
    await writeFile(join(folder, `${path}.gz`), await promisify(gzip)(content, { level: 9 }));
    await rm(join(folder, path));
  }
  const { output } = built as Rollup.RollupOutput;
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  const folders = modules.map((path) => /node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  return folders.filter((one) => one !== undefined);
}

/** What is loaded by itself, the page or a screen, and imports a module with it: directly, or through others. */
function entriesOf(id: string, chunks: { getModuleInfo: Rollup.GetModuleInfo }): Rollup.ModuleInfo[] {
  const met = new Set([id]);
  for (const one of met) for (const importer of chunks.getModuleInfo(one)?.importers ?? []) met.add(importer);
  const modules = [...met].map((one) => chunks.getModuleInfo(one)).filter((info) => info !== null);
  return modules.filter((info) => info.isEntry || info.dynamicImporters.length > 0);
}
