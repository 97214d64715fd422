/** What docs/sql.md lists: the functions with their arguments and the role that may call each; the views of docs/sql-views.md; the tables of the model. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface DocumentedFunction {
  readonly name: string;
  /** As Postgres prints them, with names and defaults. */
  readonly arguments: string;
  /** The role that may call it; undefined for the owner alone. */
  readonly role: string | undefined;
}

/** The rows of the tables of a section, a list of cells each. */
function rows(section: string, page = 'docs/sql.md'): string[][] {
  const text = readFileSync(`${root}/${page}`, 'utf8');
  const from = text.indexOf(`\n## ${section}\n`);
  if (from < 0) throw new Error(`${page} has no section ${section}.`);
  const end = text.indexOf('\n## ', from + 1);
  return text
    .slice(from, end < 0 ? undefined : end)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
}

export function documentedFunctions(): DocumentedFunction[] {
  return rows('Functions').map(([call = '', role = '']) => {
    const [, name = '', list = ''] = /^`(\w+)\((.*)\)`$/.exec(call) ?? [];
    return { name, arguments: list, role: role === '' ? undefined : `jobtree_${role.replaceAll('`', '')}` };
  });
}

/** The names of the views, and their columns in order. */
export function documentedViews(): { name: string; columns: string[] }[] {
  return rows('Views', 'docs/sql-views.md').map(([name = '', columns = '']) => ({
    name: name.replaceAll('`', ''),
    columns: columns.split(', ').map((column) => column.replaceAll('`', '')),
  }));
}

export function documentedTables(): string[] {
  return rows('Tables, and the question that each answers', 'prisma/functions/README.md').flatMap(
    ([names = '']) => names.split(', ').map((name) => name.replaceAll('`', '')),
  );
}
