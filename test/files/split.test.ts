/** Files as text and as rows, whatever pieces they come in, and from wherever somebody goes on. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { FilePlace, Row } from '../../src/domain/files/file-imports.ts';
import type { FileOptions } from '../../src/domain/files/file-options.ts';
import { splitCsv } from '../../src/files/csv.ts';
import { splitJsonArray } from '../../src/files/json-array.ts';
import { splitLines, splitNdjson } from '../../src/files/lines.ts';
import { checkedJson, type Split } from '../../src/files/rows.ts';
import { openText } from '../../src/files/text.ts';

const maxRowBytes = 100;
const start: FilePlace = { position: 0, line: 1, columns: null };

async function* inPieces(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function split(options: FileOptions, text: Buffer, pieceSize: number, place = start) {
  const pieces = inPieces(text.subarray(place.position), pieceSize);
  const given = { place, start: place.position, maxRowBytes };
  if (options.format === 'CSV') return splitCsv(pieces, { ...given, file: options });
  const split = { NDJSON: splitNdjson, JSON_ARRAY: splitJsonArray, LINES: splitLines }[options.format];
  return split(pieces, given);
}

async function collect(splits: AsyncIterable<Split>) {
  const found: { rows: Row[]; places: FilePlace[] } = { rows: [], places: [] };
  for await (const { rows, place } of splits) {
    found.rows.push(...rows);
    found.places.push(place);
  }
  return found;
}

const show = ({ line, payload, problem }: Row) =>
  problem === undefined ? [line, JSON.parse(payload)] : [line, problem];

const files: { name: string; options: FileOptions; text: string; rows: unknown[] }[] = [
  {
    name: 'CSV',
    options: { format: 'CSV' },
    text: 'a,b\r\n1,é\n\n"x\r\ny","say ""hi"""\r\n\r\n,\n5\n7,8,9\n10,11',
    rows: [
      [2, { a: '1', b: 'é' }],
      [4, { a: 'x\r\ny', b: 'say "hi"' }],
      [7, { a: '', b: '' }],
      [8, 'the row has 1 cell, the header has 2.'],
      [9, 'the row has 3 cells, the header has 2.'],
      [10, { a: '10', b: '11' }],
    ],
  },
  {
    name: 'CSV with empty lines everywhere',
    options: { format: 'CSV' },
    text: '\n\r\na\n\n\n1\n\r\n\n\n"2\n\n"\n\n',
    rows: [
      [6, { a: '1' }],
      [10, { a: '2\n\n' }],
    ],
  },
  {
    name: 'CSV with quotes where none may stand',
    options: { format: 'CSV' },
    text: `a,b\n"q"x,1\n2,3\n4,5"6\n7,"never closed\n8,9\n${'x'.repeat(120)},1\n10,11\n`,
    rows: [
      [2, expect.stringContaining('a quote is misplaced')],
      [3, { a: '2', b: '3' }],
      [4, expect.stringContaining('a quote is misplaced')],
      [5, expect.stringContaining('it is longer than 100 bytes, or a quote is opened')],
      [6, { a: '8', b: '9' }],
      [7, expect.stringContaining('it is longer than 100 bytes')],
      [8, { a: '10', b: '11' }],
    ],
  },
  {
    name: 'CSV whose last quote is never closed',
    options: { format: 'CSV', delimiter: ';', quote: "'" },
    text: `a;b\n'1;2\n3;4`,
    rows: [
      [2, 'a quote is opened in it and never closed.'],
      [3, { a: '3', b: '4' }],
    ],
  },
  {
    name: 'CSV without a header',
    options: { format: 'CSV', header: false, delimiter: '\t' },
    text: 'a\tb\nc\n',
    rows: [
      [1, ['a', 'b']],
      [2, ['c']],
    ],
  },
  {
    name: 'lines',
    options: { format: 'LINES' },
    text: `one\r\n\n  two \n${'x'.repeat(101)}\n${'y'.repeat(100)}\nthr\0ee\nfour`,
    rows: [
      [1, 'one'],
      [3, '  two '],
      [4, 'it is longer than 100 bytes.'],
      [5, expect.stringContaining('the line has 102 bytes of JSON')],
      [6, expect.stringContaining("the line has a character that can't be stored")],
      [7, 'four'],
    ],
  },
  {
    name: 'NDJSON',
    options: { format: 'NDJSON' },
    text: `{"a":[1,null]}\r\n  \nnot json\n"text"\n{"s":"\\u0000"}\n1e400\n17`,
    rows: [
      [1, { a: [1, null] }],
      [3, expect.stringContaining('not JSON')],
      [4, 'text'],
      [5, expect.stringContaining('the value.s has a character')],
      [6, expect.stringContaining('the value is a number beyond')],
      [7, 17],
    ],
  },
  {
    name: 'a JSON array',
    options: { format: 'JSON_ARRAY' },
    text: ` [1, {"a": "],}\\"é",\n"b": [[]]},\n2 3,, "${'x'.repeat(101)}"\n, null] \n`,
    rows: [
      [1, 1],
      [1, { a: '],}"é', b: [[]] }],
      [3, expect.stringContaining('not JSON')],
      [3, 'a value is missing in the array.'],
      [3, 'it is longer than 100 bytes.'],
      [4, null],
    ],
  },
];

it.each(files)(
  '$name: pieces of any size give the same rows, from any place on',
  async ({ options, text, rows }) => {
    const bytes = Buffer.from(text);
    const whole = await collect(split(options, bytes, bytes.length));
    expect(whole.rows.map(show)).toEqual(rows);
    for (let size = 1; size < bytes.length; size += size < 8 ? 1 : 13) {
      const { rows: found, places } = await collect(split(options, bytes, size));
      expect(found).toEqual(whole.rows);
      if (size > 2) continue;
      for (const place of places) {
        const { rows: rest } = await collect(split(options, bytes, 5, place));
        const from = whole.rows.length - rest.length;
        expect(rest, `from ${JSON.stringify(place)}`).toEqual(whole.rows.slice(from));
      }
    }
  },
);

it('each place is right behind the rows that came with it', async () => {
  for (const { options, text } of files) {
    const bytes = Buffer.from(text);
    const whole = await collect(split(options, bytes, bytes.length));
    let seen = 0;
    for await (const { rows, place } of split(options, bytes, 3)) {
      seen += rows.length;
      const { rows: rest } = await collect(split(options, bytes, 64, place));
      expect(rest).toEqual(whole.rows.slice(seen));
    }
  }
});

it.each<[string, FileOptions, Buffer, string, string]>([
  [
    'a header with a name twice',
    { format: 'CSV' },
    Buffer.from('a,b,a\n'),
    'BAD_STRUCTURE',
    'Line 1: the header names "a" twice.',
  ],
  [
    'a header without a name',
    { format: 'CSV' },
    Buffer.from('\na,,b\n'),
    'BAD_STRUCTURE',
    'Line 2: column 2 of the header has no name.',
  ],
  [
    'a header that is none',
    { format: 'CSV' },
    Buffer.from('a,"b\n1,2\n'),
    'BAD_STRUCTURE',
    'Line 1: the header can not be read',
  ],
  [
    'Latin-1 in CSV',
    { format: 'CSV' },
    Buffer.from('a\n1\n\xe9\n', 'latin1'),
    'NOT_TEXT',
    'Line 3: it is not UTF-8',
  ],
  [
    'Latin-1 in lines',
    { format: 'LINES' },
    Buffer.from('a\n\xe9\n', 'latin1'),
    'NOT_TEXT',
    'Line 2: it is not UTF-8',
  ],
  [
    'Latin-1 in a JSON array',
    { format: 'JSON_ARRAY' },
    Buffer.from('["\xe9"]', 'latin1'),
    'NOT_TEXT',
    'Line 1: it is not UTF-8',
  ],
  [
    'an array that ends early',
    { format: 'JSON_ARRAY' },
    Buffer.from('[1,\n{"a":2}'),
    'BAD_STRUCTURE',
    'Line 2: the JSON array ends early.',
  ],
  [
    'an empty file that should be an array',
    { format: 'JSON_ARRAY' },
    Buffer.from(' '),
    'BAD_STRUCTURE',
    'the JSON array ends early',
  ],
  [
    'what is no array',
    { format: 'JSON_ARRAY' },
    Buffer.from('{"a":1}'),
    'BAD_STRUCTURE',
    'does not begin with a JSON array',
  ],
  [
    'something behind an array',
    { format: 'JSON_ARRAY' },
    Buffer.from('[1]\n[2]'),
    'BAD_STRUCTURE',
    'Line 2: something follows',
  ],
  ['a brace too many', { format: 'JSON_ARRAY' }, Buffer.from('[1}]'), 'BAD_STRUCTURE', 'a brace is closed'],
])('%s ends the file', async (_, options, bytes, code, message) => {
  for (const size of [1, 1_000]) {
    const splitting = collect(split(options, bytes, size));
    await expect(splitting).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  }
});

async function readText(
  bytes: Buffer,
  options: { encoding?: string; from?: number; maxBytes?: number; chunk?: number } = {},
) {
  const { encoding, from = 0, maxBytes = 10_000_000, chunk = 1_000 } = options;
  const file = { size: bytes.length, read: (at: number) => inPieces(bytes.subarray(at), chunk) };
  const text = await openText(file, { encoding, from, maxBytes });
  const pieces: Buffer[] = [];
  for await (const piece of text.pieces) pieces.push(piece);
  return { text: Buffer.concat(pieces).toString(), position: text.position, bytesRead: text.bytesRead() };
}

const sample = `größe,näme\n${'zeile,ü\n'.repeat(2_000)}`;

it('text in any encoding and compression is read, with or without a byte order mark, from any place on', async () => {
  const utf16 = Buffer.from(`\ufeff${sample}`, 'utf16le');
  const all: [Buffer, string | undefined][] = [
    [Buffer.from(sample), undefined],
    [Buffer.from(`\ufeff${sample}`), undefined],
    [utf16, undefined],
    [Buffer.from(utf16).swap16(), undefined],
    [utf16.subarray(2), 'utf-16le'],
    [Buffer.from(sample, 'latin1'), 'windows-1252'],
    [gzipSync(sample), undefined],
    [Buffer.concat([gzipSync(sample.slice(0, 999)), gzipSync(sample.slice(999))]), undefined],
    [gzipSync(Buffer.from(`\ufeff${sample}`)), 'utf-8'],
    [gzipSync(utf16), undefined],
  ];
  for (const [bytes, encoding] of all) {
    const whole = await readText(bytes, encoding === undefined ? {} : { encoding });
    expect(whole.text).toBe(sample);
    expect(whole.bytesRead).toBe(bytes.length);
    for (const chunk of [7, 100_000]) {
      const from = whole.position + Buffer.byteLength(sample.slice(0, 100));
      const rest = await readText(bytes, { from, chunk, ...(encoding && { encoding }) });
      expect(rest.text).toBe(sample.slice(100));
    }
  }
});

it('damaged, incomplete, wrongly encoded or too large files are refused with codes', async () => {
  const zipped = gzipSync(sample);
  await expect(readText(zipped.subarray(0, -20))).rejects.toMatchObject({ code: 'NOT_DECOMPRESSED' });
  const damaged = Buffer.from(zipped);
  damaged.fill(0xff, 30, 60);
  await expect(readText(damaged)).rejects.toMatchObject({ code: 'NOT_DECOMPRESSED' });
  await expect(readText(Buffer.from(sample, 'latin1'), { encoding: 'utf-16le' })).rejects.toMatchObject({
    code: 'NOT_TEXT',
  });
  await expect(readText(Buffer.from(sample), { maxBytes: 100 })).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
  });
  const bomb = gzipSync(Buffer.alloc(20_000_000));
  expect(bomb.length).toBeLessThan(20_000);
  await expect(readText(bomb, { maxBytes: 5_000_000 })).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  // Not known by its first bytes, so it is text of a kind.
  expect((await readText(brotliCompressSync('x'))).position).toBe(0);
});

it('zstd is read if Node.js supports it, and otherwise refused by name', async () => {
  const zstd = Buffer.from('28b52ffd240319000061620a', 'hex');
  const reading = readText(zstd);
  if (Number(process.versions.node.split('.')[0]) < 22)
    await expect(reading).rejects.toMatchObject({
      code: 'NOT_DECOMPRESSED',
      message: expect.stringContaining('zstd'),
    });
  else await reading.catch((error) => expect(error).toMatchObject({ code: 'NOT_DECOMPRESSED' }));
});

it('endless lines and empty lines take no memory', async () => {
  async function* endless(byte: string, times: number) {
    const piece = Buffer.alloc(64 * 1_024, byte);
    for (let i = 0; i < times; i++) yield piece;
  }
  const options = { place: start, start: 0, maxRowBytes: 1_000_000 };
  const before = process.memoryUsage();
  for (const split of [
    splitLines(endless('x', 1_000), options),
    splitNdjson(endless('1', 1_000), options),
    splitLines(endless('\r\n', 100), options),
    splitCsv(endless('\n', 100), { ...options, file: { format: 'CSV' } }),
    splitCsv(endless('x', 1_000), { ...options, file: { format: 'CSV', header: false } }),
    splitJsonArray(
      (async function* () {
        yield Buffer.from('["');
        yield* endless('x', 500);
        yield Buffer.from('"]');
      })(),
      options,
    ),
  ]) {
    let bad = 0;
    for await (const { rows } of split) bad += rows.length;
    expect(bad).toBeLessThanOrEqual(1);
  }
  const { heapUsed, external } = process.memoryUsage();
  expect(heapUsed + external - before.heapUsed - before.external).toBeLessThan(60_000_000);
});

it.each([
  ['NDJSON', '1\nx\0y\n{"a":\0}\n2'],
  ['JSON_ARRAY', '[1,\n{"a":\0},\n2]'],
] as const)('says what is wrong with a NUL in %s in words that Postgres can keep', async (format, text) => {
  const { rows } = await collect(split({ format }, Buffer.from(text), 1_000));
  expect(rows.filter(({ problem }) => problem !== undefined)).not.toEqual([]);
  for (const { problem = '' } of rows) expect(problem).not.toContain('\0');
});

it.each([
  ['{"a":"\\u0000","a":1}', '{"a":1}'],
  ['{"a":"\\\\\\ud83d\\u0041","a":1}', '{"a":1}'],
  [`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)},"a":1}`, '{"a":1}'],
  ['{"a":"\\\\u0000 \\ud83d\\ude00","b":12345678901234567890}', undefined],
])('keeps no value of a repeated key that no payload may have (%#)', (text, kept = text) => {
  expect(checkedJson(text, 100_000)).toBe(kept);
});
