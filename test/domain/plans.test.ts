/**
 * Each hot statement uses the indexes that it was made for: on tables with next to nothing, on full ones, and where the statistics are
 * from a moment at which nothing was waiting or held. What runs inside the functions is taken from Postgres's log of plans.
 *
 *     PLANS_ITEMS   items that are done (50,000)
 *     PLANS_JOBS    jobs that are done (5,000)
 *     PLANS_LARGE   items of a job that the statistics do not know (30,000)
 */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { fillEnded, fillLarge, fillPending } from '../support/fill.ts';
import { calls, makeSubject, type Subject } from '../support/hot-calls.ts';
import { lists } from '../support/hot-reads.ts';
import {
  missingReads,
  otherReads,
  plansOf,
  readsOf,
  stopAutovacuum,
  withoutBitmaps,
} from '../support/plans.ts';

const done = {
  items: Number(process.env.PLANS_ITEMS ?? 50_000),
  jobs: Number(process.env.PLANS_JOBS ?? 5_000),
};
const live = {
  items: Math.min(100_000, Math.ceil(done.items / 4)),
  jobs: Math.min(5_000, Math.ceil(done.jobs / 4)),
};

/** Before each call: a lease is silent, and an entry is due. */
const preparations = [
  `update jobtree.lease set check_at = now() - interval '1 s', heartbeat_at = to_timestamp(0) where id = $1`,
  `with one as (select ctid from jobtree.queue_entry where run_at is not null limit 1)
   update jobtree.queue_entry set run_at = now() - interval '1 s' where ctid in (select ctid from one)`,
];

async function inTransaction(client: pg.Client, act: () => Promise<unknown>): Promise<void> {
  await client.query('begin');
  await act();
  await client.query('rollback');
}

const states = {
  // Analyzed with its few rows, any index is as good.
  'next to nothing, analyzed before': async (db: TestDatabase) => {
    await stopAutovacuum(db);
    await db.query('analyze');
    return makeSubject(db);
  },
  'full tables': async (db: TestDatabase) => {
    await fillEnded(db, done);
    await fillPending(db, live);
    const subject = await makeSubject(db);
    await db.query('analyze');
    return subject;
  },
  'full tables, analyzed while nothing was pending': async (db: TestDatabase) => {
    await stopAutovacuum(db, ['queue_entry', 'lease', 'progress_delta', 'job', 'job_progress']);
    await fillEnded(db, done);
    await db.query('analyze');
    await fillPending(db, live);
    return makeSubject(db);
  },
};

describe.each(Object.entries(states))('on %s', (state, fill) => {
  let db: TestDatabase;
  let subject: Subject;
  beforeAll(async () => {
    db = await createDatabase();
    subject = await fill(db);
  }, 3_600_000);
  afterAll(() => db.drop());

  it.each(Object.entries(calls))('%s uses indexes', async (_, { text, refused, values, reads }) => {
    const plans = await plansOf(db, (client) =>
      inTransaction(client, async () => {
        for (const preparation of preparations) {
          await client.query(preparation, preparation.includes('$1') ? [subject.leases[2]] : []);
        }
        await client.query('/* begin */ select 1');
        for (const statement of [text].flat()) {
          const answer = client.query(statement, values(subject));
          await (refused ? expect(answer).rejects.toThrow() : answer);
        }
      }),
    );
    const own = plans.slice(plans.findIndex(({ query }) => query.startsWith('/* begin */')) + 1);
    expect(otherReads(own, reads)).toEqual([]);
    expect(missingReads(own, reads)).toEqual([]);
  });

  it('a claim of 1,000 types costs one probe per type, and a cursor only for types with items', async () => {
    const types = Array.from({ length: 1_000 }, (_, i) => (i % 500 === 7 ? 'subject' : `nothing ${i}`));
    const plans = await plansOf(db, (client) =>
      inTransaction(client, () =>
        client.query('select * from jobtree.claim_items($1, $2, $3)', [
          types.map(() => 'w'),
          types,
          types.map(() => 1),
        ]),
      ),
    );
    const probes = plans.filter(({ query }) => query.includes('unnest(p_range_types, p_range_highs'));
    const probe = probes[0]?.nodes.find((node) => node['Index Name'] === 'queue_entry_ready');
    expect([probes.length, probe?.['Actual Loops']]).toEqual([1, 999]);
    expect(probe?.['Shared Hit Blocks']).toBeLessThanOrEqual(5 * 999);
    const cursors = plans.filter(({ query }) => query.includes('c_taken'));
    expect(cursors.length).toBe(1);
  });

  // Of next to nothing any way to read is as good.
  const shown = state.startsWith('next to nothing') ? [] : Object.entries(lists);
  for (const [name, { read, reads }] of shown) {
    it(`${name} use indexes`, async () => {
      const all = await plansOf(db, (client) =>
        read({ pool: client, surveys: client } as unknown as Database, subject),
      );
      const plans = withoutBitmaps(all);
      const found = readsOf(plans);
      // What the statistics do not know of looks small, and then another index of the job is as good.
      if (state.includes('analyzed')) {
        expect(found.filter((each) => /Seq Scan|\(all\)/.test(each) && !reads.includes(each))).toEqual([]);
        return;
      }
      expect([otherReads(plans, reads), missingReads(plans, reads)]).toEqual([[], []]);
    });
  }
});

/** Items of two priorities in turns have an entry each, and then a lease each: the most that a batch can be divided into. */
describe('a batch of 500 lone items is not compared item by item', () => {
  const count = 500;
  const claim = `select lease_id from jobtree.claim_items('{w}', '{lone}', '{${count}}')`;
  const ids = `(select array_agg(l.id order by l.id) from jobtree.lease l)`;
  const ones = `array_fill(1, '{${count}}')`;
  const kinds = `array_fill('failure'::text, '{${count}}')`;
  const texts = (text: string) => `array_to_json(array_fill('${text}'::json, '{${count}}'))`;
  const failures = texts('{"code":"E","message":"no"}');
  const finalFailures = texts('{"code":"E","message":"no","permanent":true}');
  const failForGood = `select jobtree.report_results(${ids}, ${ones}, ${finalFailures}, ${kinds}, false)`;
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createDatabase();
    const items = Array.from({ length: count }, (_, i) => ({ payload: i, priority: i % 2 }));
    await db.query('select jobtree.create_job($1)', [
      JSON.stringify({ type: 'lone', backoffMs: [0], items, children: [{ type: 'fed', feed: {} }] }),
    ]);
  });
  afterAll(() => db.drop());

  it.each([
    ['claimed', []],
    ['reported', [`select jobtree.report_results(${ids}, ${ones}, ${texts('1')}, p_wait => false)`]],
    [
      'failed, and claimed again',
      [`select jobtree.report_results(${ids}, ${ones}, ${failures}, ${kinds}, false)`, claim],
    ],
    [
      'reported by a caller that waits',
      [`select jobtree.report_results(${ids}, ${ones}, ${failures}, ${kinds})`],
    ],
    [
      'kept',
      [
        `select jobtree.keep_leases(${ids}, array_fill(jobtree.bit_at(1), '{${count}}'), array_fill(jobtree.bit_at(1), '{${count}}'))`,
      ],
    ],
    [
      'released',
      ['select jobtree.release_assignments(array_agg(jobtree.assignment_id(l.id, 1))) from jobtree.lease l'],
    ],
    [
      'lost',
      [
        `update jobtree.lease set check_at = now() - interval '1 s', heartbeat_at = to_timestamp(0)`,
        `select jobtree.sweep_leases(p_limit => ${count})`,
      ],
    ],
    ['failed for good', [failForGood]],
    [
      'replayed',
      [
        failForGood,
        `select jobtree.replay_items(j.id, array_agg(d.job_id), array_agg(d.position))
         from jobtree.job j, jobtree.dead_letter d where j.depth = 0 group by j.id`,
      ],
    ],
    [
      'discarded',
      [
        failForGood,
        'select jobtree.discard_items(array_agg(d.job_id), array_agg(d.position)) from jobtree.dead_letter d',
      ],
    ],
    ['cancelled', ['select jobtree.cancel_job(j.id) from jobtree.job j where j.depth = 0']],
  ])('%s', async (_, statements) => {
    const plans = await plansOf(db, (client) =>
      inTransaction(client, async () => {
        expect((await client.query(claim)).rowCount).toBe(count);
        for (const statement of statements) await client.query(statement);
      }),
    );
    const squares = plans.flatMap(({ query, nodes }) => {
      const most = Math.max(...nodes.map((node) => node['Rows Removed by Join Filter'] ?? 0));
      return most > 10 * count ? [`${most}: ${query.slice(0, 300)}`] : [];
    });
    expect(squares).toEqual([]);
  });
});

describe('an operation on very many trees', () => {
  const count = 500;
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createDatabase();
    for (const [type, runAt] of [
      ['now', null],
      ['later', '2999-01-01T00:00:00Z'],
    ]) {
      await db.query('select jobtree.create_job($1) from generate_series(1, $2::integer)', [
        JSON.stringify({ type, items: [{ payload: 1, ...(runAt !== null && { runAt }) }] }),
        count,
      ]);
    }
  });
  afterAll(() => db.drop());

  it.each([
    ['CANCEL', { types: ['now'] }, count],
    ['CANCEL', { types: ['none'] }, 0],
    ['PROMOTE', { types: ['later'], statuses: ['SCHEDULED'] }, count],
  ] as const)('does not go through them one by one: %s %j', async (kind, filter, expected) => {
    let done = 0;
    const plans = await plansOf(db, (client) =>
      inTransaction(client, async () => {
        const started = await client.query('select operation_id as id from jobtree.start_operation($1, $2)', [
          kind,
          JSON.stringify(filter),
        ]);
        const [{ id }] = started.rows;
        let finished = false;
        while (!finished) {
          ({ finished } = (
            await client.query('select finished from jobtree.run_operation($1)', [id])
          ).rows[0]);
        }
        const state = await client.query('select done::integer from jobtree.operation where id = $1', [id]);
        ({ done } = state.rows[0]);
      }),
    );
    expect(done).toBe(expected);
    expect(plans.length).toBeLessThan(100);
  });
});

it('a function that steers its plans does not let Postgres compile them, whoever calls it', async () => {
  const db = await createDatabase();
  const compiled = await db.query<{ name: string }>(
    `select p.proname as name from pg_proc p
     where p.pronamespace = 'jobtree'::regnamespace and p.proconfig::text like '%enable\\_%' and not 'jit=off' = any (p.proconfig)`,
  );
  expect(compiled).toEqual([]);
  await db.drop();
});

describe('a job that the statistics do not know', () => {
  let db: TestDatabase;
  let subject: Subject;
  beforeAll(async () => {
    db = await createDatabase();
    await stopAutovacuum(db, ['queue_entry', 'lease', 'job', 'job_item', 'outcome']);
    await fillEnded(db, done);
    await db.query('analyze');
    const root = await fillLarge(db, Number(process.env.PLANS_LARGE ?? 30_000));
    subject = { ...(await makeSubject(db)), root };
  }, 3_600_000);
  afterAll(() => db.drop());

  it.each(Object.entries(lists).filter(([, { page }]) => page))(
    '%s reads no more than a page',
    async (_, { read }) => {
      const plans = await plansOf(db, (client) =>
        read({ pool: client, surveys: client } as unknown as Database, subject),
      );
      const rows = plans.flatMap(({ nodes }) =>
        nodes.map((node) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1)),
      );
      expect(Math.max(...rows)).toBeLessThan(1_000);
    },
  );
});
