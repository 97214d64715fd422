/** What must hold in the tables between any two transactions. Each query finds what breaks a rule. */
import { expect } from 'vitest';
import type { TestDatabase } from '../database.ts';
import { type Model, statusOf } from './model.ts';
import type { System } from './system.ts';

/** Where each item is: in an entry, in an open lease, blocked, finished, cancelled. */
const places = `
  select q.job_id, q.position + n as position from jobtree.queue_entry q cross join lateral generate_series(0, q.count - 1) n
  union all
  select l.job_id, l.position + n from jobtree.lease l cross join lateral generate_series(0, l.count - 1) n
  where get_bit(l.open, n) = 1
  union all
  select job_id, position from jobtree.blocked_item
  union all
  select job_id, position from jobtree.outcome
  union all
  select c.job_id, c.position + n from jobtree.cancellation c cross join lateral generate_series(0, c.count - 1) n`;

const rules: Readonly<Record<string, string>> = {
  'an item is in one place, and nothing else is': `
    select coalesce(i.job_id, p.job_id) as job_id, coalesce(i.position, p.position) as position, p.places
    from jobtree.job_item i
    full join (select job_id, position, count(*) as places from (${places}) p group by 1, 2) p
      on p.job_id = i.job_id and p.position = i.position
    where i.job_id is null or p.places is distinct from 1`,
  'an item has one status': `
    select i.job_id, i.position, count(s.status)
    from jobtree.job_item i left join jobtree.item_status s on s.job_id = i.job_id and s.position = i.position
    group by 1, 2 having count(s.status) <> 1`,
  'only items of a lease are open, and no sweep looks at one that is over': `
    select l.id, l.count, l.open, l.check_at from jobtree.lease l
    where bit_count(l.open) > bit_count(l.open & (~B'0'::bit(128) << (128 - l.count)))
      or (l.check_at is null) <> (bit_count(l.open) = 0)`,
  'deltas add up to what is held of a limited type': `
    select q.type, d.items, l.items as held
    from jobtree.queue q
    cross join lateral (select sum(d.items) as items from jobtree.held_delta d where d.type = q.type) d
    cross join lateral (select coalesce(sum(bit_count(l.open)), 0) as items from jobtree.lease l where l.limited_type = q.type) l
    where q.concurrency is not null and d.items is distinct from l.items`,
  'a lease has items that are there': `
    select l.id, l.count from jobtree.lease l
    where l.count <> (
      select count(*) from jobtree.job_item i
      where i.job_id = l.job_id and i.position >= l.position and i.position < l.position + l.count)`,
  'an entry says what its items say': `
    select q.job_id, q.position, q.count, q.bytes, q.priority, q.type, s.*
    from jobtree.queue_entry q
    join jobtree.job j on j.id = q.job_id
    cross join lateral (
      select sum(i.payload_bytes) as item_bytes, min(coalesce(i.priority, j.priority)) as lowest,
        max(coalesce(i.priority, j.priority)) as highest
      from jobtree.job_item i where i.job_id = q.job_id and i.position >= q.position and i.position < q.position + q.count
    ) s
    where q.type <> j.type or s.lowest <> q.priority or s.highest <> q.priority or q.bytes < s.item_bytes
      -- The rest of a small entry may say the size of the whole.
      or (q.bytes > s.item_bytes and q.bytes > 100000)`,
  'an entry of several items has 1 MB at most': `
    select q.job_id, q.position, q.count, q.bytes from jobtree.queue_entry q where q.count > 1 and q.bytes > 1000000`,
  'a job has one row of progress, and no count is negative': `
    select j.id, count(p.*) from jobtree.job j left join jobtree.job_progress p on p.job_id = j.id
    group by j.id
    having count(p.*) <> 1 or min(least(p.item_count, p.succeeded, p.failed, p.cancelled, p.open_jobs, p.generation)) < 0`,
  'a root counts the failures of its tree, and knows since when all of it is complete': `
    select r.job_id, r.tree_failed, tree.completed_at, t.*
    from jobtree.job_progress r
    left join jobtree.tree on tree.root_id = r.job_id
    cross join lateral (
      select sum(p.failed) as failed, max(p.completed_at) as completed_at
      from jobtree.job j join jobtree.job_progress p on p.job_id = j.id where j.root_id = r.job_id
    ) t
    where r.is_root and (
      r.tree_failed <> t.failed or tree.completed_at is distinct from case when r.open_jobs = 0 then t.completed_at end
    )`,
  'a tree has one row': `
    select coalesce(t.root_id, j.id) from jobtree.tree t
    full join (select id from jobtree.job where parent_id is null) j on j.id = t.root_id
    where t.root_id is null or j.id is null`,
  'no progress and no delta is without its job': `
    select p.job_id from jobtree.job_progress p where not exists (select from jobtree.job j where j.id = p.job_id)
    union all
    select d.job_id from jobtree.progress_delta d where not exists (select from jobtree.job j where j.id = d.job_id)`,
  'counters and deltas together equal the rows': `
    select * from (
      select j.id, p.item_count + coalesce(d.items, 0) as items, p.succeeded + coalesce(d.succeeded, 0) as succeeded,
        p.failed + coalesce(d.failed, 0) as failed, p.cancelled + coalesce(d.cancelled, 0) as cancelled,
        (select count(*) from jobtree.job_item i where i.job_id = j.id) as item_rows,
        (select count(*) from jobtree.outcome o where o.job_id = j.id and not o.failed) as success_rows,
        (select count(*) from jobtree.outcome o where o.job_id = j.id and o.failed) as failure_rows,
        (select coalesce(sum(c.count), 0) from jobtree.cancellation c where c.job_id = j.id) as cancelled_rows
      from jobtree.job j
      join jobtree.job_progress p on p.job_id = j.id
      left join (
        select job_id, sum(items) as items, sum(succeeded) as succeeded, sum(failed) as failed, sum(cancelled) as cancelled
        from jobtree.progress_delta group by job_id
      ) d on d.job_id = j.id
    ) c
    where (items, succeeded, failed, cancelled) <> (item_rows, success_rows, failure_rows, cancelled_rows)`,
  'the bytes of a job and of its deltas together are those of its payloads and results': `
    select * from (
      select j.id, p.bytes + coalesce((select sum(d.bytes) from jobtree.progress_delta d where d.job_id = j.id), 0) as bytes,
        (select coalesce(sum(octet_length(i.payload::text)), 0) from jobtree.job_item i where i.job_id = j.id)
          + (select coalesce(sum(octet_length(o.result::text)), 0) from jobtree.outcome o where o.job_id = j.id) as stored
      from jobtree.job j join jobtree.job_progress p on p.job_id = j.id
    ) c
    where bytes <> stored`,
  'what tenants store is what is counted of their trees and uploads': `
    select coalesce(s.tenant, c.tenant) as tenant, s.items as stored_items, s.bytes as stored_bytes, c.items, c.bytes
    from (
      select tenant, sum(items) as items, sum(bytes) as bytes
      from (select tenant, items, bytes from jobtree.stored union all select tenant, items, bytes from jobtree.stored_delta) s
      group by tenant
    ) s
    full join (
      select tenant, sum(items) as items, sum(bytes) as bytes
      from (
        select jobtree.tenant_of(r.type) as tenant, p.item_count as items, p.bytes
        from jobtree.job j join jobtree.job r on r.id = j.root_id join jobtree.job_progress p on p.job_id = j.id
        union all
        select coalesce(u.tenant, ''), 0, u.size from jobtree.upload u
      ) c
      group by tenant
    ) c on c.tenant = s.tenant
    where (coalesce(s.items, 0), coalesce(s.bytes, 0)) <> (coalesce(c.items, 0), coalesce(c.bytes, 0))`,
  'the root knows how many jobs are open': `
    select p.job_id, p.open_jobs from jobtree.job_progress p
    where p.is_root <> (p.job_id = (select j.root_id from jobtree.job j where j.id = p.job_id))
      or p.open_jobs <> case when p.is_root then (
        select count(*) from jobtree.job j join jobtree.job_progress o on o.job_id = j.id
        where j.root_id = p.job_id and o.completed_at is null) else 0 end`,
  'a complete job is sealed, and nothing in it is pending': `
    select p.job_id from jobtree.job_progress p join jobtree.job j on j.id = p.job_id
    where p.completed_at is not null
      and (j.sealed_at is null or exists (select from jobtree.queue_entry q where q.job_id = j.id)
        or exists (select from jobtree.lease l where l.job_id = j.id and bit_count(l.open) > 0))`,
  'the entries of a job that waits for others wait, and no others do': `
    select q.job_id, q.position, q.run_at from jobtree.queue_entry q join jobtree.job j on j.id = q.job_id
    where (j.waits and q.run_at is distinct from 'infinity')
      or (q.run_at = 'infinity' and not (j.waits or j.releasing or j.cancelling))`,
  'what is complete has an outcome, and a tree the worst': `
    select p.job_id, p.outcome, p.tree_outcome, p.completed_at from jobtree.job_progress p
    where (p.outcome is null) <> (p.completed_at is null)
      or p.tree_outcome is distinct from case when p.is_root then (
        select case when bool_or(o.outcome = 'FAILED') then 'FAILED' when bool_or(o.outcome = 'CANCELLED') then 'CANCELLED' else min(o.outcome) end
        from jobtree.job j join jobtree.job_progress o on o.job_id = j.id where j.root_id = p.job_id) end`,
  // What is lost in its last attempt is tried up to three times more.
  'nothing fails more often than it may': `
    select f.job_id, f.position, f.attempt from jobtree.failure f join jobtree.job j on j.id = f.job_id
    left join jobtree.replay r on r.job_id = f.job_id and r.position = f.position
    where f.attempt > coalesce(r.attempt, 0) + j.max_failures_per_item + case when j.max_failures_per_item > 0 then 4 else 1 end
    union all
    select q.job_id, q.position, q.attempt from jobtree.queue_entry q join jobtree.job j on j.id = q.job_id
    cross join lateral (
      select coalesce(max(r.attempt), 0) as replayed from jobtree.replay r
      where r.job_id = q.job_id and r.position >= q.position and r.position < q.position + q.count
    ) r
    where q.attempt not between 1 and r.replayed + j.max_failures_per_item + case when j.max_failures_per_item > 0 then 4 else 1 end
    union all
    select o.job_id, o.position, 0 from jobtree.outcome o
    where o.failed and not exists (
      select from jobtree.failure f where f.job_id = o.job_id and f.position = o.position and f.lease_id = o.lease_id)`,
  'a key has a head, which may be claimed or held, or has ended and the key is to go on': `
    select k.key, k.job_id, k.position from jobtree.serialize_key k
    where k.job_id is null or not exists (
      select from jobtree.queue_entry q
      where q.keyed and q.job_id = k.job_id and k.position >= q.position and k.position < q.position + q.count
      union all
      select from jobtree.lease l
      where l.keyed and l.job_id = k.job_id and k.position >= l.position and k.position < l.position + l.count
        and get_bit(l.open, (k.position - l.position)::integer) = 1
      union all
      select from jobtree.ended_head e where e.job_id = k.job_id and e.position = k.position and e.key = k.key)`,
  'what has a key and may be claimed is the head of it, and so is what is held': `
    select i.job_id, i.position from jobtree.job_item i
    join jobtree.item_status s on s.job_id = i.job_id and s.position = i.position
    where i.serialize_key is not null and s.status in ('READY', 'SCHEDULED', 'RETRYING', 'RUNNING') and not exists (
      select from jobtree.serialize_key k where k.key = i.serialize_key and k.job_id = i.job_id and k.position = i.position)`,
  'what is blocked stands behind the head of its key': `
    select b.job_id, b.position from jobtree.blocked_item b
    where not exists (select from jobtree.serialize_key k where k.key = b.key and k.turn < b.turn)`,
  'an outcome belongs to a lease of its item': `
    select o.job_id, o.position from jobtree.outcome o
    where not exists (
      select from jobtree.lease l
      where l.id = o.lease_id and l.job_id = o.job_id and o.position >= l.position and o.position < l.position + l.count)`,
};

export async function checkInvariants(db: TestDatabase): Promise<void> {
  for (const [rule, query] of Object.entries(rules)) {
    expect(await db.query(`select * from (${query}) broken limit 5`), rule).toEqual([]);
  }
}

/** Every item stands where the model says. */
export async function compareWithModel({ db }: System, model: Model): Promise<void> {
  const rows = await db.query<{
    job_id: string;
    position: string;
    status: string;
    attempt: number | null;
    lease_id: string | null;
  }>('select job_id, position, status, attempt, lease_id from jobtree.item_status');
  expect(rows.length).toBe(model.items().length);
  const wrong: unknown[] = [];
  for (const { job_id, position, status, attempt, lease_id } of rows) {
    const item = model.jobs.get(job_id)?.items.get(Number(position));
    const expected = item === undefined ? 'GONE' : statusOf(item);
    const waits =
      expected !== undefined && ['READY', 'SCHEDULED', 'RETRYING', 'BLOCKED', 'RUNNING'].includes(expected);
    const lease = expected === 'RUNNING' ? item?.assignment?.leaseId : null;
    if (status !== expected || lease_id !== lease || (waits && attempt !== item?.attempt)) {
      wrong.push({
        job_id,
        position,
        status,
        attempt,
        lease_id,
        expected,
        lease,
        expectedAttempt: item?.attempt,
      });
    }
  }
  expect(wrong.slice(0, 5)).toEqual([]);
  const lines = await db.query<{ key: string; items: string[] }>(
    `select l.key, array_agg(l.job_id || ':' || l.position order by l.turn) as items
     from (
       select k.key, k.job_id, k.position, k.turn from jobtree.serialize_key k
       where not exists (select from jobtree.ended_head e where e.job_id = k.job_id and e.position = k.position and not e.held)
       union all
       select b.key, b.job_id, b.position, b.turn from jobtree.blocked_item b
     ) l
     group by l.key`,
  );
  expect(Object.fromEntries(lines.map(({ key, items }) => [key, items]))).toEqual(model.lines.ids());
  const dead = await db.query<{ id: string }>(
    `select concat(job_id, ':', position) as id from jobtree.dead_letter`,
  );
  const expected = model.items().filter((item) => item.dead);
  expect(dead.map(({ id }) => id).sort()).toEqual(
    expected.map(({ job, position }) => `${job.id}:${position}`).sort(),
  );
}
