/**
 * Migrations as a next release may bring them (docs/releases.md): new tables, columns and indexes, stored functions with other bodies, and functions
 * that are dropped and made again with a new last parameter.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrationsDirectory } from '../../src/db/migrate.ts';
import { readFunctionFiles } from '../../tools/stored-functions.ts';

const current = readFunctionFiles('prisma/functions');

/** What the busy operations write. */
const tables = [
  'job',
  'job_item',
  'queue_entry',
  'lease',
  'outcome',
  'failure',
  'progress_delta',
  'job_progress',
  'serialize_key',
  'schedule',
  'queue',
];
/** Views, indexes and triggers are made of these: they can be given another body, but not dropped. */
const inUse = new Set(['assignment_id', 'bit_at', 'give_back_places', 'keep_audit', 'status_of_item']);

export interface NextRelease {
  readonly directory: string;
  add(name: string, sql: string): void;
  remove(): void;
}

/** The migrations that there are, to which more can be added. */
export function createNextRelease(): NextRelease {
  const directory = mkdtempSync(join(tmpdir(), 'jobtree-next-release-'));
  cpSync(migrationsDirectory, directory, { recursive: true });
  return {
    directory,
    add: (name, sql) => {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'migration.sql'), sql);
    },
    remove: () => rmSync(directory, { recursive: true }),
  };
}

/** A new table, and new columns of the busy ones: one nullable, one with a default. */
export function newColumns(): string {
  return [
    'set local check_function_bodies = off;',
    ...tables.flatMap((name) => [
      `alter table jobtree.${name} add column next_note text;`,
      `alter table jobtree.${name} add column next_count integer not null default 0;`,
    ]),
    // After the stronger lock on what it refers to: to take that later would be a deadlock with whoever waits meanwhile.
    `create table jobtree.next (job_id uuid primary key references jobtree.job on delete cascade, what text);`,
  ].join('\n');
}

/** Every function has another body that does the same. */
export function newBodies(n: number): string {
  const texts = [...current.values()].map((text) =>
    text.replace(/\bas \$\$\n/, `as $$$$\n-- The ${n}th body.\n`),
  );
  return ['set local check_function_bodies = off;', ...texts].join('\n');
}

/** Every function that can be is dropped, and made again with one more parameter than `prisma/functions` gives it. */
export function newParameters(n: number): string {
  const texts = [...current]
    .filter(([name]) => !inUse.has(name))
    .map(([name, text]) => `drop function jobtree.${name};\n${withParameter(text, n)}`);
  return ['set local check_function_bodies = off;', ...texts].join('\n');
}

function withParameter(text: string, n: number): string {
  const opening = text.indexOf('(', text.indexOf('create or replace function'));
  let closing = opening + 1;
  for (let depth = 1; ; closing++) {
    if (text[closing] === '(') depth++;
    if (text[closing] === ')' && --depth === 0) break;
  }
  const parameters = text.slice(opening + 1, closing).trimEnd();
  const added = `${parameters === '' ? '' : `${parameters}, `}p_next_${n} text default null`;
  return `${text.slice(0, opening + 1)}${added}${text.slice(closing)}`;
}
