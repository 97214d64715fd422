/**
 * How long trees are kept. A complete tree is reaped when its retention ends; a tree that waits for nothing but more items is
 * idle, and is cancelled when its expiry ends. A tree has its own retention and expiry, or the servers' defaults.
 */
import type { Queries } from '../../db/database.ts';
import type { Engine, RetentionPolicy } from '../engine/engine.ts';
import { toCheckedText } from '../values/checks.ts';
import { firstUuid } from '../values/range.ts';

/** Null means never; undefined keeps the value, or means the servers' default. */
export interface RetentionChange {
  readonly retentionSeconds?: number | null | undefined;
  readonly idleExpirySeconds?: number | null | undefined;
}

/** Of a tree that is complete the new retention counts from its completion, so it may be over. */
export async function setRetention(engine: Engine, jobId: string, change: RetentionChange): Promise<void> {
  await engine.database.call('set_retention', jobId, toCheckedText(change));
}

/** When a tree is reaped, and when it expires. */
export interface TreeRetention {
  readonly rootId: string;
  /** Null: it is kept for ever. */
  readonly retentionSeconds: number | null;
  /** When it is reaped; null while it is not complete, and if it is kept for ever. */
  readonly reapAt: Date | null;
  /** Null for never. */
  readonly idleExpirySeconds: number | null;
  /** Null unless it has been idle for the time after which that is shown. */
  readonly idleSince: Date | null;
}

interface RetentionRow {
  root_id: string;
  retention_seconds: number | null;
  idle_expiry_seconds: number | null;
  completed_at: Date | null;
  idle_since: Date | null;
}

/** In any order. A tree that does not exist is missing in the answer. */
export async function readRetentions(
  database: Queries,
  policy: RetentionPolicy,
  rootIds: readonly string[],
): Promise<TreeRetention[]> {
  const { rows } = await database.pool.query<RetentionRow>({
    name: 'read_retentions',
    text: `select t.root_id, t.retention_seconds, t.idle_expiry_seconds, t.completed_at,
             case when t.idle_since is not null then jobtree.idle_since(t.root_id) end as idle_since
           from jobtree.tree t
           where t.root_id = any ($1)`,
    values: [rootIds],
  });
  return rows.map((row) => {
    const retentionSeconds = own(row.retention_seconds, policy.retentionSeconds);
    return {
      rootId: row.root_id,
      retentionSeconds,
      reapAt:
        row.completed_at && retentionSeconds !== null
          ? new Date(row.completed_at.getTime() + retentionSeconds * 1_000)
          : null,
      idleExpirySeconds: own(row.idle_expiry_seconds, policy.idleExpirySeconds),
      idleSince: row.idle_since,
    };
  });
}

/** The tree's own value, where -1 means never, or else the default. */
function own(value: number | null, standard: number | null): number | null {
  if (value === null) return standard;
  return value === -1 ? null : value;
}

/** The most trees that are being reaped at a time. */
const mostReaped = 100;
/** A batch takes Postgres some hundredths of a second, so nobody waits for it long. */
const batchItems = 2_000;

/**
 * Marks trees that are due, deletes a batch of what is marked, and resolves to whether there is more to do. `rest` is called
 * after each call of Postgres, with the time that it took.
 */
export async function reapSome(engine: Engine, rest: (tookMs: number) => Promise<void>): Promise<boolean> {
  const timed = async <Row extends object>(name: string, ...values: unknown[]): Promise<Row[]> => {
    const startedAt = performance.now();
    try {
      return await engine.database.call<Row>(name, ...values);
    } finally {
      await rest(performance.now() - startedAt);
    }
  };
  await timed('reap_trees', engine.retention.retentionSeconds, mostReaped);
  const [row] = await timed<{ delete_reaped: boolean }>('delete_reaped', batchItems);
  return row?.delete_reaped === true;
}

const idleBatch = 1_000;

/** Checks the next open jobs after `from`, and cancels trees that have expired. Returns where to continue; undefined at the end. */
export async function findIdle(engine: Engine, from: string = firstUuid): Promise<string | undefined> {
  const { idleSeconds, idleExpirySeconds } = engine.retention;
  const [row] = await engine.database.call<{ next_from: string | null; expired: string[] | null }>(
    'find_idle',
    from,
    idleBatch,
    idleSeconds,
    idleExpirySeconds,
  );
  for (const rootId of row?.expired ?? []) {
    try {
      const [tree] = await engine.database.call<{ expire_tree: string[] | null }>(
        'expire_tree',
        rootId,
        idleExpirySeconds,
      );
      if (tree?.expire_tree == null) continue;
      engine.logger.info({ rootId }, 'a tree was idle for too long and is cancelled');
      engine.effects.touched(rootId);
      if (tree.expire_tree.length > 0) engine.effects.unfinished();
    } catch (error) {
      engine.logger.warn({ err: error, rootId }, 'an idle tree could not be cancelled; trying again');
    }
  }
  return row?.next_from ?? undefined;
}
