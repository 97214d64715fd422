/** What others own, in every table that grows: of two tenants, whose names come before and after those in between. */
import type { TestDatabase } from './database.ts';

const id = (version: string) => `('00000000-0000-7000-${version}-' || lpad(to_hex(i), 12, '0'))::uuid`;
const job = id('8000');
const type = `(array['acme', 'rival'])[1 + i % 2] || '//t' || i % 1000`;
const tenant = `(array['acme', 'rival'])[1 + i % 2]`;

/** `$1` rows each. */
const fills: readonly string[] = [
  `jobtree.job (id, root_id, depth, type, dedupe_key, priority, max_failures_per_item, backoff_ms, backoff_jitter, heartbeat_interval_ms,
     final_stage, feeds_children, created_at, sealed_at)
   select ${job}, ${job}, 0, ${type}, 'd' || i, 0, 3, '{}', 0, 60000, true, false, now(), now()`,
  `jobtree.job_progress (job_id, version, is_root, item_count, failed, open_jobs, started_at, completed_at, outcome, tree_outcome, tree_failed)
   select ${job}, 7, true, 4, 1, (i % 4 < 2)::int, case when i % 4 > 0 then now() end, case when i % 4 > 1 then now() end,
     case i % 4 when 2 then 'PARTIAL' when 3 then 'FAILED' end, case i % 4 when 2 then 'PARTIAL' when 3 then 'FAILED' end, 1`,
  `jobtree.job_item (job_id, position, created_at, payload_bytes, payload, dedupe_key, serialize_key)
   select ${job}, 1024 * i, now(), 8, '1', 'x', ${tenant} || '//k' || i`,
  `jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
   select ${job}, 1024 * i, 1024 * i, 8, case when i % 3 = 0 then now() + interval '1 h' end, 1 + i % 2, 1, 0, ${type}`,
  `jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker)
   select ${id('a000')}, ${job}, 1024 * i + 1, now(), now(), now() + interval '1 h', 1, 1, 0, 1::bit(1)::bit(128), 'w'`,
  `jobtree.serialize_key (key, job_id, position) select ${tenant} || '//k' || i, ${job}, 1024 * i`,
  `jobtree.blocked_item (key, job_id, position, type, priority, attempt, waits_since)
   select ${tenant} || '//k' || i, ${job}, 1024 * i + 2, ${type}, 0, 1, now()`,
  `jobtree.outcome (job_id, position, lease_id, finished_at, failed) select ${job}, 1024 * i + 3, ${id('b000')}, now(), true`,
  `jobtree.failure (job_id, position, attempt, lease_id, at, lost, code, message, worker)
   select ${job}, 1024 * i + 3, 1, ${id('b000')}, now(), false, 'x', 'no', 'w'`,
  `jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
   select ${job}, 1024 * i + 3, ${type}, now(), 'x', 'no', ${id('c000')}`,
  `jobtree.dead_letter_note (fingerprint, note, noted_at) select ${id('c000')}, 'known', now()`,
  `jobtree.operation (id, kind, requested_at, before_position, tenant, finished_at) select ${id('d000')}, 'REPLAY', now(), 0, ${tenant}, now()`,
  `jobtree.audit_entry (id, at, actor, tenant, action, subjects, address, outcome)
   select ${id('8000')}, now() - i * interval '1 s', 'a', ${tenant}, 'setQueue', '{x}', '', 'OK'`,
  `jobtree.api_key (id, name, hash, roles, created_at, created_by, tenant)
   select ${id('8000')}, 'k', sha256(i::text::bytea), '{admin}', now(), 'a', ${tenant}`,
  `jobtree.callback_endpoint (name, url, secret, created_at) select ${tenant} || '//e' || i, 'https://example.com', 's', now()`,
  `jobtree.callback_delivery (id, message_id, endpoint, event, root_id, body, created_at, due_at, failed_at)
   select ${id('8000')}, 'm' || i, ${tenant} || '//e' || i, 'TREE', ${job}, '', now(), case when i % 2 = 0 then now() + interval '1 h' end,
     case when i % 2 = 1 then now() end`,
  `jobtree.schedule (name, every_ms, missed, overlap, template, created_at, changed_at, next_at)
   select ${tenant} || '//s' || i, 86400000, 'SKIP', 'ALLOW', '{"type": "x"}', now(), now(), now() + interval '1 d'`,
  `jobtree.queue (type, concurrency) select ${tenant} || '//t' || i, 1`,
  `jobtree.type_schema (id, type, version, payload, created_at) select ${id('8000')}, ${tenant} || '//t' || i, 1, '{}', now()`,
  `jobtree.figure (type, minute, slot_id, claimed, succeeded, failed, lost, dead, wait_buckets, wait_counts, took_buckets, took_counts)
   select ${type}, date_trunc('minute', now() - (i / 1000) * interval '1 s'), ${id('8000')}, 1, 1, 0, 0, 0, '{}', '{}', '{}', '{}'`,
  `jobtree.worker (server_id, name, types, concurrency, connected_at, seen_at)
   select ${id('8000')}, ${tenant} || '//w' || i, array[${type}], '{1}', now(), now()`,
  `jobtree.upload (id, created_at, expires_at, size, sha256, tenant, account)
   select ${id('8000')}, now(), now() + interval '1 d', 1, sha256(''), ${tenant}, 'key ' || i`,
  `jobtree.file_import (job_id, type, upload_id, options, size, created_at, finished_at)
   select ${job}, ${type}, ${id('8000')}, '{"format": "CSV"}', 1, now(), now()`,
  `jobtree.stored (tenant, items, bytes) select ${tenant} || i, 1, 1`,
];

/** Of one of each. */
export const foreign = {
  job: 'Job:00000000-0000-7000-8000-000000000001',
  item: 'JobItem:00000000-0000-7000-8000-000000000001:1024',
  group: 'DeadLetterGroup:00000000-0000-7000-c000-000000000001',
  upload: 'Upload:00000000-0000-7000-8000-000000000001',
};

export async function fillForeign(db: TestDatabase, rows: number): Promise<void> {
  for (const fill of fills)
    await db.query(`insert into ${fill} from generate_series(1, $1::bigint) i`, [rows]);
  await db.query('vacuum analyze');
}
