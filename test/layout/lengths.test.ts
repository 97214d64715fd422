/** Files and functions are short enough to be read at once; those that are not are named here, and the lists can only become shorter. */
import { expect, it } from 'vitest';
import { fileLimit, files, functionLimit, functionsIn, isGenerated, linesOf } from '../../tools/lengths.ts';

/** Long because they are lists, which nobody reads from top to bottom. */
const lists = {
  'src/dashboard/texts/de.ts': 'the texts of the dashboard',
  'src/dashboard/texts/en.ts': 'the texts of the dashboard',
  'src/config/settings.ts': 'the settings',
};
/** Yet to be cut where their subjects change. */
const longFiles = [
  'src/client/worker/exchanges.ts',
  'src/domain/access/watch-tokens.ts',
  'src/domain/operations/dead-letters.ts',
  'src/domain/items/item-pages.ts',
  'src/domain/items/read-items.ts',
  'src/events/hub.ts',
  'src/server/execution/operations.ts',
  'src/server/execution/subscription-group.ts',
  'src/server/sockets/socket-protocol.ts',
];
const sources = files('src', /\.tsx?$/).filter((file) => !isGenerated(file));

it(`a file has at most ${fileLimit} lines`, () => {
  const long = sources.filter(({ text }) => linesOf(text) > fileLimit).map(({ name }) => name);
  expect(long).toEqual([...longFiles, ...Object.keys(lists)].toSorted());
});

it(`a function has at most ${functionLimit} lines`, () => {
  const long = sources.flatMap(functionsIn).filter(({ size }) => size > functionLimit);
  expect(long).toEqual([]);
});

it('measures from the first line of a function to the last', () => {
  const text = 'const a = 1;\nfunction b(): void {\n  if (a) {\n  }\n}\n';
  expect(functionsIn({ name: 'a.ts', text })).toEqual([{ name: 'a.ts:2', size: 4 }]);
});
