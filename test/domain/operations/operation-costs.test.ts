/** What an operation reads depends on what its tenant has and on what it selects, not on what others have. */
import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { fillForeign } from '../../support/fill-foreign.ts';
import { type Plan, plansOf } from '../../support/plans.ts';
import { useDatabase } from '../../support/use-server.ts';

const foreignRows = 5_000;
/** Of a job with so many of each, its last hundred are read in fewer blocks than its index has before them. */
const largeRows = 60_000;
const batchBlocks = 450;
/** A table or an index of so many rows has more. */
const fewBlocks = 60;

const db = useDatabase();
const kinds = ['REPLAY', 'DISCARD', 'CANCEL', 'PROMOTE'] as const;
type Kind = (typeof kinds)[number];

/** A job with so many dead letters, and so many scheduled items, each a range of its own. */
async function fillJob(type: string, count: number): Promise<string> {
  const [job = { job_id: '' }] = await db.query<{ job_id: string }>(
    'select job_id from jobtree.create_job($1)',
    [JSON.stringify({ type })],
  );
  for (const insert of [
    `jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
     select $1::uuid, i, $2, now(), 'y', 'no', gen_random_uuid()`,
    `jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
     select $1::uuid, i, i, 8, now() + interval '1 h', 2, 1, 0, $2`,
  ])
    await db.query(`insert into ${insert} from generate_series(1, $3::bigint) i`, [job.job_id, type, count]);
  return job.job_id;
}

let largeId: string;
beforeAll(async () => {
  await fillForeign(db, foreignRows);
  await db.query(`select setval('jobtree.block_seq', $1)`, [2 * foreignRows]);
  await fillJob('few//work', 3);
  largeId = await fillJob('large//work', largeRows);
  await db.query('vacuum analyze');
});

const start = async (client: pg.Client, kind: Kind, filter: object) => {
  const { rows } = await client.query(
    'select operation_id as id, total from jobtree.start_operation($1, $2)',
    [kind, JSON.stringify(filter)],
  );
  return { id: rows[0].id as string, total: Number(rows[0].total) };
};

const run = async (client: pg.Client, id: string) => {
  for (;;) {
    const { rows } = await client.query('select finished from jobtree.run_operation($1)', [id]);
    if (rows[0].finished === true) return;
  }
};

/** What an action does is undone. */
const undone = (act: (client: pg.Client) => Promise<unknown>) =>
  plansOf(db, async (client) => {
    await client.query('begin');
    await act(client);
    await client.query('rollback');
  });

const blocks = ({ nodes: [root] }: Plan) =>
  (root?.['Shared Hit Blocks'] ?? 0) + (root?.['Shared Read Blocks'] ?? 0);
const large = (plans: readonly Plan[], most: number) =>
  plans
    .filter((plan) => blocks(plan) > most)
    .map((plan) => `${blocks(plan)} blocks: ${plan.query.replace(/\s+/g, ' ').slice(0, 300)} ${plan.reads}`);

const statuses = (kind: Kind) => kind === 'PROMOTE' && { statuses: ['SCHEDULED', 'RETRYING'] };
const everything = (kind: Kind) =>
  kind === 'REPLAY' || kind === 'DISCARD'
    ? { diedUntil: '2999-01-01T00:00:00Z' }
    : { addedFrom: '1970-01-01T00:00:00Z' };

describe.each(kinds)('%s', (kind) => {
  it.each([
    ['of a tenant that has nothing', { tenant: 'none', ...everything(kind) }, 0],
    ['of a type that nobody has', { types: ['none//work'] }, 0],
    ['of a tenant that has little', { tenant: 'few', types: ['few//work'] }, 3],
    ['of a code that nothing of a tenant has', { tenant: 'few', codes: ['none'] }, 0],
  ])('%s reads nothing of others', async (_, filter, expected) => {
    let total = -1;
    const act = async (client: pg.Client) => {
      const operation = await start(client, kind, { ...filter, ...statuses(kind) });
      ({ total } = operation);
      await run(client, operation.id);
    };
    // The first time, the connection also reads the catalog.
    const plans = await undone(async (client) => {
      await client.query('savepoint before');
      await act(client);
      await client.query('rollback to before');
      await client.query('/* again */ select 1');
      await act(client);
    });
    const again = plans.slice(plans.findIndex(({ query }) => query.startsWith('/* again */')));
    expect(total).toBe(expected);
    expect(large(again, fewBlocks * Math.max(1, expected))).toEqual([]);
    expect(again.length).toBeLessThan(50);
  });

  it('has finished when it selects nothing', async () => {
    await undone(async (client) => {
      const { id, total } = await start(client, kind, { codes: ['none'], ...statuses(kind) });
      const { rows } = await client.query('select finished_at from jobtree.operation where id = $1', [id]);
      expect([total, rows[0].finished_at]).toEqual([0, expect.any(Date)]);
    });
  });

  it('reads each part of a large job from where the last one ended', async () => {
    const plans = await undone(async (client) => {
      const { id } = await start(client, kind, { jobId: largeId, ...statuses(kind) });
      await client.query('update jobtree.operation set next_job_id = $2, next_position = $3 where id = $1', [
        id,
        largeId,
        largeRows - 100,
      ]);
      await client.query('/* again */ select 1');
      await client.query(
        kind === 'REPLAY' || kind === 'DISCARD'
          ? 'select m.* from jobtree.operation o cross join lateral jobtree.matching_dead_letters(o, 1000) m where o.id = $1'
          : `select m.* from jobtree.operation o cross join lateral jobtree.pending_window(o, 1000, 1000) w
             cross join lateral jobtree.matching_pending(o, w.last_job_id, w.last_position) m where o.id = $1`,
        [id],
      );
    });
    const again = plans.slice(plans.findIndex(({ query }) => query.startsWith('/* again */')));
    expect(large(again, batchBlocks)).toEqual([]);
  });
});

it.each([
  ['DISCARD', { codes: ['x'] }],
  ['CANCEL', { statuses: ['READY', 'RUNNING', 'BLOCKED'] }],
  ['PROMOTE', { statuses: ['SCHEDULED'] }],
] as const)('%s goes through all jobs if it has found items in very many', async (kind, filter) => {
  await undone(async (client) => {
    const { id, total } = await start(client, kind, filter);
    await client.query('update jobtree.operation set selected_job_ids = null where id = $1', [id]);
    await run(client, id);
    const { rows } = await client.query('select done::integer from jobtree.operation where id = $1', [id]);
    expect(total).toBeGreaterThan(foreignRows / 10);
    expect(rows[0].done).toBe(total);
  });
});
