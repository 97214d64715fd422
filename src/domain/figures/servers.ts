/**
 * The servers of a database, as its sessions show them: the one that a server keeps for LISTEN has a name that says whose it is, and asks
 * something twice a second.
 */
import { hostname } from 'node:os';
import type { Queries } from '../../db/database.ts';
import { ownVersion } from '../../db/migrate.ts';

/** What carries events to a server. */
export type Route = 'notify' | 'redis';

export interface RunningServer {
  readonly host: string;
  readonly process: number;
  readonly version: string;
  readonly transport: Route;
  /** Null if Postgres shows nothing of this session but its name: it belongs to another role. */
  readonly connectedAt: Date | null;
  readonly seenAt: Date | null;
}

/** Postgres cuts names after 63 bytes, which leaves about half of them for the host. */
export const nameOfSession = (route: Route) =>
  `jobtree listener ${ownVersion} ${route} ${process.pid}@${hostname()}`;

export const serversQuery = `select s.name[1] as version, s.name[2] as transport, s.name[3]::int as process, s.name[4] as host,
     s.connected_at::timestamptz(3) as "connectedAt", s.seen_at::timestamptz(3) as "seenAt"
   from (
     select regexp_match(a.application_name, '^jobtree listener (\\S+) (notify|redis) (\\d{1,9})@(.*)$') as name,
       a.backend_start as connected_at, a.state_change as seen_at
     from pg_stat_activity a
     where a.datname = current_database() and a.application_name like 'jobtree listener %'
   ) s
   where s.name is not null
   order by s.name[4], s.name[3]::int
   limit 1000`;

export async function readServers(database: Pick<Queries, 'pool'>): Promise<RunningServer[]> {
  return (await database.pool.query<RunningServer>({ name: 'read_servers', text: serversQuery })).rows;
}
