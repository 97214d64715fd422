/** Programs for browsers, as an application would bundle them. */
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Bundles modules of these texts, by name, of which `main` is the entry; it may import the others as `./name`. */
export async function bundle(
  modules: Readonly<Record<string, string>>,
  platform: 'browser' | 'node' = 'browser',
): Promise<{ code: string; metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    entryPoints: ['./main'],
    bundle: true,
    write: false,
    outdir: root,
    metafile: true,
    format: 'esm',
    target: 'es2022',
    platform,
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    alias: {
      'jobtree-client/react': `${root}/src/client/react.ts`,
      'jobtree-client/element': `${root}/src/client/element.ts`,
      'jobtree-client': `${root}/src/client/index.ts`,
      ...Object.fromEntries(
        ['pg', 'prisma', 'drizzle', 'kysely'].map((name) => [
          `jobtree-client/adapters/${name}`,
          `${root}/src/adapters/${name}.ts`,
        ]),
      ),
    },
    // Left to Node, whose build of it has no browser in mind.
    external: platform === 'node' ? ['ws'] : [],
    plugins: [
      {
        name: 'texts',
        setup: (build) => {
          build.onResolve({ filter: /^\.\// }, ({ path, namespace, kind }) =>
            namespace === 'text' || kind === 'entry-point'
              ? { path: path.slice(2), namespace: 'text' }
              : undefined,
          );
          build.onLoad({ filter: /.*/, namespace: 'text' }, ({ path }) => ({
            contents: modules[path] ?? '',
            loader: 'jsx',
            resolveDir: root,
          }));
        },
      },
    ],
  });
  return { code: outputFiles[0]?.text ?? '', metafile };
}
