/** Operations begin with a count, which may go through much. */
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

const { ask, db } = useServer({ JOBTREE_AUTH: 'keys', JOBTREE_POOL_SIZE: '4' });

it('while a tenant starts many operations, and their counts go on and on, others add, claim and report', async () => {
  const { key: mine } = await makeKey(db, ['admin'], { tenant: 'mine' });
  const { key: other } = await makeKey(db, ['admin'], { tenant: 'other' });
  // Each count goes on until it is let go. A lock would end by itself after a second.
  await db.query('create table public.released ()');
  await db.query(`
    create or replace function jobtree.few_jobs(p_types text[], p_tenant text) returns uuid[] language plpgsql volatile as $$
    begin
      while not exists (select from public.released) loop perform pg_sleep(0.01); end loop;
      return '{}';
    end $$`);
  const starts = Array.from({ length: 12 }, (_, i) =>
    ask(
      mine,
      `mutation { discardDeadLetters(input: { filter: { codes: ["${i}"] } }) { ... on DiscardDeadLettersPayload { operation { total } } } }`,
    ),
  );
  try {
    await eventually(async () =>
      expect(
        await db.query(
          `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
        ),
      ).not.toEqual([]),
    );
    expect(
      await ask(
        other,
        'mutation { createJob(input: { type: "t", items: [{ payload: 1 }] }) { __typename } }',
      ),
    ).toMatchObject({ data: { createJob: { __typename: 'CreateJobPayload' } } });
    const claimed = await ask(
      other,
      'mutation { claimItems(input: { worker: "w", requests: [{ type: "t", limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }',
    );
    const [{ id }] = claimed.data.claimItems.assignments;
    expect(
      await ask(
        other,
        `mutation { reportOutcomes(input: { reports: [{ assignmentId: "${id}", outcome: { success: { result: 1 } } }] }) { ... on ReportOutcomesPayload { entries { status } } } }`,
      ),
    ).toMatchObject({ data: { reportOutcomes: { entries: [{ status: 'ACCEPTED' }] } } });
  } finally {
    await db.query('insert into public.released default values');
    await Promise.all(starts);
  }
  expect(await starts[11]).toMatchObject({ data: { discardDeadLetters: { operation: { total: 0 } } } });
});
