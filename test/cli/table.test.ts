/** Tables on terminals of many widths; in a pipe nothing is cut. */
import { expect, it } from 'vitest';
import { type Column, toLines } from '../../src/cli/table.ts';
import { pad, shorten, widthOf } from '../../src/cli/width.ts';

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

it.each([40, 50, 60, 80, 100, 120, 200])('a table fits %i columns and keeps ids whole', (width) => {
  const lines = toLines(columns, rows, width).flatMap((row) => row.split('\n'));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
  const text = lines.join('\n');
  expect(text.split(id)).toHaveLength(3);
  for (const whole of ['ID', 'TYPE', 'STATUS', 'ITEMS', 'MESSAGE', 'completed', '1,890/3,376'])
    expect(text).toContain(whole);
  expect(text).toMatch(/send.*….*ters/);
  if (width >= 120) expect(lines).toHaveLength(3);
});

it('in a pipe nothing is cut, and each row is one line', () => {
  const [, first, second] = toLines(columns, rows, Number.POSITIVE_INFINITY);
  for (const cell of rows[0] ?? []) expect(first).toContain(cell);
  expect(second).toMatch(/^Job:\S+ +b +running +1\/2$/);
});

it('control characters in cells are escaped', () => {
  expect(toLines([{ title: 'A' }], [['x\u001b[2J\ny']], 80)[1]).toBe('x\\u001b[2J y');
});

it('a shortened text keeps its beginning, or both ends', () => {
  expect(shorten('abcdefgh', 5, 'end')).toBe('abcd…');
  expect(shorten('abcdefgh', 5, 'middle')).toBe('ab…gh');
  expect(shorten('abcde', 5, 'middle')).toBe('abcde');
});

it('a spare column is omitted only if that saves a third line per row', () => {
  const jobs: readonly Column[] = [...columns.slice(0, 4), { title: 'AGE', align: 'right', spare: true }];
  const table = (items: string) => toLines(jobs, [[id, 'sendLetter', 'completed', items, '47h']], 40);
  expect(table('1,890/3,376').join('\n').split('\n')).toHaveLength(4);
  expect(table('1,890/3,376')[1]).toMatch(/47h$/);
  expect(table('11,890/13,376').join('\n').split('\n')).toHaveLength(4);
  expect(table('11,890/13,376').join('\n')).not.toMatch(/AGE|47h/);
  // On a third line there is room for it.
  expect(table('1,890/3,376, 1,111 failed').join('\n')).toMatch(/ 47h$/);
});

it('wide and zero-width characters keep the columns aligned', () => {
  const two: readonly Column[] = [{ title: 'TYPE', cut: 'middle' }, { title: 'STATUS' }];
  const names = [
    'ascii',
    '東京都庁舎',
    '👩‍👩‍👧‍👦🇩🇪',
    'e\u0301te\u0301',
    '한국어 ｶﾅ',
    '🙂'.repeat(40),
    '京'.repeat(5_000),
  ];
  for (const width of [30, 80, Number.POSITIVE_INFINITY]) {
    const lines = toLines(
      two,
      names.slice(0, width === 30 ? 7 : 5).map((name) => [name, 'x']),
      width,
    );
    const starts = lines.slice(1).map((line) => widthOf(line.slice(0, line.lastIndexOf('x'))));
    expect(new Set(starts).size).toBe(1);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  }
});

it('a shortened text loses whole characters, and fits', () => {
  expect(shorten('東京都庁', 5, 'end')).toBe('東京…');
  expect(shorten('東京都庁', 6, 'middle')).toBe('東…庁');
  expect(shorten('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3, 'end')).toBe('👩‍👩‍👧‍👦…');
  expect(shorten('longer than … (ms)', 14, 'end')).toBe('longer than …');
  expect(pad('東', 4)).toBe('東  ');
  for (const width of [1, 2, 3, 8, 33]) {
    for (const where of ['end', 'middle'] as const)
      expect(widthOf(shorten('a東🙂'.repeat(5_000), width, where))).toBeLessThanOrEqual(width);
  }
});
