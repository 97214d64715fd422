/** Postgres itself: its version, its settings, and whether it has connections to give. */
import { requireSupportedServer } from '../db/migrate.ts';
import { MigrationError } from '../db/migration-books.ts';
import { counted } from '../domain/values/counted.ts';
import { type Judgement, ok, sick, span, warning } from './finding.ts';
import type { Session } from './session.ts';

interface Server {
  version: number;
  name: string;
  database: string;
  startedAt: Date;
  readOnly: boolean;
  recovers: boolean;
}

export async function checkVersion(session: Session): Promise<Judgement[]> {
  const [server] = await session.query<Server>(
    `select current_setting('server_version_num')::int as version, current_setting('server_version') as name,
       current_database() as database, pg_postmaster_start_time() as "startedAt",
       current_setting('default_transaction_read_only')::boolean as "readOnly", pg_is_in_recovery() as recovers`,
  );
  if (server === undefined) return [];
  try {
    requireSupportedServer(server.version);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return [sick(error.message, 'Use a newer Postgres.')];
  }
  if (server.recovers || server.readOnly)
    return [
      sick(
        `It accepts no changes: ${server.recovers ? 'it is a standby, or still recovering' : 'default_transaction_read_only is on'}.`,
        'Point DATABASE_URL to the primary, or turn the setting off.',
      ),
    ];
  const { name, database, startedAt } = server;
  return [ok(`PostgreSQL ${name}, database ${database}, running since ${startedAt.toISOString()}`)];
}

export async function checkConnections(session: Session): Promise<Judgement[]> {
  const [row] = await session.query<{ used: number; limit: number; which: string }>(
    `select c.used::int, c."limit"::int, c.which
     from (
       select count(*) filter (where a.datid is not null) as used,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) as "limit", 'max_connections' as which
       from pg_stat_activity a
       union all
       select count(a.pid), r.rolconnlimit, 'the limit of the role ' || r.rolname
       from pg_roles r left join pg_stat_activity a on a.usesysid = r.oid
       where r.rolname = current_user and r.rolconnlimit >= 0 group by r.rolname, r.rolconnlimit
       union all
       select count(a.pid), d.datconnlimit, 'the limit of the database ' || d.datname
       from pg_database d left join pg_stat_activity a on a.datid = d.oid
       where d.datname = current_database() and d.datconnlimit >= 0 group by d.datname, d.datconnlimit
     ) c
     order by c."limit" - c.used limit 1`,
  );
  if (row === undefined) return [];
  const message = `${row.used} of ${counted(row.limit, 'connection')} are in use (${row.which})`;
  const advice =
    'A server uses up to JOBTREE_POOL_SIZE × 1.5 + 4 of them: raise the limit, lower the pool sizes, or use a pooler.';
  if (row.used >= row.limit) return [sick(`${message}: servers may get none.`, advice)];
  if (row.used >= row.limit * 0.85) return [warning(`${message}.`, advice)];
  return [ok(message)];
}

const alterSystem = (setting: string) => `In SQL: \`alter system set ${setting}; select pg_reload_conf();\``;

/** What jobtree's promises rest on, and what keeps its tables small. */
export async function checkSettings(session: Session): Promise<Judgement[]> {
  const names = [
    'fsync',
    'full_page_writes',
    'synchronous_commit',
    'autovacuum',
    'track_counts',
    'default_transaction_isolation',
    'idle_in_transaction_session_timeout',
    'track_commit_timestamp',
    'max_connections',
    'synchronous_standby_names',
  ];
  const rows = await session.query<{ name: string; setting: string; unit: string | null }>(
    'select name, setting, unit from pg_settings where name = any ($1)',
    [names],
  );
  const value = new Map(rows.map(({ name, setting }) => [name, setting]));
  const found: Judgement[] = [];
  for (const name of ['fsync', 'full_page_writes'])
    if (value.get(name) === 'off')
      found.push(
        sick(`${name} is off: a crash of the machine may destroy the database.`, alterSystem(`${name} = on`)),
      );
  if (value.get('synchronous_commit') === 'off')
    found.push(
      sick(
        'synchronous_commit is off: a crash of Postgres may lose what was acknowledged.',
        'Remove it from the configuration, the role and the database. JOBTREE_DURABLE_CLAIMS=false avoids the wait where that is safe.',
      ),
    );
  for (const name of ['autovacuum', 'track_counts'])
    if (value.get(name) === 'off')
      found.push(
        sick(
          `${name} is off: nothing removes dead rows, so claims and counting become slower and slower.`,
          alterSystem(`${name} = on`),
        ),
      );
  const isolation = value.get('default_transaction_isolation');
  if (isolation !== 'read committed')
    found.push(
      warning(
        `default_transaction_isolation is ${isolation}: calls that would wait for each other fail instead.`,
        'Set it to read committed for the role that the servers use.',
      ),
    );
  if (found.length > 0) return found;
  const timeoutMs = Number(value.get('idle_in_transaction_session_timeout'));
  const forgotten =
    timeoutMs === 0
      ? 'nothing ends a forgotten transaction (idle_in_transaction_session_timeout is 0)'
      : `a forgotten transaction is ended after ${span(timeoutMs)}`;
  const failover = await afterFailover(session, value);
  return [
    ok(
      `synchronous_commit ${value.get('synchronous_commit')}, autovacuum on, read committed; ${forgotten}${failover}`,
    ),
  ];
}

async function afterFailover(session: Session, value: ReadonlyMap<string, string>): Promise<string> {
  const [row] = await session.query<{ count: number }>('select count(*)::int from pg_stat_replication');
  const standbys = row?.count ?? 0;
  if (standbys === 0) return '';
  const waits = value.get('synchronous_standby_names') !== '' && value.get('synchronous_commit') !== 'local';
  return waits
    ? '; a commit waits for a standby, so a failover loses nothing'
    : `; no commit waits for ${standbys === 1 ? 'the standby' : `the ${standbys} standbys`} (synchronous_standby_names), so a failover may lose what was acknowledged last`;
}

/** Behind a pooler, servers can't make their settings themselves. */
export async function checkPooler(pooled: Session): Promise<Judgement[]> {
  const [row] = await pooled.query<{ lock_timeout: string; jit: string }>(
    `select l.reset_val as lock_timeout, j.reset_val as jit from pg_settings l, pg_settings j
     where l.name = 'lock_timeout' and j.name = 'jit'`,
  );
  const found: Judgement[] = [];
  if (row?.lock_timeout === '0')
    found.push(
      warning(
        'lock_timeout is not set on the role: a call may wait for a lock until JOBTREE_DATABASE_TIMEOUT_MS.',
        "`alter role … set lock_timeout = '1s';` and see the section on poolers in docs/connections.md.",
      ),
    );
  if (row?.jit === 'on')
    found.push(
      warning(
        'jit is on for the role: Postgres may take longer to compile a read than to execute it.',
        '`alter role … set jit = off;` and see the section on poolers in docs/connections.md.',
      ),
    );
  if (found.length > 0) return found;
  return [ok('statements reach Postgres through DATABASE_URL, and the role has a lock_timeout and no jit')];
}

/** Sessions that listen and stay in a transaction fill it; then whoever notifies fails. `hear` tries whether a notification arrives. */
export async function checkNotifications(
  session: Session,
  hear?: () => Promise<number | undefined>,
): Promise<Judgement[]> {
  const [row] = await session.query<{ usage: number }>('select pg_notification_queue_usage() as usage');
  const usage = row?.usage ?? 0;
  const full = `The queue of notifications is ${Math.round(usage * 100)} % full: a session listens, and keeps its transaction open.`;
  const advice = 'End that session: see transactions. At 100 % every call that notifies fails.';
  if (usage > 0.5) return [sick(full, advice)];
  if (usage > 0.05) return [warning(full, advice)];
  if (hear === undefined) return [ok('the queue of notifications has room')];
  const tookMs = await hear();
  if (tookMs === undefined)
    return [
      sick(
        'A notification does not arrive on this connection: there seems to be a pooler in between.',
        'Set JOBTREE_DIRECT_DATABASE_URL to the address of Postgres itself.',
      ),
    ];
  return [ok(`a notification arrives within ${span(tookMs)}`)];
}
