/** How long the files of a tree and the functions in them are. It finds functions by their indentation, which the formatter sees to. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Source files have at most so many lines, functions so many, and bodies of stored functions. */
export const fileLimit = 300;
export const functionLimit = 60;
export const bodyLimit = 100;

export interface Source {
  readonly name: string;
  readonly text: string;
}

export interface Sized {
  readonly name: string;
  readonly size: number;
}

export const read = (file: string) => readFileSync(join(root, file), 'utf8').trimEnd();
export const linesOf = (text: string) => text.split('\n').length;
export const isGenerated = ({ name }: Source) => name.startsWith('src/generated/');
/** All below a folder whose names end so. */
export const files = (folder: string, ending: RegExp): Source[] =>
  readdirSync(join(root, folder), { recursive: true })
    .map((path) => `${folder}/${path}`)
    .filter((name) => ending.test(name))
    .toSorted()
    .map((name) => ({ name, text: read(name) }));

/** The stored functions, by folder and name, with what stands between their dollar quotes. */
export const storedFunctions = () =>
  files('prisma/functions', /\.sql$/).map(({ name, text }) => ({
    name: name.slice('prisma/functions/'.length, -'.sql'.length),
    text,
    body: /\$\$\n(.*)\n\$\$/s.exec(text)?.[1] ?? '',
  }));

/** Functions, methods and arrow functions with a body of their own, by the file and line at which they begin. */
export function functionsIn({ name, text }: Source): Sized[] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    const [, indent] = /^( *)(?![ }*/]|if|for|while|switch|do|try).*(?:\)|=>|\): .*) \{$/.exec(line) ?? [];
    if (indent === undefined || / (?:class|interface) /.test(line)) return [];
    const end = lines.findIndex((other, i) => i > at && other.startsWith(`${indent}}`));
    return [{ name: `${name}:${at + 1}`, size: end - at + 1 }];
  });
}
