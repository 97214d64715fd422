/**
 * What commands write. Types, names, keys and messages come from anybody, so control characters, of which terminals make
 * colours, titles and cleared screens, are written as JSON writes them, and with them those that turn the direction of text.
 */
import { visible } from '../client/visible.ts';
import { unmark } from './exact-json.ts';
import { fitted } from './width.ts';

export { visible };

/** To standard output; numbers with all their digits. */
export function print(text: string): void {
  process.stdout.write(visible(unmark(text)));
}

/** To standard output, for people: on a terminal, lines are broken between words, and their indentation stays. */
export function printText(text: string): void {
  process.stdout.write(fitted(visible(unmark(text)), process.stdout));
}

/** What came of a command: text for people, or with `--json` a value for programs. */
export function printOutcome(json: true | undefined, value: unknown, text: string): void {
  if (json) print(`${JSON.stringify(value)}\n`);
  else printText(`${text}\n`);
}

/** To standard error; on a terminal, lines are broken between words. */
export function printError(text: string): void {
  process.stderr.write(fitted(visible(text), process.stderr));
}

/** To standard output, what is clean already: cells of tables with their colours. */
export function write(text: string): void {
  process.stdout.write(text);
}

/** For a cell, a label, or a line among others. */
export function oneLine(text: string): string {
  return visible(text.replaceAll(/\s+/g, ' ').trim());
}
