/** The plans of what really runs inside the stored functions, taken from Postgres's log of plans (auto_explain). */
import type pg from 'pg';
import type { TestDatabase } from './database.ts';

export interface Plan {
  readonly query: string;
  /** How each table is read: "lease by lease_pkey"; with "(all)" if no condition narrows the index, or "(bitmap)". */
  readonly reads: readonly string[];
  readonly nodes: readonly PlanNode[];
}

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Loops'?: number;
  readonly 'Actual Rows'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Schema?: string;
  readonly Plans?: readonly PlanNode[];
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
  const compiled: string[] = [];
  try {
    await client.query(`load 'auto_explain'`);
    for (const setting of settings) await client.query(`set ${setting}`);
    client.on('notice', ({ message }) => {
      const [, json] = /plan:\s*(\{[\s\S]*\})/.exec(message ?? '') ?? [];
      if (json === undefined) return;
      const parsed = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode; JIT?: object };
      if (parsed.JIT !== undefined) compiled.push(parsed['Query Text']);
      const nodes = flatten(parsed.Plan);
      plans.push({ query: parsed['Query Text'], nodes, reads: nodes.flatMap((node) => readOf(node) ?? []) });
    });
    await act(client);
  } finally {
    await client.end();
  }
  if (compiled.length > 0) throw new Error(`Postgres compiled (JIT): ${compiled.join('\n\n')}`);
  return plans;
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

/** Reads other than these, each with the statement that does it. */
export function otherReads(plans: readonly Plan[], expected: readonly string[]): string[] {
  const others = plans.flatMap(({ query, reads }) =>
    reads
      .filter((read) => !expected.includes(read))
      .map((read) => `${read}: ${query.replace(/\s+/g, ' ').slice(0, 300)}`),
  );
  return [...new Set(others)];
}
