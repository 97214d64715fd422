/** The names of the channels in Redis of one Postgres database. */
import type { Query } from './direct-connection.ts';

export class Channels {
  #prefix = '';

  /** Gives whether it is another one than before. */
  usePrefix(prefix: string): boolean {
    const changed = prefix !== this.#prefix;
    this.#prefix = prefix;
    return changed;
  }

  get prefix(): string {
    return this.#prefix;
  }

  /** The progress of one tree, as the fold notifies it. */
  tree(rootId: string): string {
    return `${this.#prefix}:tree:${rootId}`;
  }

  /** The root of a channel of trees, else undefined. */
  rootOf(channel: string): string | undefined {
    const start = `${this.#prefix}:tree:`;
    return channel.startsWith(start) ? channel.slice(start.length) : undefined;
  }

  /** Hints that there may be work. */
  get work(): string {
    return `${this.#prefix}:work`;
  }

  /** The id of each active relay, twice a second. */
  get beat(): string {
    return `${this.#prefix}:beat`;
  }

  /** Some tree changed, at most four times a second from each relay. */
  get activity(): string {
    return `${this.#prefix}:activity`;
  }

  /** Relays publish here, to see whether they can. */
  get probe(): string {
    return `${this.#prefix}:probe`;
  }
}

/** The same for all servers of a database, and for no other: of any cluster, and after a rename too. Needs no rights. */
export async function databasePrefix(query: Query): Promise<string> {
  const [row] = await query<{ id: string }>(
    `select c.system_identifier || '-' || d.oid as id
     from pg_control_system() c, pg_database d where d.datname = current_database()`,
  );
  if (row === undefined) throw new Error('the database has no row in pg_database');
  return `jobtree:${row.id}`;
}
