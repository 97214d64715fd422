/**
 * Tables. On a terminal a table fits its width: cells that may be cut are, the longest first; where that is not enough, the columns
 * of a row take several lines. Anywhere else each row is one line, and nothing is cut.
 */
import { type Colour, paint } from './colours.ts';
import { oneLine, write } from './output.ts';
import { shorten, widthOf } from './width.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Where a cell loses characters if there is too little room; without it, it keeps them all: ids are there to be copied. */
  readonly cut?: 'middle' | 'end';
  /** Left out where that spares a row its third line; the last such column goes first. */
  readonly spare?: true;
}

export type Cell = string | { readonly text: string; readonly colour: Colour | undefined };

const gap = 2;
const indent = 2;
/** No column is cut to less. */
const least = { middle: 8, end: 16 } as const;

/** Prints a table, perhaps page by page: the first page decides how wide the columns are. */
export class Table {
  readonly #columns: readonly Column[];
  readonly #empty: string;
  #layout: Layout | undefined;

  /** `empty`: what a terminal shows instead of a header with nothing below it. */
  constructor(columns: readonly Column[], empty: string) {
    this.#columns = columns;
    this.#empty = empty;
  }

  print(rows: readonly (readonly Cell[])[]): void {
    if (rows.length === 0 && this.#layout === undefined && process.stdout.isTTY) {
      write(`${this.#empty}\n`);
      return;
    }
    const clean = cleaned(rows);
    if (this.#layout === undefined) {
      this.#layout = layOut(this.#columns, clean, terminalWidth());
      write(`${header(this.#columns, this.#layout)}\n`);
    }
    for (const row of clean) write(`${drawRow(this.#columns, this.#layout, row)}\n`);
  }
}

/** A whole table, the header first; an element for each row. */
export function toLines(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width = terminalWidth(),
): string[] {
  const clean = cleaned(rows);
  const layout = layOut(columns, clean, width);
  return [header(columns, layout), ...clean.map((row) => drawRow(columns, layout, row))];
}

/** Of standard output, if that is a terminal. */
export function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY;
}

interface CleanCell {
  readonly text: string;
  readonly colour: Colour | undefined;
}

interface Layout {
  readonly widths: readonly number[];
  /** The columns that stand on each line of a row, by their numbers. */
  readonly lines: readonly (readonly number[])[];
  /** Whether cells that are too long are cut. */
  readonly cuts: boolean;
}

function cleaned(rows: readonly (readonly Cell[])[]): CleanCell[][] {
  return rows.map((row) =>
    row.map((cell) =>
      typeof cell === 'string'
        ? { text: oneLine(cell), colour: undefined }
        : { text: oneLine(cell.text), colour: cell.colour },
    ),
  );
}

function layOut(columns: readonly Column[], rows: readonly CleanCell[][], width: number): Layout {
  const natural = columns.map(({ title }, k) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[k]?.text ?? '')), title.length),
  );
  const cuts = Number.isFinite(width);
  const all = columns.map((_, k) => k);
  const widths = shrink(columns, natural, width - gap * (columns.length - 1));
  if (sum(widths) + gap * (columns.length - 1) <= width) return { widths, lines: [all], cuts };
  // The first column alone, and the others on as few lines as they can do with.
  const smallest = columns.map(({ cut, title }, k) =>
    Math.min(
      natural[k] ?? 0,
      cut === undefined ? Number.POSITIVE_INFINITY : Math.max(least[cut], title.length),
    ),
  );
  let shown = all.slice(1);
  const fit = (numbers: readonly number[]) => breakUp(numbers, smallest, width).length <= 1;
  const isSpare = (k: number) => columns[k]?.spare === true;
  if (fit(shown.filter((k) => !isSpare(k))))
    for (const k of shown.filter(isSpare).reverse())
      if (!fit(shown)) shown = shown.filter((one) => one !== k);
  const lines = [[0], ...breakUp(shown, smallest, width)];
  for (const [n, numbers] of lines.entries()) {
    const room = width - gap * (numbers.length - 1) - (n === 0 ? 0 : indent);
    const own = shrink(
      numbers.map((k) => columns[k] ?? { title: '' }),
      numbers.map((k) => natural[k] ?? 0),
      room,
    );
    for (const [i, k] of numbers.entries()) widths[k] = own[i] ?? 0;
  }
  return { widths, lines, cuts };
}

/** Columns on as few lines as they can do with, in their order. */
function breakUp(numbers: readonly number[], widths: readonly number[], width: number): number[][] {
  const lines: number[][] = [];
  let used = Number.POSITIVE_INFINITY;
  for (const k of numbers) {
    const one = widths[k] ?? 0;
    if (used + gap + one > width) {
      lines.push([]);
      used = indent - gap;
    }
    lines.at(-1)?.push(k);
    used += gap + one;
  }
  return lines;
}

/** Takes from the widest column that may be cut until they fit, or none may be cut any more. */
function shrink(columns: readonly Column[], natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  for (let over = sum(widths) - room; over > 0 && Number.isFinite(room); over--) {
    let widest = -1;
    for (const [k, { cut, title }] of columns.entries()) {
      const one = widths[k] ?? 0;
      if (cut !== undefined && one > Math.max(least[cut], title.length) && one > (widths[widest] ?? 0))
        widest = k;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function header(columns: readonly Column[], layout: Layout): string {
  return drawRow(
    columns,
    layout,
    columns.map(({ title }) => ({ text: title, colour: 'bold' })),
  );
}

function drawRow(columns: readonly Column[], layout: Layout, row: readonly CleanCell[]): string {
  const lines = layout.lines.map((numbers, n) => {
    const last = numbers.at(-1);
    const cells = numbers.map((k) => {
      const { text = '', colour } = row[k] ?? {};
      const { align, cut } = columns[k] ?? {};
      const width = layout.widths[k] ?? 0;
      const shown = layout.cuts && cut !== undefined ? shorten(text, width, cut) : text;
      const padding = ' '.repeat(Math.max(0, width - widthOf(shown)));
      const painted = colour === undefined || shown === '' ? shown : paint(colour, shown);
      if (align === 'right') return padding + painted;
      return k === last ? painted : painted + padding;
    });
    return `${n === 0 ? '' : ' '.repeat(indent)}${cells.join(' '.repeat(gap))}`.trimEnd();
  });
  return lines.filter((line, n) => n === 0 || line !== '').join('\n');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
