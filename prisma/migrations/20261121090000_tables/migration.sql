create table "jobtree"."job" (
  "id" uuid not null,
  "root_id" uuid not null,
  "parent_id" uuid,
  "depth" smallint not null,
  "type" text not null,
  "dedupe_key" text,
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
  constraint "job_pkey" primary key ("id"),
  constraint "job_type_check" check (length("type") between 1 and 200),
  constraint "job_dedupe_key_check" check (length("dedupe_key") between 1 and 500),
  constraint "job_depth_check" check ("depth" between 0 and 32),
  constraint "job_max_failures_per_item_check" check ("max_failures_per_item" between 0 and 1000),
  constraint "job_backoff_ms_check" check (0 <= all ("backoff_ms") and cardinality("backoff_ms") <= 100),
  constraint "job_backoff_jitter_check" check ("backoff_jitter" between 0 and 1),
  constraint "job_heartbeat_interval_ms_check" check ("heartbeat_interval_ms" between 1000 and 86400000),
  constraint "job_feed_check" check ("feed" ->> 'source' in ('SUCCESSES', 'REPORTS'))
);
create unique index "job_type_dedupe_key_key" on "jobtree"."job" ("type", "dedupe_key");
create index "job_root_id_idx" on "jobtree"."job" ("root_id");
create index "job_parent_id_idx" on "jobtree"."job" ("parent_id");

-- Rewritten by every fold: room for the new version on the same page.
create table "jobtree"."job_progress" (
  "job_id" uuid not null,
  "root_id" uuid not null,
  "revision" bigint not null default 0,
  "item_count" bigint not null default 0,
  "succeeded" bigint not null default 0,
  "failed" bigint not null default 0,
  "cancelled" bigint not null default 0,
  "open_jobs" integer not null default 0,
  "started_at" timestamptz(3),
  "completed_at" timestamptz(3),
  constraint "job_progress_pkey" primary key ("job_id"),
  constraint "job_progress_open_jobs_check" check ("open_jobs" >= 0)
) with (fillfactor = 50);
create index "job_progress_root_id_idx" on "jobtree"."job_progress" ("root_id");

create table "jobtree"."progress_delta" (
  "id" bigserial not null,
  "root_id" uuid not null,
  "job_id" uuid not null,
  "items" integer not null default 0,
  "succeeded" integer not null default 0,
  "failed" integer not null default 0,
  "cancelled" integer not null default 0,
  "started" boolean not null default false,
  constraint "progress_delta_pkey" primary key ("id")
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index "progress_delta_root_id_id_idx" on "jobtree"."progress_delta" ("root_id", "id");

create sequence "jobtree"."job_item_position_seq";

create table "jobtree"."job_item" (
  "id" uuid not null,
  "root_id" uuid not null,
  "job_id" uuid not null,
  "position" bigint not null,
  "payload" jsonb,
  "dedupe_key" text,
  "priority" smallint not null,
  "run_at" timestamptz(3),
  "created_at" timestamptz(3) not null,
  "failures" jsonb not null default '[]',
  "failed_at" timestamptz(3),
  "cancelled_at" timestamptz(3),
  constraint "job_item_pkey" primary key ("id"),
  constraint "job_item_dedupe_key_check" check (length("dedupe_key") between 1 and 500)
);
create unique index "job_item_job_id_position_key" on "jobtree"."job_item" ("job_id", "position");
create unique index "job_item_dedupe" on "jobtree"."job_item" ("job_id", "dedupe_key") where "dedupe_key" is not null;
create index "job_item_failed" on "jobtree"."job_item" ("job_id", "position") where "failed_at" is not null;

-- Rows live from being added to being claimed, so the tables below want vacuum by count and not by share.
create table "jobtree"."queue_entry" (
  "item_id" uuid not null,
  "root_id" uuid not null,
  "job_id" uuid not null,
  "type" text not null,
  "priority" smallint not null,
  "position" bigint not null,
  "run_at" timestamptz(3),
  "attempt" integer not null,
  constraint "queue_entry_pkey" primary key ("item_id")
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
create index "queue_entry_ready" on "jobtree"."queue_entry" ("type", "priority" desc, "position") where "run_at" is null;
create index "queue_entry_scheduled" on "jobtree"."queue_entry" ("run_at") where "run_at" is not null;

-- Finishing changes no indexed column; with room on the page for the result it stays a heap-only update.
create table "jobtree"."assignment" (
  "id" uuid not null,
  "root_id" uuid not null,
  "job_id" uuid not null,
  "item_id" uuid not null,
  "held_item_id" uuid,
  "attempt" integer not null,
  "worker" text not null,
  "claimed_at" timestamptz(3) not null,
  "heartbeat_at" timestamptz(3) not null,
  "deadline_at" timestamptz(3) not null,
  "finished_at" timestamptz(3),
  "outcome" text,
  "result" jsonb,
  constraint "assignment_pkey" primary key ("id"),
  constraint "assignment_worker_check" check (length("worker") between 1 and 200),
  constraint "assignment_outcome_check" check ("outcome" in ('succeeded', 'failed', 'lost', 'cancelled'))
) with (fillfactor = 40);
create unique index "assignment_held_item_id_key" on "jobtree"."assignment" ("held_item_id");
create index "assignment_deadline_at_idx" on "jobtree"."assignment" ("deadline_at");
