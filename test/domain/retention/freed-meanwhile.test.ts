/** Races for a name that another transaction frees between "on conflict do nothing" and the look at what is in the way. */
import type pg from 'pg';
import { expect, it } from 'vitest';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';

const t = useEngine();
const held = 4711;

/** Calls create, of which an insert into the table finds its name taken; frees the name before create goes on. */
async function whileFreed<T>(
  table: string,
  create: () => Promise<T>,
  free: (client: pg.Client) => Promise<unknown>,
) {
  // A statement's trigger fires for an insert without rows, too: there the call waits.
  await t.db.query(`
    create function public.wait_if_taken() returns trigger language plpgsql as $$
    begin
      if not exists (select from added) then perform pg_advisory_xact_lock_shared(${held}); end if;
      return null;
    end $$;
    create trigger taken after insert on jobtree.${table} referencing new table as added
    for each statement execute function public.wait_if_taken()`);
  const other = await t.db.connect();
  try {
    await other.query(`select pg_advisory_lock(${held})`);
    const created = create();
    await lockWaiters(t.db, 1);
    await free(other);
    await other.query(`select pg_advisory_unlock(${held})`);
    return await created;
  } finally {
    await other.end();
    await t.db.query('drop function public.wait_if_taken cascade');
  }
}

it('create against delete, with one dedupe key: the job is created', async () => {
  const type = newType();
  const create = () =>
    t.db.query<{ job_id: string; created: boolean }>('select * from jobtree.create_job($1)', [
      JSON.stringify({ type: newType(), children: [{ type, dedupeKey: 'k' }] }),
    ]);
  const [old] = await t.db.query<{ job_id: string }>('select * from jobtree.create_job($1)', [
    JSON.stringify({ type, dedupeKey: 'k' }),
  ]);
  const [row] = await whileFreed('job', create, (other) =>
    other.query('select jobtree.delete_job($1)', [old?.job_id]),
  );
  expect(row).toEqual({ job_id: expect.any(String), created: true });
  const jobs = await t.db.query<{ parent_id: string }>(
    'select parent_id from jobtree.job where dedupe_key = $1 and type = $2',
    ['k', type],
  );
  expect(jobs).toEqual([{ parent_id: row?.job_id }]);
});

it('create against delete, with one dedupe key of a root: no answer is empty', async () => {
  const spec = JSON.stringify({ type: newType(), dedupeKey: 'k' });
  const create = () =>
    t.db.query<{ job_id: string; created: boolean }>('select * from jobtree.create_job($1)', [spec]);
  const [old] = await create();
  const [row] = await whileFreed('job', create, (other) =>
    other.query('select jobtree.delete_job($1)', [old?.job_id]),
  );
  expect(row).toEqual({ job_id: expect.any(String), created: true });
  expect(row?.job_id).not.toBe(old?.job_id);
});
