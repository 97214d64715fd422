/** The names of the Redis channels of one Postgres database. */
import type { Query } from './direct-connection.ts';

export class Channels {
  #prefix = '';

  /** Returns whether the prefix has changed. */
  usePrefix(prefix: string): boolean {
    const changed = prefix !== this.#prefix;
    this.#prefix = prefix;
    return changed;
  }

  get prefix(): string {
    return this.#prefix;
  }

  /** The channel for the progress of one tree, as the fold notifies it. */
  tree(rootId: string): string {
    return `${this.#prefix}:tree:${rootId}`;
  }

  /** The root of a tree's channel; undefined for other channels. */
  rootOf(channel: string): string | undefined {
    const start = `${this.#prefix}:tree:`;
    return channel.startsWith(start) ? channel.slice(start.length) : undefined;
  }

  /** The channel for hints that there may be work. */
  get work(): string {
    return `${this.#prefix}:work`;
  }

  /** The channel on which each active relay publishes its id, twice a second. */
  get alive(): string {
    return `${this.#prefix}:alive`;
  }

  /** The channel that says that some tree changed, at most four times a second from each relay. */
  get activity(): string {
    return `${this.#prefix}:activity`;
  }

  /** The channel to which relays publish to see whether they can. */
  get probe(): string {
    return `${this.#prefix}:probe`;
  }
}

/** The same for all servers of a database, and different for any other database of any cluster; a rename does not change it. Needs no rights. */
export async function databasePrefix(query: Query): Promise<string> {
  const [row] = await query<{ id: string }>(
    `select c.system_identifier || '-' || d.oid as id
     from pg_control_system() c, pg_database d where d.datname = current_database()`,
  );
  if (row === undefined) throw new Error('the database has no row in pg_database');
  return `jobtree:${row.id}`;
}
