/** `Postgres  embedded, data in ./.jobtree`: what something is, behind its name. */
import { print, printError } from './output.ts';
import { fitted } from './width.ts';

const column = 10;

/** A name may be indented. */
export function printField(name: string, text: string): void {
  print(`${field(name, text, process.stdout)}\n`);
}

/** To standard error, where standard output is for something else. */
export function printErrorField(name: string, text: string): void {
  printError(`${field(name, text, process.stderr)}\n`);
}

function field(name: string, text: string, stream: NodeJS.WriteStream): string {
  const indent = name.length - name.trimStart().length;
  return fitted(name.padEnd(indent + column) + text, stream, ' '.repeat(column));
}
