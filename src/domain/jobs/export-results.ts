/** The results of a tree, as the text that Postgres has, for exports of any size. */
import type { Queries, Statement } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import { readResultKeys } from '../items/item-pages.ts';
import { latestProgress } from '../progress/progress.ts';
import type { ItemKey } from '../values/ids.ts';

/** An item that succeeded, in a final stage. */
export interface ResultText extends ItemKey {
  readonly payload: string;
  readonly result: string;
}

const maxPartItems = 1_000;

/** The tree that a job belongs to, and whether it is complete; undefined if there is no such job. */
export async function readTreeOf(
  database: Queries,
  jobId: string,
): Promise<{ rootId: string; complete: boolean } | undefined> {
  const { rows } = await database.pool.query<{ root_id: string; complete: boolean }>({
    name: 'read_tree_of',
    text: `select j.root_id, p.open_jobs = 0 as complete
           from (select root_id as id, root_id from jobtree.job where id = $1) j
           ${latestProgress}`,
    values: [jobId],
  });
  return rows[0] && { rootId: rows[0].root_id, complete: rows[0].complete };
}

/** A reader protects a tree from being reaped for this long, and renews that at this interval. */
const holdSeconds = 120;
const holdEveryMs = 30_000;

/** Holds a tree ($1) for $2 seconds from now, and never for less than it is held already. */
export const hold: Statement = {
  name: 'hold_tree',
  text: `update jobtree.tree t set held_until = greatest(t.held_until, clock_timestamp() + $2 * interval '1 second')
    where t.root_id = $1 and t.deletion is null returning t.root_id`,
};

/** @throws NotFoundError the tree is gone, is being deleted, or its retention had ended before */
export async function holdTree(database: Queries, rootId: string): Promise<void> {
  const [row] = await database.call(hold, rootId, holdSeconds);
  if (row === undefined) throw new NotFoundError(`There is no job ${rootId}.`, 'id');
}

/**
 * Reads the successes of a tree's final stages that follow an item, by job and then in the order in which the items were added. Each
 * part is a separate query, so no snapshot is held while a slow client reads, and keeps nothing of a part that it has returned. The reader
 * holds the tree (holdTree), so that it is not reaped meanwhile.
 */
export class ResultExport {
  readonly #database: Queries;
  readonly #rootId: string;
  #last: ItemKey | undefined;
  #take = maxPartItems;
  #isOver = false;
  #holdAt = performance.now() + holdEveryMs;

  constructor(database: Queries, rootId: string, after: ItemKey | undefined) {
    this.#database = database;
    this.#rootId = rootId;
    this.#last = after;
  }

  /**
   * The next part, which ends once it has `maxBytes`; undefined at the end.
   *
   * @throws NotFoundError the tree was deleted, so there may have been more
   */
  async next(maxBytes: number): Promise<ResultText[] | undefined> {
    while (!this.#isOver) {
      if (performance.now() >= this.#holdAt) await this.#hold();
      const take = this.#take;
      const range = { after: this.#last, take, backwards: false };
      const [keys = []] = await readResultKeys(this.#database, false, [{ rootId: this.#rootId, range }]);
      const part = await readTexts(this.#database, keys, maxBytes);
      const isCut = part.length > 0 && part.length < keys.length;
      // A tree deleted meanwhile would look like the end, so this checks that it still exists.
      if (keys.length < take && !isCut) {
        await this.#hold();
        this.#isOver = true;
      }
      const last = (isCut ? part : keys).at(-1);
      this.#last = last && { jobId: last.jobId, position: last.position };
      // The items that follow are probably about as large.
      this.#take = Math.min(2 * Math.max(part.length, 1), maxPartItems);
      // Items that are deleted or replayed meanwhile are left out.
      if (part.length > 0) return part;
    }
    return undefined;
  }

  async #hold(): Promise<void> {
    await holdTree(this.#database, this.#rootId);
    this.#holdAt = performance.now() + holdEveryMs;
  }
}

/** The texts of the first of these items, until they have `maxBytes`. */
async function readTexts(
  database: Queries,
  keys: readonly ItemKey[],
  maxBytes: number,
): Promise<ResultText[]> {
  const { rows } = await database.pool.query<{
    job_id: string;
    position: number;
    payload: string;
    result: string;
  }>({
    name: 'read_result_texts',
    text: `select r.job_id, r.position, r.payload, r.result
           from (
             select u.n, i.job_id, i.position, i.payload::text as payload, o.result::text as result,
               sum(i.payload_bytes + octet_length(o.result::text))
                 over (order by u.n rows between unbounded preceding and 1 preceding) as bytes_before
             from unnest($1::uuid[], $2::bigint[]) with ordinality as u(job_id, position, n)
             cross join lateral (
               select * from jobtree.job_item where job_id = u.job_id and position = u.position limit 1
             ) i
             cross join lateral (
               select * from jobtree.outcome where job_id = u.job_id and position = u.position and not failed limit 1
             ) o
           ) r
           where coalesce(r.bytes_before, 0) < $3::bigint
           order by r.n`,
    values: [keys.map(({ jobId }) => jobId), keys.map(({ position }) => position), maxBytes],
  });
  return rows.map(({ job_id: jobId, position, payload, result }) => ({ jobId, position, payload, result }));
}
