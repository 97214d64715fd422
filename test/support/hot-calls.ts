/** The calls of stored functions whose plans matter, and by which indexes each may read. */
import { newClaimId } from '../../src/client/claim-id.ts';
import type { TestDatabase } from './database.ts';

/** What is there to be worked on, apart from what fills the tables. */
export interface Subject {
  readonly root: string;
  readonly child: string;
  /** Of the first item, which is held, and of the last, which waits. */
  readonly first: number;
  readonly position: number;
  readonly leases: readonly string[];
  /** Of the heads of serialize keys, with others behind each. */
  readonly keyedLeases: readonly string[];
  readonly claimId: string;
}

export const tree = (type: string, items: number) => ({
  type,
  backoffMs: [0],
  heartbeatIntervalMs: 60_000,
  items: Array.from({ length: items }, (_, i) => (i === 0 ? { payload: 1, dedupeKey: 'k' } : { payload: i })),
  children: [{ type: `${type} child`, feed: {} }, { type: `${type} sibling` }],
});

export async function makeSubject(db: TestDatabase): Promise<Subject> {
  const [job] = await db.query<{ job_id: string }>('select job_id from jobtree.create_job($1)', [
    JSON.stringify(tree('subject', 5_000)),
  ]);
  const root = job?.job_id ?? '';
  const [child] = await db.query<{ id: string }>(
    'select id from jobtree.job where parent_id = $1 and feed is not null',
    [root],
  );
  await db.query('select jobtree.create_job($1)', [
    JSON.stringify({
      type: 'keyed',
      items: Array.from({ length: 300 }, (_, i) => ({ payload: i, serializeKey: `key-${i % 100}` })),
    }),
  ]);
  const claim = async (limit: number, ids: string[], type = 'subject') => {
    const rows = await db.query<{ lease_id: string }>(
      'select lease_id from jobtree.claim_items($1, $2, $3, $4) where lease_id is not null',
      [['w'], [type], [limit], ids],
    );
    return rows.map(({ lease_id }) => lease_id);
  };
  const claimId = newClaimId();
  const leases = [...(await claim(20, [])), ...(await claim(20, [])), ...(await claim(20, [claimId]))];
  const [range] = await db.query<{ first: string; last: string }>(
    'select min(position) as first, max(position) as last from jobtree.job_item where job_id = $1',
    [root],
  );
  return {
    root,
    child: child?.id ?? '',
    first: Number(range?.first),
    position: Number(range?.last),
    leases,
    keyedLeases: [...(await claim(1, [], 'keyed')), ...(await claim(1, [], 'keyed'))],
    claimId,
  };
}

/** What a call reads, and what it may read by. Everything is rolled back. */
export interface Call {
  readonly text: string | readonly string[];
  readonly refused?: true;
  readonly values: (subject: Subject) => unknown[];
  readonly reads: readonly string[];
}

const leaseIds = (subject: Subject, count: number) => subject.leases.slice(0, count);
const numbers = (text: string) => ({ of: (list: readonly string[]) => list.map(() => Number(text)) });
const leasing = [
  'job by job_pkey',
  'job_item by job_item_pkey',
  'job_progress by job_progress_pkey',
  'queue_entry by Tid Scan',
];
/** Where no type is limited, its index is empty. */
const claiming = [...leasing, 'queue_entry by queue_entry_ready', 'queue by queue_limited'];
const limiting = [
  ...claiming,
  'lease by lease_pkey',
  'queue by queue_pkey',
  'held_delta by held_delta_new',
  'held_delta by held_delta_sum',
  'rate_slice by rate_slice_pkey',
];
/** Where no item has a serialize key, of these nothing is read. */
const blocking = [
  'blocked_item by Tid Scan',
  'blocked_item by blocked_item_pkey',
  'job by job_pkey',
  'job_item by job_item_pkey',
  'serialize_key by serialize_key_pkey',
];
const requeuing = ['job by job_pkey', 'job_item by job_item_pkey', 'lease by lease_pkey'];
const failing = [...requeuing, 'replay by replay_pkey'];
const feeding = [
  'job by job_parent_id_idx',
  'job_item by job_item_pkey',
  'outcome by outcome_pkey',
  'trace_context by trace_context_pkey',
];
const judging = ['failure by failure_pkey', 'lease by lease_pkey', 'outcome by outcome_pkey'];

/** For statements that only prepare something. */
const withoutScans = `select set_config(s, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) s
  where $1::uuid is not null`;

export const calls: Readonly<Record<string, Call>> = {
  'a claim of a part of an entry': {
    text: 'select * from jobtree.claim_items($1, $2, $3)',
    values: () => [['w'], ['subject'], [3]],
    reads: claiming,
  },
  'a claim of several entries': {
    text: 'select * from jobtree.claim_items($1, $2, $3)',
    values: () => [
      ['w', 'x'],
      ['subject', 'subject'],
      [150, 50],
    ],
    reads: claiming,
  },
  'a claim from cursors on': {
    text: 'select * from jobtree.claim_items($1, $2, $3, $4, $5, $6, $7, $8)',
    values: () => [
      ['w'],
      ['subject'],
      [150],
      [newClaimId()],
      ['subject', 'subject'],
      [32767, 0],
      [1, -32768],
      [0, 5],
    ],
    reads: [...claiming, 'lease by lease_pkey'],
  },
  'a claim of many types': {
    text: 'select * from jobtree.claim_items($1, $2, $3)',
    values: () => [
      Array(40).fill('w'),
      Array.from({ length: 40 }, (_, i) => (i === 7 ? 'subject' : `nothing ${i}`)),
      Array(40).fill(5),
    ],
    reads: claiming,
  },
  'a claim of limited types': {
    text: [
      `insert into jobtree.queue (type, concurrency, rate_limit, rate_interval_ms) values ('subject', 9000, 9000, 9000), ('nothing', 1, 1, 1)`,
      `select * from jobtree.claim_items('{w}', '{subject}', '{20}')`,
      `select * from jobtree.claim_items('{w}', '{subject}', '{20}')`,
      `select * from jobtree.claim_items('{w,w}', '{subject,nothing}', '{200,5}')`,
    ],
    values: () => [],
    reads: [...limiting, 'held_delta by Tid Scan'],
  },
  'a look for room': {
    text: [
      `insert into jobtree.queue (type, concurrency, rate_limit, rate_interval_ms) values ('subject', 9000, 9000, 9000)`,
      `select * from jobtree.claim_items('{w}', '{subject}', '{20}')`,
      `select * from jobtree.queue_rooms('{subject,nothing}')`,
    ],
    values: () => [],
    reads: limiting,
  },
  'failing what outlived the lifetime of its type': {
    text: [
      `insert into jobtree.queue (type, lifetime_ms) values ('subject', 1)`,
      `select pg_sleep(0.002)`,
      `select * from jobtree.expire_items()`,
    ],
    values: () => [],
    reads: [
      'blocked_item by Tid Scan',
      'blocked_item by blocked_item_type_waits_since_idx',
      'job by job_pkey',
      'job_item by job_item_pkey',
      'queue by queue_lifetime (all)',
      'queue by queue_pkey',
      'queue_entry by Tid Scan',
      'queue_entry by queue_entry_ready',
    ],
  },
  'a repeated claim': {
    text: 'select * from jobtree.claim_items($1, $2, $3, $4)',
    values: ({ claimId }) => [['w'], ['subject'], [20], [claimId]],
    reads: ['queue by queue_limited', 'job by job_pkey', 'job_item by job_item_pkey', 'lease by lease_pkey'],
  },
  'a claim by name': {
    text: 'select * from jobtree.claim_item($1, $2, $3)',
    values: ({ root, position }) => [root, position - 5, 'w'],
    reads: [...leasing, 'queue by queue_limited', 'queue_entry by queue_entry_pkey'],
  },
  'a claim by name that is refused': {
    text: 'select * from jobtree.claim_item($1, $2, $3)',
    values: ({ root, first }) => [root, first, 'w'],
    refused: true,
    reads: [
      'blocked_item by blocked_item_job_id_position_key',
      'cancellation by cancellation_pkey',
      'job by job_pkey',
      'job_item by job_item_pkey',
      'lease by lease_job_id_position_idx',
      'outcome by outcome_pkey',
      'queue by queue_limited',
      'queue_entry by queue_entry_pkey',
    ],
  },
  'a report of results under one lease': {
    text: 'select * from jobtree.report_results($1, $2, $3, p_wait => false)',
    values: (subject) => [leaseIds(subject, 1), [1], '[1]'],
    reads: ['job by job_pkey', 'lease by lease_pkey', ...feeding],
  },
  'a report of results under several leases': {
    text: 'select * from jobtree.report_results($1, $2, $3, p_wait => false)',
    values: (subject) => [leaseIds(subject, 3), numbers('2').of(leaseIds(subject, 3)), '[1,2,3]'],
    reads: ['job by job_pkey', 'lease by lease_pkey', ...feeding],
  },
  'a report of a result with a serialize key': {
    text: 'select * from jobtree.report_results($1, $2, $3, p_wait => false)',
    values: ({ keyedLeases }) => [keyedLeases.slice(0, 1), [1], '[1]'],
    reads: ['lease by lease_pkey', ...blocking],
  },
  'a report of results with serialize keys': {
    text: 'select * from jobtree.report_results($1, $2, $3, p_wait => false)',
    values: ({ keyedLeases }) => [keyedLeases, [1, 1], '[1,2]'],
    reads: ['lease by lease_pkey', ...blocking],
  },
  'a report of failures for good with serialize keys': {
    text: "select * from jobtree.report_results($1, $2, $3, '{failure,failure}', false)",
    values: ({ keyedLeases }) => [
      keyedLeases,
      [1, 1],
      '[{"code": "E", "message": "no", "permanent": true}, {"code": "E", "message": "no", "permanent": true}]',
    ],
    reads: [...failing, ...blocking],
  },
  'letting keys go on': {
    text: [
      withoutScans,
      `insert into jobtree.ended_head (key, job_id, position, held)
       select key, job_id, position, false from jobtree.serialize_key where key = 'key-50' and $1::uuid is not null`,
      'select * from jobtree.promote_blocked() where $1::uuid is not null',
    ],
    values: ({ root }) => [root],
    reads: [
      'ended_head by Tid Scan',
      'ended_head by ended_head_due',
      'ended_head by ended_head_pkey',
      ...blocking,
    ],
  },
  'a report of results that no longer count': {
    text: 'select * from jobtree.report_results($1, $2, $3)',
    values: (subject) => [leaseIds(subject, 1), [100], '[1]'],
    reads: ['job by job_pkey', 'job by job_parent_id_idx', 'job_item by job_item_pkey', ...judging],
  },
  'a report of failures, each named once': {
    text: "select * from jobtree.report_results($1, $2, $3, '{failure,failure}', false)",
    values: (subject) => [
      leaseIds(subject, 2),
      [3, 3],
      '[{"code": "E", "message": "no"}, {"code": "E", "message": "no"}]',
    ],
    reads: failing,
  },
  'a report of failures': {
    text: "select * from jobtree.report_results($1, $2, $3, '{report,report}')",
    values: (subject) => [
      leaseIds(subject, 2),
      [3, 3],
      '[{"failure": {"code": "E", "message": "no"}}, {"failure": {"code": "E", "message": "no"}}]',
    ],
    reads: [...failing, 'job by job_parent_id_idx', 'lease by lease_pkey'],
  },
  'an exchange': {
    text: `select * from jobtree.exchange($1, $2, $3, null, $4, $5, $6, $7, $8, $9, $10, $11, '{}')`,
    values: (subject) => [leaseIds(subject, 1), [1], '[1]', ['w'], ['subject'], [2], [], [], [], [], []],
    reads: [...claiming, 'lease by lease_pkey', ...feeding],
  },
  'a heartbeat': {
    text: 'select * from jobtree.keep_leases($1, $2, $2)',
    values: (subject) => [
      leaseIds(subject, 2),
      [`${'1'.repeat(20)}${'0'.repeat(108)}`, `1${'0'.repeat(127)}`],
    ],
    // Where every item that is named is held, there is nothing to judge.
    reads: ['job by job_pkey', 'lease by lease_pkey'],
  },
  'a heartbeat of what has ended': {
    text: 'select * from jobtree.keep_leases($1, $2, $2)',
    values: (subject) => [leaseIds(subject, 1), [`${'0'.repeat(30)}1${'0'.repeat(97)}`]],
    reads: ['cancellation by cancellation_pkey', 'job by job_pkey', ...judging],
  },
  'a release': {
    text: 'select * from jobtree.release_assignments($1)',
    values: (subject) => [leaseIds(subject, 2).map((id) => `${id.slice(0, 34)}04`)],
    reads: [
      ...requeuing,
      'failure by failure_pkey',
      'lease by lease_job_id_position_idx',
      'outcome by outcome_pkey',
    ],
  },
  'a note': {
    text: 'select jobtree.note_items($1, $2, $3, $4)',
    values: (subject) => [
      leaseIds(subject, 2),
      [4, 4],
      ['n', null],
      ['[{"at": "2026-01-01T00:00:00Z", "text": "t"}]', null],
    ],
    reads: ['job by job_pkey', 'lease by lease_pkey'],
  },
  'a sweep': {
    text: 'select * from jobtree.sweep_leases()',
    values: () => [],
    reads: [...failing, 'lease by lease_live'],
  },
  'making due entries ready': {
    text: 'select * from jobtree.promote_due()',
    values: () => [],
    reads: ['queue_entry by Tid Scan', 'queue_entry by queue_entry_scheduled'],
  },
  'a look for missed entries': {
    text: 'select * from jobtree.missed_entries($1, $2, $3)',
    values: () => [
      ['subject', 'nothing'],
      [0, 0],
      [9e15, 9e15],
    ],
    reads: ['queue_entry by queue_entry_ready'],
  },
  'a fold': {
    text: 'select * from jobtree.fold_trees($1, $2)',
    values: ({ root }) => [[root], [1]],
    reads: [
      'hint_secret by hint_secret_pkey',
      'job by job_pkey',
      'job_progress by Tid Scan',
      'job_progress by job_progress_pkey',
      'progress_delta by Tid Scan',
      'progress_delta by progress_delta_root_id_id_idx',
      'tree by tree_pkey',
    ],
  },
  'a fold that completes trees': {
    text: [
      withoutScans,
      'update jobtree.job set sealed_at = now(), feeds_children = false where id = $1',
      'delete from jobtree.progress_delta where root_id = $1',
      `insert into jobtree.progress_delta (root_id, job_id, cancelled)
       select $1, $1, item_count - succeeded - failed - cancelled from jobtree.job_progress where job_id = $1`,
      'select * from jobtree.fold_trees(array[$1::uuid], array[0])',
    ],
    values: ({ root }) => [root],
    reads: [
      'callback by callback_pkey',
      'hint_secret by hint_secret_pkey',
      'job by job_pkey',
      'job_progress by Tid Scan',
      'job_progress by job_progress_pkey',
      'progress_delta by Tid Scan',
      'progress_delta by progress_delta_root_id_id_idx',
      'tree by tree_pkey',
    ],
  },
  'a fold that fails a job': {
    text: [
      withoutScans,
      'update jobtree.job set tolerated_failure_count = 0 where id = $1',
      'insert into jobtree.progress_delta (root_id, job_id, failed) values ($1, $1, 1)',
      'select * from jobtree.fold_trees(array[$1::uuid], array[0])',
    ],
    values: ({ root }) => [root],
    reads: [
      'hint_secret by hint_secret_pkey',
      'job by job_parent_id_idx',
      'job by job_pkey',
      'job_progress by Tid Scan',
      'job_progress by job_progress_pkey',
      'progress_delta by Tid Scan',
      'progress_delta by progress_delta_root_id_id_idx',
      'tree by tree_pkey',
    ],
  },
  'releasing a job that waited': {
    text: [
      withoutScans,
      'update jobtree.job set releasing = true where id = $1',
      `update jobtree.queue_entry set run_at = 'infinity' where job_id = $1`,
      'select * from jobtree.release_items($1)',
    ],
    values: ({ root }) => [root],
    reads: [
      'job by job_pkey',
      'job_item by job_item_pkey',
      'queue_entry by Tid Scan',
      'queue_entry by queue_entry_pkey',
    ],
  },
  'a look for unfolded trees': {
    text: 'select * from jobtree.unfolded_trees($1, null, 10)',
    values: () => [5],
    reads: ['job by job_pkey', 'progress_delta by progress_delta_pkey'],
  },
  'adding payloads': {
    text: 'select * from jobtree.add_payloads($1, $2)',
    values: ({ root }) => [root, '1\u001e2'],
    reads: ['job by job_pkey'],
  },
  'adding plain items': {
    text: 'select * from jobtree.add_items($1, $2)',
    values: ({ root }) => [root, '[{"payload":1},{"payload":2}]'],
    reads: ['job by job_pkey'],
  },
  'adding items with serialize keys': {
    text: 'select * from jobtree.add_items($1, $2)',
    values: ({ root }) => [root, '[{"serializeKey":"key-0"},{"serializeKey":"new"},{"serializeKey":"new"}]'],
    reads: ['job by job_pkey', 'job_item by job_item_pkey'],
  },
  'adding items with keys': {
    text: 'select * from jobtree.add_items($1, $2)',
    values: ({ root }) => [
      root,
      '[{"payload":1,"dedupeKey":"new"},{"payload":2,"dedupeKey":"k","priority":3}]',
    ],
    reads: ['job by job_pkey', 'job_item by job_item_dedupe'],
  },
  sealing: {
    text: 'select * from jobtree.seal_job($1)',
    values: ({ root }) => [root],
    reads: ['job by job_pkey'],
  },
  'creating a tree': {
    text: 'select * from jobtree.create_job($1)',
    values: () => [JSON.stringify(tree('another', 300))],
    reads: ['job by job_dedupe_key_type_key', 'job by job_pkey', 'queue by queue_pkey'],
  },
  'creating plain jobs': {
    text: 'select * from jobtree.create_plain_jobs($1, $2, $3)',
    values: () => [
      JSON.stringify(Array.from({ length: 300 }, (_, n) => ({ type: 'plain', dedupeKey: `k${n % 200}` }))),
      Array(600).fill('1').join('\u001e'),
      Array.from({ length: 600 }, (_, n) => (n % 300) + 1),
    ],
    reads: ['job by job_dedupe_key_type_key', 'job by job_pkey', 'queue by queue_pkey'],
  },
  cancelling: {
    text: 'select * from jobtree.cancel_job($1)',
    values: ({ root }) => [root],
    reads: [
      'blocked_item by Tid Scan',
      'blocked_item by blocked_item_job_id_position_key',
      'ended_head by Tid Scan',
      'ended_head by ended_head_held',
      'job by job_cancelling',
      'job by job_parent_id_idx',
      'job by job_pkey',
      'job_progress by job_progress_pkey',
      'lease by lease_open',
      'lease by lease_pkey',
      'queue_entry by Tid Scan',
      'queue_entry by queue_entry_pkey',
      'tree by tree_pkey',
    ],
  },
  'cancelling pending items': {
    text: [
      `select jobtree.start_operation('CANCEL', jsonb_build_object('jobId', $1::uuid, 'addedUntil', now(), 'codes', '["E"]'::jsonb))`,
      `select jobtree.start_operation('CANCEL', '{"types": ["subject"], "statuses": ["READY", "RUNNING"]}') where $1::uuid is not null`,
      withoutScans,
      'select jobtree.run_operation(o.id) from jobtree.operation o where $1::uuid is not null order by o.id',
    ],
    values: ({ root }) => [root],
    reads: [
      'block_seq by Seq Scan',
      'blocked_item by Tid Scan',
      'blocked_item by blocked_item_job_id_position_key',
      'failure by failure_pkey',
      'job by job_parent_id_idx',
      'job by job_pkey',
      'job by job_type_id_idx',
      'job_item by job_item_pkey',
      'lease by lease_open',
      'lease by lease_pkey',
      'operation by operation_pkey',
      'operation by operation_pkey (all)',
      'queue_entry by Tid Scan',
      'queue_entry by queue_entry_pkey',
      'queue_entry by queue_entry_status | queue_entry by queue_entry_pkey',
    ],
  },
  'promoting items': {
    text: [
      withoutScans,
      `update jobtree.queue_entry set run_at = now() + interval '1 hour' where job_id = $1`,
      `select jobtree.start_operation('PROMOTE', jsonb_build_object('jobId', $1::uuid, 'addedUntil', now(), 'codes', '["E"]'::jsonb))`,
      `select jobtree.start_operation('PROMOTE', '{"types": ["subject"], "statuses": ["RETRYING", "SCHEDULED"]}') where $1::uuid is not null`,
      'select jobtree.run_operation(o.id) from jobtree.operation o where $1::uuid is not null order by o.id',
    ],
    values: ({ root }) => [root],
    reads: [
      'block_seq by Seq Scan',
      'failure by failure_pkey',
      'job by job_parent_id_idx',
      'job by job_pkey',
      'job by job_type_id_idx',
      'job_item by job_item_pkey',
      'operation by operation_pkey',
      'operation by operation_pkey (all)',
      'queue_entry by Tid Scan',
      'queue_entry by queue_entry_pkey',
      'queue_entry by queue_entry_status',
    ],
  },
  'changing an item': {
    text: 'select * from jobtree.update_item($1, $2, $3)',
    values: ({ root, position }) => [root, position - 5, '{"priority": 3, "payload": 1}'],
    reads: [
      'blocked_item by blocked_item_job_id_position_key',
      'job by job_pkey',
      'job_item by job_item_pkey',
      'queue_entry by queue_entry_pkey',
    ],
  },
  'changing an item that does not wait': {
    text: 'select * from jobtree.update_item($1, $2, $3)',
    values: ({ root, first }) => [root, first, '{"priority": 3}'],
    refused: true,
    reads: [
      'blocked_item by blocked_item_job_id_position_key',
      'cancellation by cancellation_pkey',
      'job by job_pkey',
      'job_item by job_item_pkey',
      'lease by lease_job_id_position_idx',
      'outcome by outcome_pkey',
      'queue_entry by queue_entry_pkey',
    ],
  },
  deleting: {
    text: [
      'select jobtree.delete_job($1)',
      'select jobtree.fold_trees(array[$1::uuid], array[0])',
      ...Array<string>(4).fill('select jobtree.delete_trees(array[$1::uuid])'),
    ],
    values: ({ root }) => [root],
    reads: [
      'blocked_item by Tid Scan',
      'blocked_item by blocked_item_job_id_position_key',
      'callback by callback_pkey',
      'cancellation by cancellation_pkey',
      'dead_letter by dead_letter_pkey',
      'ended_head by Tid Scan',
      'ended_head by ended_head_held',
      'failure by Tid Scan',
      'failure by failure_pkey',
      'file_import by file_import_pkey | file_import by file_import_type_job_id_idx',
      'hint_secret by hint_secret_pkey',
      'item_note by item_note_pkey',
      'job by job_cancelling',
      'job by job_parent_id_idx',
      'job by job_pkey',
      'job by job_root_id_idx',
      'job_item by job_item_pkey',
      'job_progress by Tid Scan',
      'job_progress by job_progress_pkey',
      'lease by lease_job_id_position_idx',
      'lease by lease_open',
      'lease by lease_pkey',
      'outcome by outcome_pkey',
      'progress_delta by Tid Scan',
      'progress_delta by progress_delta_root_id_id_idx',
      'queue_entry by Tid Scan',
      'queue_entry by queue_entry_pkey',
      'replay by replay_pkey',
      'trace_context by trace_context_pkey',
      'tree by tree_pkey | tree by tree_deletion',
    ],
  },
};
