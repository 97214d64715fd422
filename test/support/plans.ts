/** The plans of what really runs inside the stored functions, taken from Postgres's log of plans (auto_explain). */
import pg from 'pg';
import { type Survey, settingsOf } from '../../src/db/surveys.ts';
import type { TestDatabase } from './database.ts';

export interface Plan {
  readonly query: string;
  /** How each table is read: "lease by lease_pkey"; with "(all)" if no condition narrows the index, or "(bitmap)". */
  readonly reads: readonly string[];
  /** The first one contains all others. */
  readonly nodes: readonly PlanNode[];
  readonly isCompiled: boolean;
}

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Loops'?: number;
  readonly 'Actual Rows'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Schema?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The statistics of these tables, or all, stay as they are, and no snapshot of an analysis keeps dead rows, however long a test takes. */
export async function stopAutovacuum(db: TestDatabase, tables: readonly string[] = []): Promise<void> {
  const found = await db.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = 'jobtree'::regnamespace and c.relkind = 'r' and ($1::text[] = '{}' or c.relname = any ($1::text[]))`,
    [tables],
  );
  for (const { name } of found) await db.query(`alter table ${name} set (autovacuum_enabled = false)`);
}

const settings = [
  'auto_explain.log_min_duration = 0',
  'auto_explain.log_nested_statements = on',
  'auto_explain.log_analyze = on',
  'auto_explain.log_timing = off',
  'auto_explain.log_buffers = on',
  'auto_explain.log_format = json',
  'auto_explain.log_level = notice',
  'client_min_messages = notice',
];

/** The plans of all statements that an action runs, on a session of its own: none of them may be compiled, which takes longer than most run. */
export async function plansOf(
  db: TestDatabase,
  act: (client: pg.Client) => Promise<unknown>,
): Promise<Plan[]> {
  const client = await db.connect();
  const plans: Plan[] = [];
  try {
    await client.query(`load 'auto_explain'`);
    for (const setting of settings) await client.query(`set ${setting}`);
    client.on('notice', ({ message }) => {
      const plan = toPlan(message);
      if (plan !== undefined) plans.push(plan);
    });
    await act(client);
  } finally {
    await client.end();
  }
  const compiled = plans.filter(({ isCompiled }) => isCompiled).map(({ query }) => query);
  if (compiled.length > 0) throw new Error(`Postgres compiled (JIT): ${compiled.join('\n\n')}`);
  return plans;
}

/** Runs a survey as a server does. Its plan is logged at the end of the transaction. */
export async function surveyOn(client: pg.Client, survey: Survey): Promise<pg.QueryResult> {
  await client.query(`begin${settingsOf(survey)}`);
  const result = await client.query(survey);
  await client.query('commit');
  return result;
}

/** From now on, on every connection to the database that this process opens: `found` is called with the plan of each statement. */
export async function watchPlans(db: TestDatabase, found: (plan: Plan) => void): Promise<() => void> {
  const [row] = await db.query<{ name: string }>('select current_database() as name');
  for (const setting of [`session_preload_libraries = 'auto_explain'`, ...settings])
    await db.query(`alter database ${row?.name} set ${setting}`);
  const { connect } = pg.Client.prototype;
  pg.Client.prototype.connect = function (this: pg.Client, ...args: Parameters<typeof connect>) {
    this.on('notice', ({ message }) => {
      const plan = toPlan(message);
      if (plan !== undefined) found(plan);
    });
    return connect.apply(this, args);
  } as typeof connect;
  return () => {
    pg.Client.prototype.connect = connect;
  };
}

function toPlan(message: string | undefined): Plan | undefined {
  const [, json] = /plan:\s*(\{[\s\S]*\})/.exec(message ?? '') ?? [];
  if (json === undefined) return undefined;
  const { 'Query Text': query, Plan: root, JIT } = JSON.parse(json);
  const nodes = flatten(root);
  return { query, nodes, reads: nodes.flatMap((node) => readOf(node) ?? []), isCompiled: JIT !== undefined };
}

/** All ways in which tables are read, each once. */
export function readsOf(plans: readonly Plan[]): string[] {
  return [...new Set(plans.flatMap(({ reads }) => reads))].sort();
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

function readOf(node: PlanNode): string | undefined {
  const table = node['Relation Name'];
  if (table === undefined || node['Node Type'] === 'ModifyTable') return undefined;
  if (node['Node Type'] === 'Bitmap Heap Scan') {
    const indexes = flatten(node).flatMap((each) => each['Index Name'] ?? []);
    return `${table} by ${indexes.join(' and ')} (bitmap)`;
  }
  const index = node['Index Name'];
  if (index === undefined) return `${table} by ${node['Node Type']}`;
  return `${table} by ${index}${node['Index Cond'] === undefined ? ' (all)' : ''}`;
}

/** The same where it does not matter whether a bitmap comes between: it is of what a condition leaves. */
export function withoutBitmaps(plans: readonly Plan[]): Plan[] {
  return plans.map((plan) => ({ ...plan, reads: plan.reads.map((read) => read.replace(' (bitmap)', '')) }));
}

/** Those that none of the plans has. Where two indexes are as good, a read names both: `a | b`. */
export function missingReads(plans: readonly Plan[], expected: readonly string[]): string[] {
  const found = readsOf(plans);
  return expected.filter((each) => !each.split(' | ').some((read) => found.includes(read)));
}

/** Reads other than these, each with the statement that does it. */
export function otherReads(plans: readonly Plan[], expected: readonly string[]): string[] {
  const others = plans.flatMap(({ query, reads }) =>
    reads
      .filter((read) => !expected.some((each) => each.split(' | ').includes(read)))
      .map((read) => `${read}: ${query.replace(/\s+/g, ' ').slice(0, 300)}`),
  );
  return [...new Set(others)];
}
