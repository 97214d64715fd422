import type { Database } from '../db/database.ts';
import type { Engine } from './engine.ts';

/** An assignment as a claim gives it to a worker: all it needs to know, from one row. */
export interface Assignment {
  readonly id: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
  readonly payload: unknown;
  /** 1 for the first try; a release does not count. */
  readonly attempt: number;
  readonly worker: string;
  readonly claimedAt: Date;
  readonly heartbeatAt: Date;
  readonly deadlineAt: Date;
  readonly heartbeatIntervalMs: number;
}

/** A row of hold_entries: what it took of one job, a list for each field. */
export interface HeldRow {
  readonly job_id: string;
  readonly root_id: string;
  readonly type: string;
  readonly heartbeat_interval_ms: number;
  readonly claimed_at: Date;
  readonly deadline_at: Date;
  readonly items: {
    /** The place of each in the whole answer, from 1. */
    readonly n: readonly number[];
    readonly id: readonly string[];
    readonly itemId: readonly string[];
    readonly attempt: readonly number[];
    readonly priority: readonly number[];
    readonly position: readonly number[];
    readonly payload: readonly unknown[];
  };
}

/** All that a claim took, in the order in which it was given out. Who holds it is for the caller to say. */
export function toAssignments(rows: readonly HeldRow[], worker: string): Assignment[] {
  const assignments: Assignment[] = [];
  for (const row of rows) {
    const { n, id, itemId, attempt, payload } = row.items;
    const heartbeatAt = new Date(row.deadline_at.getTime() - 3 * row.heartbeat_interval_ms);
    for (let i = 0; i < n.length; i++) {
      assignments[(n[i] as number) - 1] = {
        id: id[i] as string,
        itemId: itemId[i] as string,
        jobId: row.job_id,
        type: row.type,
        payload: payload[i],
        attempt: attempt[i] as number,
        worker,
        claimedAt: row.claimed_at,
        // Which is what moves the deadline; a repeated claim has moved it.
        heartbeatAt,
        deadlineAt: row.deadline_at,
        heartbeatIntervalMs: row.heartbeat_interval_ms,
      };
    }
  }
  return assignments;
}

interface AssignmentRow {
  readonly id: string;
  readonly item_id: string;
  readonly job_id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly attempt: number;
  readonly worker: string;
  readonly claimed_at: Date;
  readonly heartbeat_at: Date;
  readonly deadline_at: Date;
  readonly heartbeat_interval_ms: number;
}

/** Assignments by their ids, in one query, in any order. */
export async function readAssignments(database: Database, ids: readonly string[]): Promise<Assignment[]> {
  const { rows } = await database.pool.query<AssignmentRow>({
    name: 'read_assignments',
    text: `select a.*, j.type, j.heartbeat_interval_ms, i.payload
           from jobtree.assignment a
           join jobtree.job j on j.id = a.job_id
           join jobtree.job_item i on i.id = a.item_id
           where a.id = any ($1)`,
    values: [ids],
  });
  return rows.map((row) => ({
    id: row.id,
    itemId: row.item_id,
    jobId: row.job_id,
    type: row.type,
    payload: row.payload,
    attempt: row.attempt,
    worker: row.worker,
    claimedAt: row.claimed_at,
    heartbeatAt: row.heartbeat_at,
    deadlineAt: row.deadline_at,
    heartbeatIntervalMs: row.heartbeat_interval_ms,
  }));
}

export function logClaims({ logger, logPayloads }: Engine, assignments: readonly Assignment[]): void {
  if (!logger.isLevelEnabled('debug')) return;
  for (const { id, itemId, jobId, type, attempt, worker, payload } of assignments) {
    const ids = { assignmentId: id, itemId, jobId, type, attempt, worker };
    logger.debug(logPayloads ? { ...ids, payload } : ids, 'item started');
  }
}
