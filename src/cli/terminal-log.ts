/** The server's log for people: on a terminal each entry is a line of text, where programs get one of JSON. */
import type { DestinationStream } from 'pino';
import { type Colour, paint } from './colours.ts';
import { oneLine, visible } from './output.ts';
import { fitted } from './width.ts';

/** Undefined where standard error is no terminal. */
export function terminalLog(): DestinationStream | undefined {
  if (!process.stderr.isTTY) return undefined;
  return { write: (json) => void process.stderr.write(`${toText(JSON.parse(json))}\n`) };
}

interface Entry {
  readonly level: number;
  /** In milliseconds since 1970. */
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
}

const levels: Readonly<Record<number, readonly [name: string, colour: Colour | undefined]>> = {
  10: ['trace', 'dim'],
  20: ['debug', 'dim'],
  30: ['info', undefined],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};
const error = 50;
/** Behind the time: what a line is broken to continues there. */
const hang = 9;
/** The same in each entry of a process. */
const hidden = ['pid', 'name'];

/** `10:15:30 warn   a connection to Postgres broke  reason="…"`; of errors also where they happened. */
export function toText(entry: object): string {
  const { level, time, msg = '', err, ...fields } = entry as Entry;
  const [name, colour] = levels[level] ?? [String(level), undefined];
  const word = name.padEnd(5);
  const details = Object.entries({ ...fields, ...(err?.message && { error: err.message }) })
    .filter(([key]) => !hidden.includes(key))
    .map(([key, value]) => oneLine(`${key}=${textOf(value)}`))
    .join('  ');
  const line = [
    dim(new Date(time).toTimeString().slice(0, 8)),
    colour === undefined ? word : paint(colour, word, process.stderr),
    oneLine(msg) + (details === '' ? '' : dim(`  ${details}`)),
  ].join(' ');
  const shown = fitted(line, process.stderr, ' '.repeat(hang));
  return level < error || err?.stack === undefined ? shown : `${shown}\n${dim(visible(err.stack))}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : (JSON.stringify(value) ?? '');
}

function dim(text: string): string {
  return paint('dim', text, process.stderr);
}
