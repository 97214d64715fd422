/** Files and functions are short enough to be read at once; those that are not are named here, and the lists can only become shorter. */
import { expect, it } from 'vitest';
import { fileLimit, files, functionLimit, functionsIn, isGenerated, linesOf } from '../../tools/lengths.ts';

/** Long because they are lists, which nobody reads from top to bottom. */
const lists = {
  'src/dashboard/texts/de.ts': 'the texts of the dashboard',
  'src/dashboard/texts/en.ts': 'the texts of the dashboard',
  'src/settings.ts': 'the settings',
};
/** Yet to be cut where their subjects change. */
const longFiles = [
  'src/client/worker/exchanges.ts',
  'src/db/migrate.ts',
  'src/doctor/work.ts',
  'src/domain/access/watch-tokens.ts',
  'src/domain/items/dead-letters.ts',
  'src/domain/items/item-pages.ts',
  'src/domain/items/read-items.ts',
  'src/domain/types/json-schema.ts',
  'src/domain/uploads/uploads.ts',
  'src/domain/work/standstills.ts',
  'src/events/hub.ts',
  'src/events/transport.ts',
  'src/server/execution/operations.ts',
  'src/server/execution/subscription-group.ts',
  'src/server/http/metrics.ts',
  'src/server/sockets/socket-protocol.ts',
];
/** How many long functions a file has. */
const longFunctions: Readonly<Record<string, number>> = {
  'src/dashboard/parts/action-dialog.tsx': 1,
  'src/dashboard/parts/drop-zone.tsx': 1,
  'src/dashboard/parts/help.tsx': 1,
  'src/dashboard/parts/import-dialog.tsx': 1,
  'src/dashboard/parts/item-search.tsx': 1,
  'src/dashboard/parts/palette.tsx': 1,
  'src/dashboard/parts/sign-in.tsx': 1,
  'src/dashboard/parts/strip.tsx': 1,
  'src/dashboard/parts/table.tsx': 1,
  'src/dashboard/parts/tree-filters.tsx': 1,
  'src/dashboard/screens/dead-letter-group.tsx': 1,
  'src/dashboard/screens/item.tsx': 2,
  'src/dashboard/screens/queues.tsx': 1,
  'src/dashboard/screens/workers.tsx': 1,
  'src/domain/figures/read-figures.ts': 1,
  'src/domain/jobs/watched-pages.ts': 1,
  'src/domain/work/claim-items.ts': 1,
  'src/files/import-file.ts': 1,
  'src/server/http/upload-body.ts': 1,
  'src/server/sockets/socket-connection.ts': 1,
};

const sources = files('src', /\.tsx?$/).filter((file) => !isGenerated(file));

it(`a file has at most ${fileLimit} lines`, () => {
  const long = sources.filter(({ text }) => linesOf(text) > fileLimit).map(({ name }) => name);
  expect(long).toEqual([...longFiles, ...Object.keys(lists)].toSorted());
});

it(`a function has at most ${functionLimit} lines`, () => {
  const long = sources.flatMap(functionsIn).filter(({ size }) => size > functionLimit);
  const perFile: Record<string, number> = {};
  for (const { name } of long) {
    const file = name.replace(/:\d+$/, '');
    perFile[file] = (perFile[file] ?? 0) + 1;
  }
  expect(perFile).toEqual(longFunctions);
});

it('measures from the first line of a function to the last', () => {
  const text = 'const a = 1;\nfunction b(): void {\n  if (a) {\n  }\n}\n';
  expect(functionsIn({ name: 'a.ts', text })).toEqual([{ name: 'a.ts:2', size: 4 }]);
});
