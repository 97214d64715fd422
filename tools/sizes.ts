/**
 * npm run sizes
 *
 * How much there is to read: what the database holds, and what is longest. Reads the tree only.
 */
import {
  fileLimit,
  files,
  functionLimit,
  functionsIn,
  isGenerated,
  linesOf,
  read,
  type Sized,
  storedFunctions,
} from './lengths.ts';

const shown = 10;
const total = (all: readonly { text: string }[]) => all.reduce((sum, { text }) => sum + linesOf(text), 0);

function show(title: string, all: readonly Sized[], from = 0, most = Number.POSITIVE_INFINITY): void {
  const found = all.filter(({ size }) => size > from).toSorted((a, b) => b.size - a.size);
  console.log(`\n${title}${most < found.length ? '' : `: ${found.length}`}`);
  for (const { name, size } of found.slice(0, most)) console.log(`${String(size).padStart(8)}  ${name}`);
}

const stored = storedFunctions();
const typescript = files('src', /\.tsx?$/);
const written = typescript.filter((file) => !isGenerated(file));
const figures: Sized[] = [
  { name: 'stored functions', size: stored.length },
  { name: 'lines of stored functions', size: total(stored) },
  { name: 'tables', size: read('prisma/schema.prisma').match(/^model /gm)?.length ?? 0 },
  { name: 'lines of src', size: total(written) },
  { name: 'generated lines of src', size: total(typescript.filter(isGenerated)) },
  { name: 'lines of tests', size: total(files('test', /\.tsx?$/)) },
  {
    name: 'lines of bench and tools',
    size: total([...files('bench/src', /\.ts$/), ...files('tools', /\.ts$/)]),
  },
  { name: 'lines of migrations', size: total(files('prisma/migrations', /\.sql$/)) },
];
for (const { name, size } of figures) console.log(`${String(size).padStart(8)}  ${name}`);

show(
  'Longest bodies of stored functions',
  stored.map(({ name, body }) => ({ name, size: linesOf(body) })),
  0,
  shown,
);
show(
  'Stored functions with the most variables',
  stored.map(({ name, body }) => ({
    name,
    size: /^declare\n(.*?)^begin$/ms.exec(body)?.[1]?.match(/^ {2}v_\w+ /gm)?.length ?? 0,
  })),
  0,
  shown,
);
show(
  `Files of src with more than ${fileLimit} lines`,
  written.map(({ name, text }) => ({ name, size: linesOf(text) })),
  fileLimit,
);
show(`Functions of src with more than ${functionLimit} lines`, written.flatMap(functionsIn), functionLimit);
show(
  'Words of the documentation',
  [
    { name: 'README.md', text: read('README.md') },
    ...files('docs', /\.md$/),
    ...files('prisma/functions', /\.md$/),
  ].map(({ name, text }) => ({
    name,
    size: text.split(/\s+/).length,
  })),
);
