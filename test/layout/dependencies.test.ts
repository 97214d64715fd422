/** Dependencies between folders point one way: a file imports only from folders above its own in this list. Those of files do too. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const layers = [
  'config',
  'errors.ts',
  'concurrency',
  'db',
  'object-store',
  'domain/values',
  'domain/access',
  'domain/figures',
  'domain/types',
  'domain/keys',
  'domain/callbacks',
  'domain/engine',
  'domain/items',
  'domain/progress',
  'domain/feeds',
  'domain/reports',
  'domain/claims',
  'domain/files',
  'domain/retention',
  'domain/jobs',
  'domain/queues',
  'domain/operations',
  'domain/schedules',
  'domain',
  'files',
  'events',
  'doctor',
  'schema',
  'server/loops',
  'server/limits',
  'server/rights',
  'server/execution',
  'server/http',
  'server/sockets',
  'server',
  'embedded',
  'client',
  'adapters',
  'cli',
  'dashboard',
  'graphiql',
];
/** The client runs in browsers and workers: it takes nothing of the server with it. */
const clientImports = ['client', 'generated'];
/** What the domain must not know. */
const foreignToDomain = /^(graphql|@pothos|graphql-yoga|graphql-ws|ws|node:http)/;

const src = resolve(import.meta.dirname, '../../src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !file.startsWith('generated/'),
);

function imports(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, specifier]) => specifier ?? '');
}

/** The layer of a file: the longest that its path begins with, or else its folder below src (or the file in it). */
function layerOf(file: string): string {
  const within = layers.filter((layer) => file === layer || file.startsWith(`${layer}/`));
  return within.toSorted((a, b) => b.length - a.length)[0] ?? file.split('/')[0] ?? '';
}

/** The layer that an import of a file leads to; undefined for a package. */
function target(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const path = relative(src, resolve(src, dirname(file), specifier));
  return path.startsWith('..') ? undefined : layerOf(path);
}

it.each(files)('%s imports only from above', (file) => {
  const own = layerOf(file);
  const rank = layers.indexOf(own);
  expect(rank, `${own} has no place in the layout`).toBeGreaterThanOrEqual(0);
  for (const specifier of imports(file)) {
    const folder = target(file, specifier);
    if (file.startsWith('domain/')) expect(specifier).not.toMatch(foreignToDomain);
    if (folder === undefined || folder === 'generated' || folder === own) continue;
    if (own === 'client') expect(clientImports).toContain(folder);
    expect(layers.slice(0, rank), `${file} imports ${specifier}`).toContain(folder);
  }
});

/** The files that a file imports, of types too. */
function importedFiles(file: string): string[] {
  return imports(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative(src, resolve(src, dirname(file), specifier)));
}

/** The way from a file back to itself. */
function circleOf(file: string, imported: (file: string) => readonly string[]): string[] | undefined {
  const ways = [[file]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
    for (const next of imported(way.at(-1) ?? file)) {
      if (next === file) return [...way, next];
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return undefined;
}

it('no file imports itself, directly or indirectly', () => {
  const imported = new Map(files.map((file) => [file, importedFiles(file)]));
  const circles = files.map((file) => circleOf(file, (other) => imported.get(other) ?? []));
  expect(circles.filter((circle) => circle !== undefined)).toEqual([]);
});

it('finds a circle', () => {
  const imported: Record<string, string[]> = { a: ['b', 'c'], b: [], c: ['d'], d: ['a'] };
  expect(circleOf('a', (file) => imported[file] ?? [])).toEqual(['a', 'c', 'd', 'a']);
  expect(circleOf('b', (file) => imported[file] ?? [])).toBeUndefined();
});

it('finds the imports that it judges', () => {
  expect(
    imports('server/wire-engine.ts').map((specifier) => target('server/wire-engine.ts', specifier)),
  ).toContain('domain');
});

it('the primary of several processes does not load the server', () => {
  const loaded = new Set(['cli/commands/start.ts']);
  for (const file of loaded) {
    const text = readFileSync(join(src, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(/^(?:import|\} from) (?!type ).*?'(\.[^']+)';$/gm))
      loaded.add(relative(src, resolve(src, dirname(file), specifier)));
  }
  expect(loaded).toContain('cli/start/processes.ts');
  expect(loaded).not.toContain('server/create-app.ts');
});
