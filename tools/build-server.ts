/**
 * What the compiler leaves to do for the package jobtree, in dist:
 *
 * - Packages of which the server needs a small part become part of it: the client of Prisma, which has query compilers for five databases
 *   (72 MB; ours is 2 MB), and what writes TypeScript for `jobtree types`, which brings Prettier along. GraphQL Yoga does too, since it allows newer
 *   versions of its own dependencies than the oldest Node of ours can run.
 * - The page of GraphiQL and the dashboard are bundled for browsers.
 * - The file of the demo's second part is copied.
 *
 * dist/built-in.json says which packages that are, for tools/sbom.ts; dist/LICENSES.md has their licences.
 */
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { build, type Metafile, type Plugin } from 'esbuild';
import { buildDashboard } from './build-dashboard.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

const builtIn = /^(@prisma\/|@pothos\/plugin-prisma|graphql-yoga|json-schema-to-typescript)/;

/** Modules that import what becomes part of the server. The compiler has left out what they import as types alone. */
async function findImporters(): Promise<string[]> {
  const files = (await readdir(dist, { recursive: true })).filter((file) => file.endsWith('.js'));
  const texts = await Promise.all(files.map((file) => readFile(join(dist, file), 'utf8')));
  const specifiers = (text = '') => [...text.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)];
  const found = files.filter((_, i) =>
    specifiers(texts[i]).some(([, specifier = '']) => builtIn.test(specifier)),
  );
  return found.map((file) => file.slice(0, -'.js'.length));
}

const othersApart: Plugin = {
  name: 'other modules apart',
  setup(build) {
    build.onResolve({ filter: /^[^/]/ }, ({ path, kind, importer }) => {
      if (kind === 'entry-point' || importer.includes('node_modules') || builtIn.test(path)) return undefined;
      return { path: path.replace(/(?<=^\..*)\.ts$/, '.js'), external: true };
    });
    // One copy of these, for all that use them.
    build.onResolve({ filter: /^(@pothos\/core|graphql|pg)(\/|$)/ }, ({ path }) => ({
      path,
      external: true,
    }));
    // A formatter as large as the server: `jobtree types` sets its text itself.
    build.onResolve({ filter: /^prettier$/ }, ({ path }) => ({ path, namespace: 'none' }));
    // The generator of Pothos, and the command of json-schema-to-typescript, run while developing.
    build.onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'export {};' }));
  },
};

// Those of older builds have other names.
await rm(join(dist, 'built-in'), { recursive: true, force: true });
const server = await build({
  entryPoints: (await findImporters()).map((name) => ({ in: join(root, `src/${name}.ts`), out: name })),
  outdir: dist,
  chunkNames: 'built-in/[name]-[hash]',
  bundle: true,
  splitting: true,
  metafile: true,
  format: 'esm',
  target: 'es2023',
  platform: 'node',
  sourcemap: 'linked',
  sourcesContent: false,
  // CommonJS among them asks for modules of Node.
  banner: {
    js: "import { createRequire as createRequireOfModule } from 'node:module'; const require = createRequireOfModule(import.meta.url);",
  },
  plugins: [othersApart],
});

/** The page has the fonts of the system: those of GraphiQL are three times as large as all of its styles. */
const withoutFonts: Plugin = {
  name: 'without fonts',
  setup(build) {
    build.onLoad({ filter: /graphiql\/dist\/style\.css$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(/@font-face\s*\{[^}]*\}/g, ''),
      loader: 'css',
    }));
  },
};

const page = await build({
  entryPoints: ['ts', 'css'].map((ending) => ({
    in: join(root, `src/graphiql/page.${ending}`),
    out: 'graphiql',
  })),
  outdir: join(dist, 'graphiql'),
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: 'iife',
  target: 'es2022',
  platform: 'browser',
  legalComments: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [withoutFonts],
});
await rm(join(dist, 'graphiql'), { recursive: true, force: true });
await mkdir(join(dist, 'graphiql'), { recursive: true });
for (const { path, contents } of page.outputFiles) {
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 16);
  const name = path.replace(/.*\/graphiql\.(\w+)$/, `graphiql-${hash}.$1.gz`);
  await writeFile(join(dist, 'graphiql', name), await promisify(gzip)(contents, { level: 9 }));
}

await copyFile(join(root, 'src/cli/demo/airports.csv'), join(dist, 'cli/demo/airports.csv'));

/** The folders of the packages that became part of something. */
function packagesIn({ inputs }: Metafile): string[] {
  const folders = Object.keys(inputs).map((path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  return folders.filter((folder) => folder !== undefined);
}

const inPages = [...packagesIn(page.metafile), ...(await buildDashboard())];
const folders = [...new Set([...packagesIn(server.metafile), ...inPages])].toSorted();
const licences = await Promise.all(
  folders.map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));
    const files = (await readdir(join(root, folder))).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const texts = await Promise.all(files.map((file) => readFile(join(root, folder, file), 'utf8')));
    return `## ${name} ${version} (${license})\n\n${texts.map((text) => text.trim()).join('\n\n')}\n`;
  }),
);
const title = 'Packages that are part of this one, wholly or in part, and their licences.';
await writeFile(join(dist, 'LICENSES.md'), `${title}\n\n${[...new Set(licences)].join('\n')}`);
await writeFile(join(dist, 'built-in.json'), `${JSON.stringify(folders, null, 2)}\n`);
