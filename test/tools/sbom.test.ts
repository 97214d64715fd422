/** What the package consists of: it says so itself, and each part has a licence that asks for nothing but its mention. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const permissive = [
  'MIT',
  'Apache-2.0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'Python-2.0',
  'PSF-2.0',
  'Unlicense',
];

const { scripts, publishConfig, dependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

let folder: string;
let files: string[];
let bom: {
  bomFormat: string;
  metadata: { component: { name: string } };
  dependencies: { dependsOn: string[] }[];
  components: {
    'bom-ref': string;
    name: string;
    group?: string;
    version: string;
    purl: string;
    licenses?: { license: { id: string } }[];
    hashes?: object[];
  }[];
};
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'jobtree-package-'));
  // As prepack does, which also compiles: `npm test` has done that.
  execFileSync(process.execPath, ['--import', 'tsx', 'tools/sbom.ts'], { cwd: root });
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    stdio: 'ignore',
  });
  execFileSync('sh', ['-c', `tar -xf '${folder}'/*.tgz -C '${folder}'`]);
  files = execFileSync('find', ['package', '-type', 'f'], { cwd: folder, encoding: 'utf8' }).split('\n');
  bom = JSON.parse(readFileSync(join(folder, 'package/dist/sbom.json'), 'utf8'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it('the package has a bill of materials, created when it is packed', () => {
  expect(scripts.prepack).toContain('tools/sbom.ts');
  expect(publishConfig).toEqual({ provenance: true });
  expect(bom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'jobtree' } } });
  for (const { name, hashes, licenses } of bom.components) {
    expect(hashes, name).toHaveLength(1);
    expect(licenses, name).toHaveLength(1);
  }
  // Where this copy of it was made is nobody's business.
  expect(JSON.stringify(bom)).not.toContain(root);
});

it('it names every dependency, and every package that the program imports', () => {
  const named = bom.components.map(({ name, version }) => `${name}@${version}`);
  const direct = Object.entries({ ...dependencies, ...optionalDependencies });
  expect(named).toEqual(expect.arrayContaining(direct.map(([name, version]) => `${name}@${version}`)));
  const names = new Set(bom.components.map(({ name }) => name));
  const imported = new Set(
    files
      .filter((file) => file.endsWith('.js'))
      .flatMap((file) => [
        ...readFileSync(join(folder, file), 'utf8').matchAll(
          /^(?:(?:import|export) (?:.* from )?|\} from )['"]([^.'"][^'"]*)['"]/gm,
        ),
      ])
      .map(([, specifier = '']) =>
        specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/'),
      ),
  );
  const missing = [...imported].filter((name) => !name.startsWith('node:') && !names.has(name));
  expect(imported.size).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

it('every dependency of a part is a part', () => {
  const refs = new Set(bom.components.map((component) => component['bom-ref']));
  const open = bom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref));
  expect(open).toEqual([]);
  for (const name of ['graphql', 'pg', 'pg-protocol', 'ws', '@aws-sdk/client-s3'])
    expect(bom.components.map((one) => one.name)).toContain(name);
});

it('every part has a permissive licence', () => {
  const others = bom.components.filter(
    ({ licenses = [] }) => !permissive.includes(licenses[0]?.license.id ?? ''),
  );
  expect(others.map(({ name, licenses }) => `${name}: ${licenses?.[0]?.license.id}`)).toEqual([]);
});

it('the package has no test, no configuration of this repository and nothing that resembles a secret', () => {
  expect(
    files.filter((file) => /\/(test|bench|\.ci|\.git)\//.test(file) || /\.(pem|key|env)$/.test(file)),
  ).toEqual([]);
  expect(files).toContain('package/LICENSE');
});
