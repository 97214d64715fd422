/**
 * The hot statements use the index that they were made for, on an empty table and on a full one: what Postgres is asked
 * inside the functions is taken from its log of plans (auto_explain), so that the test sees what really runs.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { newClaimId } from '../../src/client/claim-id.ts';
import { newType, useEngine } from '../support/engine.ts';

const t = useEngine();

interface Plan {
  query: string;
  nodes: string;
}

/** Runs a statement and gives the plans of everything that ran inside of it. */
async function plansOf(text: string, values: unknown[]): Promise<Plan[]> {
  const client = await t.db.connect();
  const plans: Plan[] = [];
  client.on('notice', ({ message }) => {
    const [, json] = /plan:\s*(\{[\s\S]*\})/.exec(message ?? '') ?? [];
    if (json === undefined) return;
    const parsed = JSON.parse(json) as { 'Query Text': string; Plan: object };
    const nodes = JSON.stringify(parsed.Plan, [
      'Plans',
      'Node Type',
      'Relation Name',
      'Index Name',
      'Index Cond',
    ]);
    plans.push({ query: parsed['Query Text'], nodes });
  });
  try {
    await client.query(`load 'auto_explain'`);
    for (const setting of [
      'auto_explain.log_min_duration = 0',
      'auto_explain.log_nested_statements = on',
      'auto_explain.log_format = json',
      'auto_explain.log_level = notice',
      'client_min_messages = notice',
    ]) {
      await client.query(`set ${setting}`);
    }
    await client.query(text, values);
  } finally {
    await client.end();
  }
  return plans;
}

const hotTables = ['job_item', 'queue_entry', 'assignment', 'progress_delta'];

/** No hot table is read from its start to its end, and no index over state is used to find rows. */
function expectNarrow(plans: Plan[]): void {
  expect(plans.length).toBeGreaterThan(0);
  for (const { query, nodes } of plans) {
    for (const table of hotTables) {
      expect(`${query}\n${nodes}`).not.toContain(`"Node Type":"Seq Scan","Relation Name":"${table}"`);
    }
  }
}

/** Enough rows for the planner to think twice, in a job of its own. */
async function fill(): Promise<{ type: string; job: string; assignments: string[] }> {
  const type = newType();
  const { [type]: job = '' } = await t.create({ type });
  await t.db.query(
    `select jobtree.add_items($1, (select jsonb_agg('{"payload": 1}'::jsonb) from generate_series(1, 20000)))`,
    [job],
  );
  const held = await t.db.query<{ id: string }>(
    `select json_array_elements_text(items -> 'id') as id from jobtree.claim_items('{w}', $1, '{10000}')`,
    [[type]],
  );
  const ids = held.map(({ id }) => id);
  await t.db.query(
    `select jobtree.report_outcomes((select jsonb_agg(jsonb_build_object('assignmentId', id, 'result', 1)) from unnest($1::uuid[]) id))`,
    [ids.slice(0, 9_000)],
  );
  await t.db.query('analyze');
  return { type, job, assignments: ids.slice(9_000) };
}

describe.each(['empty', 'full'])('on %s tables', (state) => {
  let subject: { type: string; job: string; assignments: string[] };
  beforeAll(async () => {
    if (state === 'full') {
      subject = await fill();
    } else {
      await t.db.query('analyze');
      const type = newType();
      const { [type]: job = '' } = await t.create({ type, items: [{}, {}, {}] });
      subject = { type, job, assignments: [(await t.claimOne(type)).id, (await t.claimOne(type)).id] };
    }
  });

  it('a claim reads its lane by the index of ready entries, and items by their keys', async () => {
    const args = [['w'], [subject.type], [100], [subject.type], [0], [0], [newClaimId()], [0]];
    const plans = await plansOf('select * from jobtree.claim_items($1, $2, $3, $4, $5, $6, $7, $8)', args);
    expectNarrow(plans);
    // Whether the claim is a repeated one is a look at a range of the primary key.
    const looked = plans.find(({ query }) => query.includes('claimed_ids'));
    expect(looked?.nodes).toMatch(/"Index Name":"assignment_pkey","Index Cond":"\(\(id >= .* AND \(id <= /);
    expect(plans.some(({ nodes }) => nodes.includes('"Index Name":"queue_entry_ready"'))).toBe(true);
    expect(plans.some(({ nodes }) => nodes.includes('"Index Name":"job_item_pkey"'))).toBe(true);
  });

  it('a claim that is cut for its size looks at the entries where they are', async () => {
    const type = newType();
    await t.create({ type, items: [{ payload: 1 }, { payload: 2 }] });
    await t.db.query('update jobtree.queue_entry set payload_bytes = 20000000 where type = $1', [type]);
    const plans = await plansOf('select * from jobtree.claim_items($1, $2, $3)', [['w'], [type], [2]]);
    expectNarrow(plans);
    const cut = plans.find(({ query }) => query.includes('over (order by p.n)'));
    expect(cut?.nodes).toContain('"Node Type":"Tid Scan"');
  });

  it('a repeated claim finds what it got by the primary key', async () => {
    const type = newType();
    await t.create({ type, items: [{}, {}] });
    const args = [['w'], [type], [1], [newClaimId()], [0]];
    const claim = `select * from jobtree.claim_items($1, $2, $3, p_claim_ids => $4, p_before => $5)`;
    await t.db.query(claim, args);
    const plans = await plansOf(claim, args);
    expectNarrow(plans);
    expect(plans.some(({ query }) => query.includes('with kept'))).toBe(true);
    for (const { nodes } of plans) expect(nodes).not.toMatch(/assignment_(held|deadline)/);
  });

  it('a report finds assignments by their primary key alone', async () => {
    const [first = '', second = ''] = subject.assignments;
    const reports = [
      { assignmentId: first, result: 1 },
      { assignmentId: second, failure: { code: 'E', message: 'no' } },
    ];
    const plans = await plansOf('select * from jobtree.report_outcomes($1)', [JSON.stringify(reports)]);
    expectNarrow(plans);
    for (const { nodes } of plans) expect(nodes).not.toMatch(/assignment_(held|deadline)/);
  });

  it('a heartbeat and a release find assignments by their primary key', async () => {
    for (const name of ['heartbeat', 'release_assignments']) {
      expectNarrow(await plansOf(`select * from jobtree.${name}($1)`, [subject.assignments.slice(2, 4)]));
    }
  });

  it('a fold reads the deltas of its tree from its mark on', async () => {
    const plans = await plansOf('select * from jobtree.fold_progress($1, $2)', [subject.job, 5]);
    expectNarrow(plans);
    expect(plans.some(({ nodes }) => nodes.includes('"Index Name":"progress_delta_root_id_id_idx"'))).toBe(
      true,
    );
  });

  it('a sweep reads by deadline and by due time', async () => {
    const plans = (await plansOf('select * from jobtree.sweep($1)', [new Date()])).filter(
      ({ query }) => !query.includes('progress_delta'),
    );
    expect(plans.some(({ nodes }) => nodes.includes('"Index Name":"assignment_deadline_at_idx"'))).toBe(true);
    expect(plans.some(({ nodes }) => nodes.includes('"Index Name":"queue_entry_scheduled"'))).toBe(true);
  });
});

it('finishing an assignment changes no index: the update is heap-only', async () => {
  const { type } = await fill();
  const before = await hotUpdates();
  const held = await t.db.query<{ id: string }>(
    `select json_array_elements_text(items -> 'id') as id from jobtree.claim_items('{w}', $1, '{1000}')`,
    [[type]],
  );
  await t.db.query(
    `select jobtree.report_outcomes((select jsonb_agg(jsonb_build_object('assignmentId', id, 'result', 1)) from unnest($1::uuid[]) id))`,
    [held.map(({ id }) => id)],
  );
  const after = await hotUpdates();
  expect(after.updates - before.updates).toBeGreaterThanOrEqual(1_000);
  // Not all: a page that others filled may have no room. An index on the state would make it none.
  expect((after.hot - before.hot) / (after.updates - before.updates)).toBeGreaterThan(0.5);
});

async function hotUpdates(): Promise<{ updates: number; hot: number }> {
  await t.db.query('select pg_stat_force_next_flush()');
  const [row] = await t.db.query<{ updates: number; hot: number }>(
    `select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'assignment'`,
  );
  return row ?? { updates: 0, hot: 0 };
}
