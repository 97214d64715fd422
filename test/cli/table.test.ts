/** Tables on terminals of many widths; in a pipe nothing is cut. */
import { expect, test } from 'vitest';
import { type Column, shorten, toLines } from '../../src/cli/table.ts';

const id = 'Job:01890000-0000-7000-8000-000000000000';
const columns: readonly Column[] = [
  { title: 'ID' },
  { title: 'TYPE', cut: 'middle' },
  { title: 'STATUS' },
  { title: 'ITEMS', align: 'right' },
  { title: 'MESSAGE', cut: 'end' },
];
const rows = [
  [id, `send ${'very '.repeat(20)}long letters`, 'completed', '1,890/3,376', 'm'.repeat(300)],
  [id, 'b', 'running', '1/2', ''],
];

test.each([40, 50, 60, 80, 100, 120, 200])('a table fits %i columns, and ids are whole', (width) => {
  const lines = toLines(columns, rows, width).flatMap((row) => row.split('\n'));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
  const text = lines.join('\n');
  expect(text.split(id)).toHaveLength(3);
  for (const whole of ['ID', 'TYPE', 'STATUS', 'ITEMS', 'MESSAGE', 'completed', '1,890/3,376'])
    expect(text).toContain(whole);
  expect(text).toMatch(/send.*….*ters/);
  if (width >= 120) expect(lines).toHaveLength(3);
});

test('in a pipe nothing is cut, and each row is a line', () => {
  const [, first, second] = toLines(columns, rows, Number.POSITIVE_INFINITY);
  for (const cell of rows[0] ?? []) expect(first).toContain(cell);
  expect(second).toMatch(/^Job:\S+ +b +running +1\/2$/);
});

test('control characters of cells stay text', () => {
  expect(toLines([{ title: 'A' }], [['x\u001b[2J\ny']], 80)[1]).toBe('x\\u001b[2J y');
});

test('what is shortened keeps its beginning, or both ends', () => {
  expect(shorten('abcdefgh', 5, 'end')).toBe('abcd…');
  expect(shorten('abcdefgh', 5, 'middle')).toBe('ab…gh');
  expect(shorten('abcde', 5, 'middle')).toBe('abcde');
});
