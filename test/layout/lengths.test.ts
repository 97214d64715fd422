/** Files and functions are short enough to be read at once; files that are not are named here. */
import { expect, it } from 'vitest';
import {
  bodyLimit,
  fileLimit,
  files,
  functionLimit,
  functionsIn,
  isGenerated,
  linesOf,
  storedFunctions,
} from '../../tools/lengths.ts';

/** Long because they are lists, which nobody reads from top to bottom. */
const lists = {
  'src/dashboard/texts/de.ts': 'the texts of the dashboard',
  'src/dashboard/texts/en.ts': 'the texts of the dashboard',
  'src/config/settings.ts': 'the settings',
};
const sources = files('src', /\.tsx?$/).filter((file) => !isGenerated(file));

it(`a file has at most ${fileLimit} lines`, () => {
  const long = sources.filter(({ text }) => linesOf(text) > fileLimit).map(({ name }) => name);
  expect(long).toEqual(Object.keys(lists).toSorted());
});

it(`a function has at most ${functionLimit} lines`, () => {
  const long = sources.flatMap(functionsIn).filter(({ size }) => size > functionLimit);
  expect(long).toEqual([]);
});

it(`the body of a stored function has at most ${bodyLimit} lines`, () => {
  expect(storedFunctions().filter(({ body }) => linesOf(body) > bodyLimit)).toEqual([]);
});

it('measures from the first line of a function to the last', () => {
  const text = 'const a = 1;\nfunction b(): void {\n  if (a) {\n  }\n}\n';
  expect(functionsIn({ name: 'a.ts', text })).toEqual([{ name: 'a.ts:2', size: 4 }]);
});
