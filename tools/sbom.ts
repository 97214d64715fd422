// Writes dist/sbom.json: what the package consists of, in the form of CycloneDX, from the lockfile. Part of packing. (`npm sbom --omit=dev` leaves out
// whatever a development dependency needs, too, such as graphql and pg.)

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const root = join(import.meta.dirname, '..');
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, Locked>>;
};

/** What must be there for a package to work, or is if it can be. */
function needs({
  dependencies,
  optionalDependencies,
  peerDependencies,
  peerDependenciesMeta,
}: Locked): string[] {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** As Node.js looks for it: in the folder of the package, and in those above. */
function find(path: string, name: string): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (folder === '') return undefined;
  }
}

const reached = new Map<string, string[]>();
const open = [''];
for (let path = open.pop(); path !== undefined; path = open.pop()) {
  if (reached.has(path)) continue;
  const found = needs(packages[path] as Locked).flatMap((name) => find(path, name) ?? []);
  reached.set(path, found);
  open.push(...found);
}

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
