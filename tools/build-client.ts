/**
 * What the compiler leaves to do for the package jobtree-client: graphql-ws, and the one type of typed documents, become part of it. As
 * dependencies they would bring graphql-js along, which is larger than all of the client and used by none of it.
 */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'packages/client/dist');

const ownModulesApart: Plugin = {
  name: 'own modules apart',
  setup(build) {
    build.onResolve({ filter: /^\..*\.ts$/ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: path.replace(/\.ts$/, '.js'), external: true },
    );
  },
};

await build({
  entryPoints: [join(root, 'src/client/socket.ts')],
  outdir: join(dist, 'client'),
  bundle: true,
  format: 'esm',
  target: 'es2023',
  platform: 'neutral',
  external: ['ws'],
  plugins: [ownModulesApart],
});

const graphqlWs = dirname(createRequire(import.meta.url).resolve('graphql-ws/package.json'));
await copyFile(join(graphqlWs, 'LICENSE.md'), join(dist, 'LICENSE-graphql-ws.md'));

const declarations = join(dist, 'generated/operations.d.ts');
const imported = "import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';";
const [before, after] = (await readFile(declarations, 'utf8')).split(imported);
if (after === undefined) throw new Error(`${declarations} imports something else now.`);
const declared = 'interface DocumentTypeDecoration<R, V> { __apiType?: (variables: V) => R }';
await writeFile(declarations, `${before}${declared}${after}`);
