/** Dead rows of the tables whose rows live shortly, and transaction ids that run out. */
import { count } from '../domain/values/counted.ts';
import { type Judgement, ok, sick, warning } from './finding.ts';
import type { Session } from './session.ts';

/** So many times as many dead rows as have a vacuum begin. */
const warningFactor = 10;
const sickFactor = 100;

interface Table {
  name: string;
  dead: number;
  live: number;
  trigger: number;
  megabytes: number;
  enabled: boolean;
  vacuumedAt: Date | null;
  recently: boolean;
}

export async function checkDeadRows(session: Session): Promise<Judgement[]> {
  const tables = await session.query<Table>(
    `select c.relname::text as name, coalesce(s.n_dead_tup, 0)::float8 as dead, coalesce(s.n_live_tup, 0)::float8 as live,
       coalesce((o.options ->> 'autovacuum_vacuum_threshold')::float8, current_setting('autovacuum_vacuum_threshold')::float8)
         + coalesce((o.options ->> 'autovacuum_vacuum_scale_factor')::float8, current_setting('autovacuum_vacuum_scale_factor')::float8)
           * coalesce(s.n_live_tup, 0) as trigger,
       coalesce((o.options ->> 'autovacuum_enabled')::boolean, true) as enabled,
       round(pg_total_relation_size(c.oid) / 1e6)::int as megabytes,
       greatest(s.last_vacuum, s.last_autovacuum) as "vacuumedAt",
       coalesce(greatest(s.last_vacuum, s.last_autovacuum) > now() - interval '10 minutes', false) as recently
     from pg_class c
     left join pg_stat_all_tables s on s.relid = c.oid
     cross join lateral (
       select coalesce(jsonb_object_agg(split_part(r, '=', 1), split_part(r, '=', 2)), '{}') as options from unnest(c.reloptions) r
     ) o
     where c.relnamespace = to_regnamespace('jobtree') and c.relkind = 'r'
     order by dead desc`,
  );
  const judged = tables.flatMap((table) => {
    const { name, dead, live, trigger, megabytes, enabled, vacuumedAt, recently } = table;
    const message = `${name} has ${count(dead)} dead rows and ${count(live)} live ones (${count(megabytes)} MB), ${vacuumedAt === null ? 'and was never vacuumed' : `last vacuumed at ${vacuumedAt.toISOString()}`}.`;
    const advice = enabled
      ? `If nothing holds a snapshot (see transactions, prepared and slots): \`vacuum jobtree.${name};\` and find out why autovacuum does not run.`
      : `In SQL: \`alter table jobtree.${name} reset (autovacuum_enabled);\``;
    if (!enabled) return [sick(`autovacuum is turned off for ${name}. ${message}`, advice, vacuumedAt)];
    if (dead >= sickFactor * trigger) return [sick(message, advice, vacuumedAt)];
    if (dead >= warningFactor * trigger && !recently) return [warning(message, advice, vacuumedAt)];
    return [];
  });
  if (judged.length > 0) return judged;
  const [most] = tables;
  return [ok(`the most in one table: ${count(most?.dead ?? 0)}`)];
}

/** Postgres stops taking changes shortly before two thousand million. */
export async function checkTransactionIds(session: Session): Promise<Judgement[]> {
  const [row] = await session.query<{ used: number }>(
    `select greatest(age(d.datfrozenxid), mxid_age(d.datminmxid))::float8 as used from pg_database d where d.datname = current_database()`,
  );
  const used = row?.used ?? 0;
  const message = `${count(used)} of 2,000,000,000 transaction ids are used`;
  const advice =
    'Something keeps Postgres from freezing rows: see transactions, prepared and slots, then vacuum.';
  if (used > 1_500_000_000) return [sick(`${message}: soon Postgres accepts no changes.`, advice)];
  if (used > 800_000_000) return [warning(`${message}.`, advice)];
  return [ok(message)];
}
