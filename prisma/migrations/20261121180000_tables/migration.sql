-- Nodes of trees: what kind of work, and the policies of its items.
create table "jobtree"."job" (
  "id" uuid not null,
  "root_id" uuid not null,
  "parent_id" uuid,
  "depth" smallint not null,
  "type" text collate "C" not null,
  -- By bytes: beginnings of keys are ranges.
  "dedupe_key" text collate "C",
  "priority" smallint not null,
  "run_at" timestamptz(3),
  "max_failures_per_item" integer not null,
  "backoff_ms" integer[] not null,
  "backoff_jitter" real not null,
  "heartbeat_interval_ms" integer not null,
  "final_stage" boolean not null,
  "feed" jsonb,
  "feeds_children" boolean not null,
  "created_at" timestamptz(3) not null,
  "sealed_at" timestamptz(3),
  "cancelled_at" timestamptz(3),
  "cancelling" boolean not null default false,
  "schedule_name" text collate "C",
  "occurrence_at" timestamptz(3),
  "tolerated_failure_count" integer,
  "tolerated_failure_percentage" double precision,
  "failed_at" timestamptz(3),
  "after_ids" uuid[],
  "awaited" boolean not null default false,
  "waits" boolean not null default false,
  "releasing" boolean not null default false,
  "blocks_on_failure" boolean not null default false,
  "cancel_reason" text,
  constraint "job_pkey" primary key ("id"),
  constraint "job_type_check" check (length("type") between 1 and 242),
  constraint "job_dedupe_key_check" check (length("dedupe_key") between 1 and 500),
  constraint "job_depth_check" check ("depth" between 0 and 32),
  constraint "job_run_at_check" check ("run_at" between '1970-01-01 00:00:00Z' and '9999-12-31 23:59:59.999Z'),
  constraint "job_max_failures_per_item_check" check ("max_failures_per_item" between 0 and 1000),
  constraint "job_backoff_ms_check" check (0 <= all ("backoff_ms") and array_position("backoff_ms", null) is null and cardinality("backoff_ms") <= 100 and array_ndims("backoff_ms") = 1),
  constraint "job_backoff_jitter_check" check ("backoff_jitter" between 0 and 1),
  constraint "job_heartbeat_interval_ms_check" check ("heartbeat_interval_ms" between 1000 and 86400000),
  constraint "job_tolerated_failure_count_check" check ("tolerated_failure_count" >= 0),
  constraint "job_tolerated_failure_percentage_check" check ("tolerated_failure_percentage" between 0 and 100),
  constraint "job_feed_check" check ("feed" ->> 'source' in ('SUCCESSES', 'REPORTS')),
  constraint "job_cancel_reason_check" check ("cancel_reason" in ('REQUESTED', 'FAILURES', 'DEPENDENCY', 'IDLE'))
);
-- No index but the one for lists begins with all types, so that these read no other.
create unique index "job_dedupe_key_type_key" on "jobtree"."job" ("dedupe_key", "type");
create index "job_dedupe_keys" on "jobtree"."job" ("type", "dedupe_key") where "dedupe_key" is not null;
create index "job_root_types" on "jobtree"."job" ("type", "id") where "parent_id" is null;
create index "job_type_id_idx" on "jobtree"."job" ("type", "id");
create index "job_root_id_idx" on "jobtree"."job" ("root_id");
create index "job_parent_id_idx" on "jobtree"."job" ("parent_id");
create index "job_cancelling" on "jobtree"."job" ("id") where "cancelling";
create index "job_schedule" on "jobtree"."job" ("schedule_name", "id") where "schedule_name" is not null;
create index "job_releasing" on "jobtree"."job" ("id") where "releasing";

-- The trees: when each was complete, what keeps it, and how far its deletion is. Whatever works on a whole tree locks its row.
create table "jobtree"."tree" (
  "root_id" uuid not null,
  "completed_at" timestamptz(3),
  "retention_seconds" integer,
  "idle_expiry_seconds" integer,
  "held_until" timestamptz(3),
  "idle_since" timestamptz(3),
  "revoked_at" timestamptz(3),
  "revoked_in" bigint,
  "deletion" text,
  "deletion_requested_at" timestamptz(3),
  "item_count" bigint,
  "deleted_items" bigint not null default 0,
  "next_job_id" uuid,
  "next_position" bigint not null default 0,
  constraint "tree_pkey" primary key ("root_id"),
  constraint "tree_retention_seconds_check" check ("retention_seconds" between -1 and 315576000),
  constraint "tree_idle_expiry_seconds_check" check ("idle_expiry_seconds" = -1 or "idle_expiry_seconds" between 1 and 315576000),
  constraint "tree_deletion_check" check ("deletion" in ('REQUESTED', 'REAPED'))
) with (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
-- When retentions are over: of the trees that have one of their own, and of those that have the servers' default, which servers add.
create index "tree_reap" on "jobtree"."tree" (("completed_at" at time zone 'UTC' + "retention_seconds" * interval '1 second'))
  where "completed_at" is not null and "retention_seconds" >= 0 and "deletion" is null;
create index "tree_completed" on "jobtree"."tree" ("completed_at")
  where "completed_at" is not null and "retention_seconds" is null and "deletion" is null;
create index "tree_deletion" on "jobtree"."tree" ("root_id") where "deletion" is not null;
create index "tree_idle" on "jobtree"."tree" ("root_id") where "idle_since" is not null;
create index "tree_revoked" on "jobtree"."tree" ("revoked_in") where "revoked_in" is not null;

-- The counters of a job. A fold inserts the next version and deletes the previous one, and reads the highest version first, so that
-- its cost does not grow with dead versions that an old snapshot retains. Every snapshot contains exactly one version of a job.
create table "jobtree"."job_progress" (
  "job_id" uuid not null,
  "version" bigint not null,
  "is_root" boolean not null,
  "sealed" boolean not null default false,
  "generation" integer not null default 0,
  "item_count" bigint not null default 0,
  "succeeded" bigint not null default 0,
  "failed" bigint not null default 0,
  "cancelled" bigint not null default 0,
  "open_jobs" integer not null default 0,
  "started_at" timestamptz(3),
  "completed_at" timestamptz(3),
  "outcome" text,
  "tree_outcome" text,
  "completions" integer not null default 0,
  "changed_at" timestamptz(3) not null default now(),
  "bytes" bigint not null default 0,
  "tree_failed" bigint not null default 0,
  "pace" bigint[] default array[]::bigint[],
  constraint "job_progress_pkey" primary key ("job_id", "version"),
  constraint "job_progress_open_jobs_check" check ("open_jobs" >= 0),
  constraint "job_progress_outcome_check" check ("outcome" in ('SUCCEEDED', 'PARTIAL', 'FAILED', 'CANCELLED')),
  constraint "job_progress_tree_outcome_check" check ("tree_outcome" in ('SUCCEEDED', 'PARTIAL', 'FAILED', 'CANCELLED'))
) with (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index "job_progress_tree_failed" on "jobtree"."job_progress" ("job_id") where "is_root" and "tree_failed" > 0;
create index "job_progress_waiting" on "jobtree"."job_progress" ("is_root", "job_id") where "started_at" is null and "completed_at" is null;
create index "job_progress_running" on "jobtree"."job_progress" ("is_root", "job_id") where "started_at" is not null and "completed_at" is null;
create index "job_progress_outcome" on "jobtree"."job_progress" ("outcome", "is_root", "job_id") where "outcome" is not null;
-- Roots that do not say what their trees do: no tree of one job is here.
create index "job_progress_root_differs" on "jobtree"."job_progress" ("job_id") where "is_root" and "completed_at" is not null and ("open_jobs" > 0 or "tree_outcome" <> "outcome");

create table "jobtree"."progress_delta" (
  "id" bigserial not null,
  "root_id" uuid not null,
  "job_id" uuid not null,
  "items" integer not null default 0,
  "succeeded" integer not null default 0,
  "failed" integer not null default 0,
  "cancelled" integer not null default 0,
  "started" boolean not null default false,
  "bytes" bigint not null default 0,
  constraint "progress_delta_pkey" primary key ("id")
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index "progress_delta_root_id_id_idx" on "jobtree"."progress_delta" ("root_id", "id");

-- How much each tenant stores: items, and bytes of payloads, results and uploads. The empty name stands for no tenant.
create table "jobtree"."stored" (
  "tenant" text collate "C" not null,
  "items" bigint not null,
  "bytes" bigint not null,
  constraint "stored_pkey" primary key ("tenant")
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Changes that are not yet added to stored.
create table "jobtree"."stored_delta" (
  "id" bigserial not null,
  "tenant" text collate "C" not null,
  "items" bigint not null,
  "bytes" bigint not null,
  constraint "stored_delta_pkey" primary key ("id")
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Numbers blocks of 1,024 positions.
create sequence "jobtree"."block_seq";

-- The units of work. Written once.
create table "jobtree"."job_item" (
  "job_id" uuid not null,
  "position" bigint not null,
  "created_at" timestamptz(3) not null,
  "payload_bytes" integer not null,
  "priority" smallint,
  "run_at" timestamptz(3),
  "dedupe_key" text,
  "payload" json not null,
  "serialize_key" text,
  "parent_position" bigint,
  constraint "job_item_pkey" primary key ("job_id", "position"),
  constraint "job_item_dedupe_key_check" check (length("dedupe_key") between 1 and 500),
  constraint "job_item_serialize_key_check" check (length("serialize_key") between 1 and 297),
  constraint "job_item_run_at_check" check ("run_at" between '1970-01-01 00:00:00Z' and '9999-12-31 23:59:59.999Z')
);
create index "job_item_parent" on "jobtree"."job_item" ("job_id", "parent_position") where "parent_position" is not null;
create unique index "job_item_dedupe" on "jobtree"."job_item" ("job_id", "dedupe_key") where "dedupe_key" is not null;

-- The traces that items belong to, by ranges of items that one call added. Empty without tracing.
create table "jobtree"."trace_context" (
  "job_id" uuid not null,
  "position" bigint not null,
  "count" integer not null,
  "traceparent" text not null,
  "tracestate" text,
  constraint "trace_context_pkey" primary key ("job_id", "position")
);

-- Notes and logs that workers stored while they held items. Items without any have no row.
create table "jobtree"."item_note" (
  "job_id" uuid not null,
  "position" bigint not null,
  "noted_at" timestamptz(3) not null,
  "note" text,
  "log" jsonb not null default '[]',
  constraint "item_note_pkey" primary key ("job_id", "position")
);

-- Rows live only until they are claimed, so vacuum must depend on the number of dead rows and not on their share.
create table "jobtree"."queue_entry" (
  "job_id" uuid not null,
  "position" bigint not null,
  "place" bigint not null,
  "bytes" bigint not null,
  "run_at" timestamptz(3),
  "attempt" integer not null,
  "count" smallint not null,
  "priority" smallint not null,
  "type" text collate "C" not null,
  "keyed" boolean not null default false,
  "ready_at" timestamptz(3) not null default clock_timestamp(),
  "lost" boolean not null default false,
  constraint "queue_entry_pkey" primary key ("job_id", "position")
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
-- All columns ascend, so that a single row comparison says where a claim continues, priority by priority.
create index "queue_entry_ready" on "jobtree"."queue_entry" ("type", (-"priority"::integer), "place") where "run_at" is null;
create index "queue_entry_scheduled" on "jobtree"."queue_entry" ("run_at") where "run_at" is not null;
create index "queue_entry_scheduled_of_type" on "jobtree"."queue_entry" ("type", "run_at" desc) where "run_at" is not null;

-- Some room on each page is left for the heartbeats of its leases.
create table "jobtree"."lease" (
  "id" uuid not null,
  "job_id" uuid not null,
  "claim_id" uuid,
  "position" bigint not null,
  "claimed_at" timestamptz(3) not null,
  "heartbeat_at" timestamptz(3) not null,
  -- When a sweep looks at it next. Not a heartbeat but a sweep moves it on: a heartbeat changes no column that an index has.
  "check_at" timestamptz(3),
  "attempt" integer not null,
  "count" smallint not null,
  "priority" smallint not null,
  "open" bit(128) not null,
  "worker" text not null,
  "deadlines" timestamptz(3)[],
  "keyed" boolean not null default false,
  "waiting" bit(128),
  "lost" boolean not null default false,
  "limited_type" text collate "C",
  constraint "lease_pkey" primary key ("id"),
  constraint "lease_worker_check" check (length("worker") between 1 and 242)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index "lease_job_id_position_idx" on "jobtree"."lease" ("job_id", "position");
create index "lease_live" on "jobtree"."lease" ("check_at") where "check_at" is not null;
-- For the open leases of a job. The condition is written as in no query of all open leases, so that the planner never takes the index of these.
create index "lease_open" on "jobtree"."lease" ("job_id", "position") where coalesce("check_at", 'infinity') < 'infinity';
create index "lease_limited" on "jobtree"."lease" ("limited_type") where "limited_type" is not null and "check_at" is not null;

-- The serialize keys in use, and the item that has each: the head of its line. Without a head, a transaction has locked a key before any
-- item has it.
create table "jobtree"."serialize_key" (
  "key" text collate "C" not null,
  "job_id" uuid,
  "position" bigint,
  "turn" bigint not null default 0,
  constraint "serialize_key_pkey" primary key ("key"),
  constraint "serialize_key_key_check" check (length("key") between 1 and 297)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- The items behind the heads, in the order of their turns, which are drawn after the key's row is locked. Claims never see them.
create table "jobtree"."blocked_item" (
  "key" text collate "C" not null,
  "turn" bigserial not null,
  "job_id" uuid not null,
  "position" bigint not null,
  "type" text collate "C" not null,
  "priority" smallint not null,
  "attempt" integer not null,
  "run_at" timestamptz(3),
  "waits_since" timestamptz(3),
  constraint "blocked_item_pkey" primary key ("key", "turn")
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create unique index "blocked_item_job_id_position_key" on "jobtree"."blocked_item" ("job_id", "position");
-- To expire blocked items, and to count them by type.
create index "blocked_item_type_waits_since_idx" on "jobtree"."blocked_item" ("type", "waits_since");

-- Heads that have ended, but whose keys have not passed to the next items yet.
create table "jobtree"."ended_head" (
  "job_id" uuid not null,
  "position" bigint not null,
  "key" text collate "C" not null,
  "held" boolean not null,
  constraint "ended_head_pkey" primary key ("job_id", "position")
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index "ended_head_due" on "jobtree"."ended_head" ("key") where not "held";
create index "ended_head_held" on "jobtree"."ended_head" ("job_id", "position") where "held";

-- The outcomes of items: at most one row for each, written once.
create table "jobtree"."outcome" (
  "job_id" uuid not null,
  "position" bigint not null,
  "lease_id" uuid,
  "finished_at" timestamptz(3) not null,
  "failed" boolean not null default false,
  "result" json,
  constraint "outcome_pkey" primary key ("job_id", "position")
);
create index "outcome_failed" on "jobtree"."outcome" ("job_id", "position") where "failed";

-- Failed attempts: the first and the last twenty of each item.
create table "jobtree"."failure" (
  "job_id" uuid not null,
  "position" bigint not null,
  "attempt" integer not null,
  "lease_id" uuid,
  "at" timestamptz(3) not null,
  "retry_at" timestamptz(3),
  "lost" boolean not null,
  "code" text not null,
  "message" text not null,
  "worker" text,
  "stack" text,
  constraint "failure_pkey" primary key ("job_id", "position", "attempt")
);

-- One row: when a server last looked for lost heartbeats, and since when servers have done so without a gap.
create table "jobtree"."watch" (
  "id" integer not null,
  "swept_at" timestamptz(3) not null,
  "resumed_at" timestamptz(3) not null,
  constraint "watch_pkey" primary key ("id"),
  constraint "watch_id_check" check ("id" = 1)
) with (fillfactor = 10);
insert into "jobtree"."watch" values (1, now(), now());

-- One row: what the names of the channels for hints end with. Only the owner may read it.
create table "jobtree"."hint_secret" (
  "id" integer not null,
  "secret" uuid not null,
  constraint "hint_secret_pkey" primary key ("id"),
  constraint "hint_secret_id_check" check ("id" = 1)
);
insert into "jobtree"."hint_secret" values (1, gen_random_uuid());

-- Schedules, each of which creates a tree of jobs again and again. next_at is null while a schedule is paused.
create table "jobtree"."schedule" (
  "name" text collate "C" not null,
  "cron" text,
  "time_zone" text,
  "every_ms" bigint,
  "start_at" timestamptz(3),
  "missed" text not null,
  "overlap" text not null,
  "template" json not null,
  "created_at" timestamptz(3) not null,
  "changed_at" timestamptz(3) not null,
  "paused_at" timestamptz(3),
  "next_at" timestamptz(3),
  "held_next_at" timestamptz(3),
  "queued" timestamptz(3)[] not null default '{}',
  "open_root_ids" uuid[] not null default '{}',
  "last_root_id" uuid,
  "last_occurrence_at" timestamptz(3),
  "skipped_at" timestamptz(3),
  "skip_reason" text,
  "failed_at" timestamptz(3),
  "error" text,
  constraint "schedule_pkey" primary key ("name"),
  constraint "schedule_name_check" check (length("name") between 1 and 242),
  constraint "schedule_timing_check" check (num_nonnulls("cron", "every_ms") = 1 and ("cron" is null) = ("time_zone" is null)),
  constraint "schedule_cron_check" check (length("cron") between 1 and 200 and length("time_zone") between 1 and 100),
  constraint "schedule_every_ms_check" check ("every_ms" between 1000 and 31622400000),
  constraint "schedule_missed_check" check ("missed" in ('SKIP', 'RUN_ONCE', 'RUN_ALL')),
  constraint "schedule_overlap_check" check ("overlap" in ('ALLOW', 'SKIP', 'QUEUE')),
  constraint "schedule_next_at_check" check (("next_at" is null) = ("paused_at" is not null)),
  constraint "schedule_queued_check" check (cardinality("queued") <= 100)
) with (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 500);
create index "schedule_due" on "jobtree"."schedule" ("next_at") where "next_at" is not null;
create index "schedule_queued" on "jobtree"."schedule" ("name") where "queued" <> '{}';

-- Settings of types, a row for each type that has any. Null means not set.
create table "jobtree"."queue" (
  "type" text collate "C" not null,
  "paused" boolean not null default false,
  "concurrency" integer,
  "rate_limit" integer,
  "rate_interval_ms" integer,
  "lifetime_ms" integer,
  "priority" smallint,
  "max_failures_per_item" integer,
  "backoff_ms" integer[],
  "backoff_jitter" real,
  "heartbeat_interval_ms" integer,
  "limited_by" xid8,
  "alert_endpoint" text collate "C",
  "alert_count" integer,
  "alert_interval_ms" integer,
  "alert_spell_at" timestamptz(3),
  "alert_seen_at" timestamptz(3),
  constraint "queue_pkey" primary key ("type"),
  constraint "queue_type_check" check (length("type") between 1 and 242),
  constraint "queue_concurrency_check" check ("concurrency" between 1 and 1000000),
  constraint "queue_rate_limit_check" check ("rate_limit" between 1 and 1000000),
  constraint "queue_rate_interval_ms_check" check ("rate_interval_ms" between 1 and 86400000),
  constraint "queue_rate_check" check (("rate_limit" is null) = ("rate_interval_ms" is null)),
  constraint "queue_lifetime_ms_check" check ("lifetime_ms" >= 1),
  constraint "queue_max_failures_per_item_check" check ("max_failures_per_item" between 0 and 1000),
  constraint "queue_backoff_ms_check" check (0 <= all ("backoff_ms") and array_position("backoff_ms", null) is null and cardinality("backoff_ms") <= 100 and array_ndims("backoff_ms") = 1),
  constraint "queue_backoff_jitter_check" check ("backoff_jitter" between 0 and 1),
  constraint "queue_heartbeat_interval_ms_check" check ("heartbeat_interval_ms" between 1000 and 86400000),
  constraint "queue_alert_count_check" check ("alert_count" between 1 and 10000),
  constraint "queue_alert_interval_ms_check" check ("alert_interval_ms" between 1000 and 86400000),
  constraint "queue_alert_check" check (num_nulls("alert_endpoint", "alert_count", "alert_interval_ms") in (0, 3))
) with (fillfactor = 50);
-- Claims look up their types here and mostly find nothing.
create index "queue_limited" on "jobtree"."queue" ("type") where "paused" or "concurrency" is not null or "rate_limit" is not null;
create index "queue_lifetime" on "jobtree"."queue" ("type") where "lifetime_ms" is not null;
create index "queue_alert" on "jobtree"."queue" ("type") where "alert_count" is not null;

-- Schemas of the payloads and results of types, by version. Never changed, only removed.
create table "jobtree"."type_schema" (
  "id" uuid not null,
  "type" text collate "C" not null,
  "version" integer not null,
  "payload" json,
  "result" json,
  "created_at" timestamptz(3) not null,
  constraint "type_schema_pkey" primary key ("id"),
  constraint "type_schema_type_version_key" unique ("type", "version"),
  constraint "type_schema_type_check" check (length("type") between 1 and 242),
  constraint "type_schema_version_check" check ("version" between 1 and 1000000),
  constraint "type_schema_check" check ("payload" is not null or "result" is not null)
);

-- How many items of each type with a concurrency limit workers hold: the sum of its rows. A claim replaces them with one, and says in which
-- snapshot.
create table "jobtree"."held_delta" (
  "type" text collate "C" not null,
  "items" integer not null,
  "xid" xid8 not null default pg_current_xact_id(),
  "seen" pg_snapshot
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index "held_delta_sum" on "jobtree"."held_delta" ("type", "xid") where "seen" is not null;
create index "held_delta_new" on "jobtree"."held_delta" ("type", "xid") where "seen" is null;

-- How many items of types with a rate limit were claimed recently, by hundredths of the interval.
create table "jobtree"."rate_slice" (
  "type" text collate "C" not null,
  "ends_at" timestamptz not null,
  "claims" integer not null,
  constraint "rate_slice_pkey" primary key ("type", "ends_at")
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Items that failed for good, until they are replayed or discarded: the code of the latest failure, and what groups it with others.
create table "jobtree"."dead_letter" (
  "job_id" uuid not null,
  "position" bigint not null,
  "type" text collate "C" not null,
  "died_at" timestamptz(3) not null,
  "code" text not null,
  "pattern" text not null,
  "fingerprint" uuid not null,
  constraint "dead_letter_pkey" primary key ("job_id", "position")
);
create index "dead_letter_group" on "jobtree"."dead_letter" ("type", "fingerprint", "died_at");
create index "dead_letter_fingerprint" on "jobtree"."dead_letter" ("fingerprint", "died_at");
create index "dead_letter_type" on "jobtree"."dead_letter" ("type", "died_at");

-- Replayed items, and how many attempts they had had by then: only later failures count.
create table "jobtree"."replay" (
  "job_id" uuid not null,
  "position" bigint not null,
  "attempt" integer not null,
  constraint "replay_pkey" primary key ("job_id", "position")
);

-- Ranges of consecutive cancelled items of a job. No two ranges overlap.
create table "jobtree"."cancellation" (
  "job_id" uuid not null,
  "position" bigint not null,
  "count" bigint not null,
  "cancelled_at" timestamptz(3) not null,
  constraint "cancellation_pkey" primary key ("job_id", "position")
);

-- Notes that people wrote about groups of dead letters.
create table "jobtree"."dead_letter_note" (
  "fingerprint" uuid not null,
  "note" text not null,
  "noted_at" timestamptz(3) not null,
  "empty_since" timestamptz(3),
  constraint "dead_letter_note_pkey" primary key ("fingerprint")
);

-- Replays, discards, cancellations and promotions of many items, with their progress. The filter columns select dead letters or pending items; null
-- ones do not restrict.
create table "jobtree"."operation" (
  "id" uuid not null,
  "kind" text not null,
  "requested_at" timestamptz(3) not null,
  "job_id" uuid,
  "types" text[],
  "codes" text[],
  "fingerprints" uuid[],
  "died_from" timestamptz(3),
  "died_until" timestamptz(3),
  "dedupe_keys" text[],
  "item_job_ids" uuid[],
  "item_positions" bigint[],
  "statuses" text[],
  "added_from" timestamptz(3),
  "added_until" timestamptz(3),
  "before_position" bigint not null,
  "payload" json,
  "total" bigint not null default 0,
  "done" bigint not null default 0,
  "next_job_id" uuid not null default '00000000-0000-0000-0000-000000000000',
  "next_position" bigint not null default -1,
  "was_busy" boolean not null default false,
  "cancelled_at" timestamptz(3),
  "finished_at" timestamptz(3),
  "tenant" text,
  "requested_by" text,
  "conditions" jsonb,
  "scope" text[],
  "payload_patch" json,
  "skipped" bigint not null default 0,
  "problem" text,
  "selected_job_ids" uuid[],
  constraint "operation_pkey" primary key ("id"),
  constraint "operation_kind_check" check ("kind" in ('REPLAY', 'DISCARD', 'CANCEL', 'PROMOTE', 'CANCEL_TREES', 'DELETE_TREES'))
);
create index "operation_running" on "jobtree"."operation" ("id") where "finished_at" is null;
create index "operation_tenant" on "jobtree"."operation" ("tenant", "id") where "tenant" is not null;

-- The endpoints of callbacks, by name, with the secrets that sign the messages to them.
create table "jobtree"."callback_endpoint" (
  "name" text collate "C" not null,
  "url" text not null,
  "secret" text not null,
  "previous_secret" text,
  "previous_secret_until" timestamptz(3),
  "created_at" timestamptz(3) not null,
  "gone_at" timestamptz(3),
  constraint "callback_endpoint_pkey" primary key ("name"),
  constraint "callback_endpoint_name_check" check (length("name") between 1 and 242),
  constraint "callback_endpoint_previous_check" check (("previous_secret" is null) = ("previous_secret_until" is null))
);

-- API keys, by which programs authenticate. Only the hashes (SHA-256) of their texts are stored.
create table "jobtree"."api_key" (
  "id" uuid not null,
  "name" text not null,
  "hash" bytea not null,
  "previous_hash" bytea,
  "previous_until" timestamptz(3),
  "roles" text[],
  "types" text[],
  "root_ids" uuid[],
  "created_at" timestamptz(3) not null,
  "created_by" text not null,
  "expires_at" timestamptz(3),
  "last_used_at" timestamptz(3),
  "revoked_at" timestamptz(3),
  "tenant" text,
  "limits" jsonb not null default '{}',
  constraint "api_key_pkey" primary key ("id"),
  constraint "api_key_name_check" check (length("name") between 1 and 200),
  constraint "api_key_hash_check" check (length("hash") = 32 and length("previous_hash") = 32),
  constraint "api_key_previous_check" check (("previous_hash" is null) = ("previous_until" is null)),
  constraint "api_key_roles_check" check (cardinality("roles") > 0 and "roles" <@ '{admin,operator,producer,worker,watcher}'),
  constraint "api_key_tenant_check" check ("tenant" ~ '^[a-z0-9-]{1,40}$')
);
create unique index "api_key_hash_key" on "jobtree"."api_key" ("hash");
create unique index "api_key_previous_hash_key" on "jobtree"."api_key" ("previous_hash");
create index "api_key_tenant_name_id_idx" on "jobtree"."api_key" ("tenant", "name", "id");

-- The audit: who attempted which privileged action, and the outcome. Rows are added, and pruned when they are old, but never changed.
create table "jobtree"."audit_entry" (
  "id" uuid not null,
  "at" timestamptz(3) not null,
  "actor" text not null,
  "tenant" text,
  "action" text not null,
  "subjects" text[],
  "address" text not null,
  "outcome" text not null,
  constraint "audit_entry_pkey" primary key ("id")
);
create index "audit_entry_at_id_idx" on "jobtree"."audit_entry" ("at", "id");
create index "audit_entry_tenant_at_id_idx" on "jobtree"."audit_entry" ("tenant", "at", "id");

-- A placeholder, which the functions, created after the tables, replace.
create function jobtree.keep_audit() returns trigger language plpgsql as $$
begin
  raise exception 'Entries of the audit can''t be changed.';
end
$$;
create trigger keep_rows before update or delete on jobtree.audit_entry for each row execute function jobtree.keep_audit();
create trigger keep_table before truncate on jobtree.audit_entry for each statement execute function jobtree.keep_audit();

-- Secrets of watch tokens: the newest one signs, and tokens that the previous one signed are still valid.
create table "jobtree"."watch_secret" (
  "id" integer not null,
  "secret" bytea not null,
  "created_at" timestamptz(3) not null,
  constraint "watch_secret_pkey" primary key ("id"),
  constraint "watch_secret_secret_check" check (length("secret") = 32)
);

-- Tickets, each of which opens one event stream. Only their hashes (SHA-256) are stored.
create table "jobtree"."watch_ticket" (
  "hash" bytea not null,
  "root_id" uuid not null,
  "tenant" text,
  "sees" text not null,
  "secret_id" integer not null,
  "issued_ms" double precision not null,
  "token_expires_ms" double precision not null,
  "expires_at" timestamptz(3) not null,
  constraint "watch_ticket_pkey" primary key ("hash"),
  constraint "watch_ticket_hash_check" check (length("hash") = 32),
  constraint "watch_ticket_sees_check" check ("sees" in ('PROGRESS', 'ITEMS', 'RESULTS'))
);
create index "watch_ticket_expires_at_idx" on "jobtree"."watch_ticket" ("expires_at");

-- The endpoints to call when a tree, or each job of it, is complete.
create table "jobtree"."callback" (
  "root_id" uuid not null,
  "endpoint" text collate "C" not null,
  "event" text not null,
  "completions" integer not null default 0,
  constraint "callback_pkey" primary key ("root_id", "endpoint", "event"),
  constraint "callback_event_check" check ("event" in ('TREE', 'JOB'))
);

-- Messages to endpoints, with their content and outcome. They are independent of the tree that they are about.
create table "jobtree"."callback_delivery" (
  "id" uuid not null,
  "message_id" text not null,
  "endpoint" text collate "C" not null,
  "event" text not null,
  "root_id" uuid,
  "body" text not null,
  "created_at" timestamptz(3) not null,
  "due_at" timestamptz(3),
  "attempts" integer not null default 0,
  "attempts_before" integer not null default 0,
  "delivered_at" timestamptz(3),
  "failed_at" timestamptz(3),
  "history" jsonb not null default '[]',
  constraint "callback_delivery_pkey" primary key ("id"),
  constraint "callback_delivery_event_check" check ("event" in ('TREE', 'JOB', 'DEAD_LETTERS')),
  constraint "callback_delivery_state_check" check (num_nonnulls("due_at", "delivered_at", "failed_at") = 1)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create unique index "callback_delivery_message_id_endpoint_key" on "jobtree"."callback_delivery" ("message_id", "endpoint");
create index "callback_delivery_endpoint_id_idx" on "jobtree"."callback_delivery" ("endpoint", "id");
create index "callback_delivery_root_id_id_idx" on "jobtree"."callback_delivery" ("root_id", "id");
create index "callback_delivery_tenant" on "jobtree"."callback_delivery" (substring("endpoint" from '^[a-z0-9-]{1,40}//'), "id")
  where substring("endpoint" from '^[a-z0-9-]{1,40}//') is not null;
create index "callback_delivery_due" on "jobtree"."callback_delivery" ("endpoint", "due_at") where "due_at" is not null;
create index "callback_delivery_due_first" on "jobtree"."callback_delivery" ("due_at") where "due_at" is not null;
create index "callback_delivery_failed" on "jobtree"."callback_delivery" ("id") where "failed_at" is not null;

-- Figures of a type in a minute, as seen by one server, with histograms of how long items waited and attempts took, in the buckets of
-- src/domain/figures/histogram.ts. A server rewrites the rows of its current minute every few seconds.
create table "jobtree"."figure" (
  "type" text collate "C" not null,
  "minute" timestamptz(3) not null,
  "slot_id" uuid not null,
  "claimed" integer not null,
  "succeeded" integer not null,
  "failed" integer not null,
  "lost" integer not null,
  "dead" integer not null,
  "wait_buckets" integer[] not null,
  "wait_counts" integer[] not null,
  "took_buckets" integer[] not null,
  "took_counts" integer[] not null,
  constraint "figure_pkey" primary key ("type", "minute", "slot_id")
) with (fillfactor = 70);
create index "figure_minute_idx" on "jobtree"."figure" ("minute");

-- The workers that are connected to servers.
create table "jobtree"."worker" (
  "server_id" uuid not null,
  "name" text not null,
  "version" text,
  "types" text[] not null,
  "concurrency" integer[] not null,
  "connected_at" timestamptz(3) not null,
  "seen_at" timestamptz(3) not null,
  constraint "worker_pkey" primary key ("server_id", "name"),
  constraint "worker_name_check" check (length("name") between 1 and 242),
  constraint "worker_version_check" check (length("version") between 1 and 200)
) with (fillfactor = 50);
create index "worker_name_idx" on "jobtree"."worker" ("name");

-- Files that were uploaded, or are being uploaded.
create table "jobtree"."upload" (
  "id" uuid not null,
  "created_at" timestamptz(3) not null,
  "expires_at" timestamptz(3) not null,
  "length" bigint,
  "size" bigint not null default 0,
  "expected_sha256" bytea,
  "digest_state" bytea,
  "sha256" bytea,
  "removed_at" timestamptz(3),
  "store" text,
  "tenant" text,
  "account" text,
  "name" text,
  constraint "upload_pkey" primary key ("id")
);
create index "upload_store_expires_at_idx" on "jobtree"."upload" ("store", "expires_at");
create index "upload_tenant_id_idx" on "jobtree"."upload" ("tenant", "id");
create index "upload_account_id_idx" on "jobtree"."upload" ("account", "id");

-- The parts of uploads: the bytes, or the name of the object that has them.
create table "jobtree"."upload_part" (
  "upload_id" uuid not null,
  "position" bigint not null,
  "size" integer not null,
  "data" bytea,
  "name" text,
  constraint "upload_part_pkey" primary key ("upload_id", "position"),
  constraint "upload_part_check" check (num_nonnulls("data", "name") = 1)
);
-- Uncompressed: compression would take more time than storing, and many files are compressed already.
alter table "jobtree"."upload_part" alter column "data" set storage external;

-- Uploads that become the items of jobs, with the progress.
create table "jobtree"."file_import" (
  "job_id" uuid not null,
  "upload_id" uuid not null,
  "options" jsonb not null,
  "size" bigint not null,
  "bytes_read" bigint not null default 0,
  "position" bigint not null default 0,
  "line" bigint not null default 1,
  "columns" jsonb,
  "items" bigint not null default 0,
  "bad_lines" bigint not null default 0,
  "created_at" timestamptz(3) not null,
  "started_at" timestamptz(3),
  "finished_at" timestamptz(3),
  "error_code" text,
  "error_message" text,
  "lease_id" uuid,
  "leased_until" timestamptz(3),
  "attempts" integer not null default 0,
  "store_away_at" timestamptz(3),
  "type" text collate "C" not null,
  constraint "file_import_pkey" primary key ("job_id")
);
create index "file_import_type_job_id_idx" on "jobtree"."file_import" ("type", "job_id");
create index "file_import_upload_id_idx" on "jobtree"."file_import" ("upload_id");
create index "file_import_unfinished" on "jobtree"."file_import" ("type", (coalesce("leased_until", "created_at")), "job_id")
  where "finished_at" is null;

-- The items of all leases, a row for each assignment: which worker has or had which item.
create view "jobtree"."assignment" as
select (left(l.id::text, 34) || lpad(to_hex(n), 2, '0'))::uuid as id, l.id as lease_id, l.job_id, l.position + n - 1 as position,
  l.attempt, l.worker, l.claimed_at, l.heartbeat_at, case
    when l.check_at is not null then coalesce(l.deadlines[n], l.heartbeat_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond')
  end::timestamptz(3) as deadline_at,
  case
    when get_bit(l.open, n - 1) = 1 and j.cancelled_at is null then 'HELD'
    when o.job_id is not null and not o.failed then 'SUCCEEDED'
    when f.lost then 'LOST'
    when f.job_id is not null then 'FAILED'
    when j.cancelled_at is not null or c.is_cancelled then 'CANCELLED'
    else 'RELEASED'
  end as state
from jobtree.lease l
join jobtree.job j on j.id = l.job_id
cross join lateral generate_series(1, l.count) n
left join jobtree.outcome o on o.job_id = l.job_id and o.position = l.position + n - 1 and o.lease_id = l.id
left join jobtree.failure f on f.job_id = l.job_id and f.position = l.position + n - 1 and f.attempt = l.attempt and f.lease_id = l.id
left join lateral (
  select c.position + c.count > l.position + n - 1 as is_cancelled from jobtree.cancellation c
  where o.job_id is null and c.job_id = l.job_id and c.position <= l.position + n - 1
  order by c.position desc
  limit 1
) c on true;

-- What a claim returns: a lease that it made or found again, or a message (its kind says which), of which most columns are null.
create type "jobtree"."claimed_lease" as (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint, has_rest boolean,
  numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean, kind text
);

-- What a claim is to get of a queue entry: its items from one on, counted from 0, and how many; the number of the request that gets them, from 1, and
-- how many that has got of other entries.
create type "jobtree"."claim_pick" as (tid tid, first integer, count integer, request integer, given integer);

-- Pending items of one range, a bit for each: items of a queue entry, of a lease, or one that its serialize key blocks.
create type "jobtree"."pending_range" as (
  job_id uuid, "position" bigint, count integer, attempt integer, lease_id uuid, blocked boolean, keyed boolean, items bit(128)
);
-- Consecutive items of a job that have left the queue, their line or their lease, and whether they may have had serialize keys.
create type "jobtree"."item_range" as (job_id uuid, "position" bigint, count integer, keyed boolean);
-- An item that goes (back) into the queue: the number of its next attempt, when it is due, null for now, and whether its worker has fallen silent.
create type "jobtree"."waiting_item" as (
  job_id uuid, "position" bigint, attempt integer, priority smallint, run_at timestamptz, lost boolean
);
-- An item that has failed for good: the lease of its last attempt, null if no worker has started it, and what went wrong.
create type "jobtree"."dead_item" as (job_id uuid, "position" bigint, lease_id uuid, code text, message text);

-- A lease that a report has locked, and what its job says about it.
create type "jobtree"."reported_lease" as (
  id uuid, job_id uuid, root_id uuid, type text, "position" bigint, open bit(128), keyed boolean, claimed_at timestamptz,
  feeds_children boolean, cancelled boolean
);
-- Reports with which nothing is wrong, an element of each array for one, and what is wrong with others.
create type "jobtree"."judged_reports" as (
  ns integer[], lease_ids uuid[], numbers integer[], contents json, kinds text[], new_items json[], problems jsonb
);
-- What came of attempts that succeeded, failed or were snoozed.
create type "jobtree"."ended_attempts" as (
  root_ids uuid[], ready jsonb, count integer, accepted integer[], retries timestamptz[], figures json[], failed json[]
);
