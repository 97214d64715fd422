/** The functions in the schema `jobtree`, as Postgres has them and as prisma/functions/<subject>/<name>.sql gives them. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type pg from 'pg';

export interface StoredFunction {
  readonly name: string;
  /** Name and argument types, all qualified: what `drop function` takes. */
  readonly signature: string;
  /** Arguments with names and defaults, and the result: what `create or replace` may not change. */
  readonly contract: string;
  readonly definition: string;
}

export async function readStoredFunctions(client: pg.Client): Promise<StoredFunction[]> {
  // With an empty search path Postgres qualifies every name that it prints.
  await client.query(`set search_path = ''`);
  const { rows } = await client.query<StoredFunction>(
    `select proname as name, oid::regprocedure::text as signature, pg_get_functiondef(oid) as definition,
       concat_ws(' ', prokind, pg_get_function_arguments(oid), pg_get_function_result(oid)) as contract
     from pg_proc
     where pronamespace = to_regnamespace('jobtree') and prokind in ('f', 'p')
     order by proname, signature`,
  );
  return rows;
}

/**
 * One line stands for the settings that make a function's plans independent of what Postgres believes of its tables:
 * `-- plans: no seqscan, hashjoin; generic`.
 */
export const withSettings = (text: string): string =>
  text.replace(/^-- plans: no ([\w, ]+?)(?:; (generic|custom))?$/m, (_, kinds: string, mode?: string) =>
    [
      'set jit = off',
      ...kinds.split(', ').map((kind) => `set enable_${kind} = off`),
      ...(mode === undefined ? [] : [`set plan_cache_mode = force_${mode}_plan`]),
    ].join('\n'),
  );

/** The text of each file by the name of its function, in the order of the names. */
export function readFunctionFiles(directory: string): Map<string, string> {
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.sql'),
  );
  const texts = paths.map(
    (path) => [basename(path, '.sql'), withSettings(readFileSync(join(directory, path), 'utf8'))] as const,
  );
  return new Map(texts.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export async function dropStoredFunctions(client: pg.Client): Promise<void> {
  for (const { signature } of await readStoredFunctions(client))
    await client.query(`drop routine if exists ${signature} cascade`);
}

/** Runs the files in a database without functions. Throws if a file is anything but the one function of its name. */
export async function createStoredFunctions(
  client: pg.Client,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  // Twice: functions in plain SQL are checked when created, and may name others that come later.
  for (const check of ['off', 'on']) {
    await client.query(`set check_function_bodies = ${check}`);
    for (const [name, sql] of files)
      await client.query(sql).catch((error: Error) => {
        throw new Error(`${name}.sql: ${error.message}`, { cause: error });
      });
  }
  const created = (await readStoredFunctions(client)).map(({ name }) => name);
  const wrong = [...files.keys()].filter((file) => created.filter((name) => name === file).length !== 1);
  const stray = created.filter((name) => !files.has(name));
  if (wrong.length + stray.length > 0)
    throw new Error(
      `Each <name>.sql has to create the function jobtree.<name> and no other; look at ${[...wrong, ...stray].join(', ')}.`,
    );
}
