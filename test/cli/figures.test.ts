import { expect, it } from 'vitest';
import { counted } from '../../src/cli/figures.ts';

it('a noun is in the plural unless there is one', () => {
  expect([0, 1, 2, 3_376].map((n) => counted(n, 'item'))).toEqual([
    '0 items',
    '1 item',
    '2 items',
    '3,376 items',
  ]);
  expect([0, 1, 2].map((n) => counted(n, 'process'))).toEqual(['0 processes', '1 process', '2 processes']);
});
