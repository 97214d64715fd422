/** The examples of the documentation, for tests that run them: code blocks that have a name. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The blocks of a page that open with a line like `js name=example`, by their names. */
export function examples(page: string): Map<string, string> {
  const text = readFileSync(`${root}/docs/${page}`, 'utf8');
  const blocks = text.matchAll(/^```\w+ name=(\S+)\n(.*?)^```$/gms);
  return new Map([...blocks].map(([, name = '', code = '']) => [name, code]));
}

export function example(page: string, name: string): string {
  const code = examples(page).get(name);
  if (code === undefined) throw new Error(`docs/${page} has no example ${name}.`);
  return code;
}

/** An example of docs/watching.md. That for `graphql-sse` is the one for `graphql-ws` with another import, as the page says. */
export const watchingExample = (name: string) =>
  name === 'graphql-sse'
    ? example('watching.md', 'graphql-ws').replace("'graphql-ws'", "'graphql-sse'")
    : example('watching.md', name);
