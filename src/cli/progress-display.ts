/**
 * Shows how far things are: bars that move on a terminal, a line for each change anywhere else, as in a log. Changes come
 * faster than anyone reads, so both skip some, but never the last one.
 */
import { MultiBar, type SingleBar } from 'cli-progress';
import { oneLine, printError } from './output.ts';
import { fitted, pad, shorten, widthOf } from './width.ts';

export interface Row {
  /** What the bar is of; empty if there is only one. */
  readonly label: string;
  /** How much of it is done, from 0 to 1; null while nobody knows. */
  readonly share: number | null;
  /** What to say in words. */
  readonly text: string;
  /** Figures behind the words, for bars only. */
  readonly figures?: string;
  /** What else is to be known, for people who wonder. */
  readonly note?: string | undefined;
}

export interface ProgressDisplay {
  /** How many things it can show at once. */
  readonly rows: number;
  show(key: string, row: Row): void;
  /** A message apart from the rows, to standard error. */
  say(text: string): void;
  /** Leaves the bars as they are; the cursor stands below them. */
  end(): void;
}

/** `lineEveryMs`: the least time between two lines about the same thing. */
export function createProgressDisplay(stream: NodeJS.WriteStream, lineEveryMs: number): ProgressDisplay {
  return stream.isTTY ? bars(stream) : lines(stream, lineEveryMs);
}

const longestLabel = 20;
const longestBar = 24;
const shortestBar = 4;

function bars(stream: NodeJS.WriteStream): ProgressDisplay {
  const known = new Map<string, SingleBar>();
  const width = () => (stream.columns || 80) - 1;
  let labelWidth = 0;
  const display = new MultiBar({
    stream,
    hideCursor: true,
    // Or a message above them would stay in the place of bars that do not change.
    forceRedraw: true,
    format: (_options, _params, row: Row) => draw(row, labelWidth, width()),
  });
  return {
    rows: Math.max(1, (stream.rows || 24) - 2),
    show: (key, { label, text, ...rest }) => {
      const row = { ...rest, label: oneLine(label), text: oneLine(text) };
      labelWidth = Math.max(labelWidth, Math.min(longestLabel, widthOf(row.label)));
      const bar = known.get(key);
      if (bar === undefined) known.set(key, display.create(1, 0, row));
      else bar.update(0, row);
    },
    say: (text) => {
      // The bars keep the terminal from breaking lines, and what they drew stands where this is written.
      const lines = fitted(oneLine(text), stream).split('\n');
      if (known.size > 0) display.log(lines.map((line) => `${line}\x1b[K\n`).join(''));
      else printError(`${oneLine(text)}\n`);
    },
    end: () => {
      if (known.size > 0) display.stop();
      known.clear();
    },
  };
}

function draw({ label, share, text, figures, note }: Row, labelWidth: number, width: number): string {
  const name = labelWidth === 0 ? '' : `${pad(shorten(label, labelWidth, 'middle'), labelWidth)}  `;
  const room = width - widthOf(name);
  const usual = Math.min(longestBar, room - 28);
  // The words are worth more than a long bar.
  const left = usual + 2 + widthOf(text) > room ? room - 2 - widthOf(text) : usual;
  const barWidth = left < shortestBar ? 0 : left;
  const done = Math.floor((share ?? 0) * barWidth);
  const bar = barWidth === 0 ? '' : `${'█'.repeat(done)}${'░'.repeat(barWidth - done)}  `;
  // As much as there is room for, a note first.
  const choices =
    note === undefined
      ? [[text, figures], [text]]
      : [[text, figures, note], [text, note], [figures, note], [note], [text]];
  const words = choices
    .map((parts) => parts.filter((part) => part !== undefined).join('  '))
    .find((line) => bar.length + widthOf(line) <= room);
  return `${name}${bar}${shorten(words ?? text, room - bar.length, 'end')}`;
}

function lines(stream: NodeJS.WriteStream, everyMs: number): ProgressDisplay {
  const entries = new Map<string, Line>();
  const write = (entry: Line) => {
    clearTimeout(entry.timer);
    entry.timer = undefined;
    if (entry.next === entry.written) return;
    entry.written = entry.next;
    entry.writtenAt = performance.now();
    stream.write(`${entry.next}\n`);
  };
  return {
    rows: Number.POSITIVE_INFINITY,
    say: (text) => printError(`${oneLine(text)}\n`),
    show: (key, { label, text, note }) => {
      const entry = entries.get(key) ?? { next: '', written: '', writtenAt: -everyMs, timer: undefined };
      entries.set(key, entry);
      const words = note === undefined ? text : `${text} (${note})`;
      entry.next = oneLine(label === '' ? words : `${label}: ${words}`);
      const waitMs = entry.writtenAt + everyMs - performance.now();
      if (waitMs <= 0) write(entry);
      else entry.timer ??= setTimeout(() => write(entry), waitMs);
    },
    end: () => {
      for (const entry of entries.values()) write(entry);
    },
  };
}

interface Line {
  next: string;
  written: string;
  writtenAt: number;
  timer: NodeJS.Timeout | undefined;
}
