/**
 * Writes dist/sbom.json: what the package consists of, in the form of CycloneDX, from the lockfile. Part of packing. (`npm sbom --omit=dev` leaves out
 * whatever a development dependency needs, too, such as graphql and pg.)
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lock, type Locked, reachedFrom } from './lockfile.ts';

const root = join(import.meta.dirname, '..');
const readJson = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const lock = readJson('package-lock.json') as Lock;
const { packages } = lock;
const reached = reachedFrom(lock);
// Parts of these were built in, without what they depend on.
for (const path of readJson('dist/built-in.json') as string[]) if (!reached.has(path)) reached.set(path, []);

const nameOf = (path: string) => packages[path]?.name ?? path.replace(/^.*node_modules\//, '');
const purlOf = (path: string) => `pkg:npm/${nameOf(path).replace('@', '%40')}@${packages[path]?.version}`;

function component(path: string) {
  const { version, license, integrity } = packages[path] as Locked;
  return {
    'bom-ref': purlOf(path),
    type: 'library',
    name: nameOf(path),
    version,
    purl: purlOf(path),
    ...(license !== undefined && { licenses: [{ license: { id: license } }] }),
    ...(integrity !== undefined && {
      hashes: [
        {
          alg: integrity.split('-', 1)[0]?.toUpperCase().replace('SHA', 'SHA-'),
          content: Buffer.from(integrity.slice(integrity.indexOf('-') + 1), 'base64').toString('hex'),
        },
      ],
    }),
  };
}

/** A package may lie in several folders in one version. */
const parts = new Map([...reached.keys()].map((path) => [purlOf(path), path]));
const sorted = [...parts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path);
const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: { component: component('') },
  components: sorted.filter((path) => path !== '').map(component),
  dependencies: sorted.map((path) => ({
    ref: purlOf(path),
    dependsOn: [...new Set(reached.get(path)?.map(purlOf))].toSorted(),
  })),
};
mkdirSync(join(root, 'dist'), { recursive: true });
writeFileSync(join(root, 'dist/sbom.json'), `${JSON.stringify(bom, null, 2)}\n`);
