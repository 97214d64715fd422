import type { Queries } from '../db/database.ts';

/** The progress of the deletion of a tree. */
export interface TreeDeletion {
  readonly rootId: string;
  readonly requestedAt: Date;
  readonly itemCount: number;
  readonly deletedItems: number;
  /** Its retention has ended: nobody requested the deletion. */
  readonly reaped: boolean;
}

/** The deletions of these trees, in any order; none for a tree that is not being deleted. */
export async function readDeletions(database: Queries, rootIds: readonly string[]): Promise<TreeDeletion[]> {
  const { rows } = await database.pool.query<TreeDeletion>({
    name: 'read_deletions',
    text: `select root_id as "rootId", requested_at as "requestedAt", item_count as "itemCount",
             deleted_items as "deletedItems", reaped
           from jobtree.tree_deletion where root_id = any ($1)`,
    values: [rootIds],
  });
  return rows;
}
