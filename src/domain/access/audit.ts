/**
 * The audit: who did something that is restricted or irreversible, to what, when, from where, and with which outcome. Entries go
 * into an append-only table and into the log.
 *
 * An action that succeeds and its entry are written in one statement, so neither exists without the other. A refused action, or
 * one that changed nothing, is noted afterwards. The number of refusals that are kept per caller is limited.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { AuditRow, Queries } from '../../db/database.ts';
import { type Old, prune } from '../../db/prune.ts';
import { asRefusal } from '../../db/sqlstate.ts';
import { type ErrorCode, JobtreeError } from '../../errors.ts';
import { checkInstant, checkText } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { firstUuid, type Range } from '../values/range.ts';
import { toStored } from '../values/tenants.ts';

export type Act = Omit<AuditRow, 'id' | 'outcome'>;

export interface AuditEntry extends AuditRow {
  readonly at: Date;
}

const maxSubjects = 20;
const maxTextLength = 300;
/** The most refusals of one caller that one server keeps; the log says how many more there were. */
const refusalsPerMinute = 60;
const minuteMs = 60_000;

export class Audit {
  readonly #logger: Logger;
  readonly #refusals = new LRUCache<string, { kept: number; beyond: number; until: number }>({ max: 1_000 });

  constructor({ logger }: { logger: Logger }) {
    this.#logger = logger;
  }

  /**
   * Does something and notes it. The first that `use` calls, if that does anything, writes the entry in the same statement. For results that
   * report a refusal instead of throwing it, `refusalOf` returns the code. With `onlyRefusal`, success is not noted.
   */
  async run<T>(
    database: Queries,
    act: Act,
    use: (database: Queries) => T | Promise<T>,
    refusalOf: (result: T) => ErrorCode | undefined = () => undefined,
    onlyRefusal = false,
  ): Promise<T> {
    const entry = { ...bounded(act), id: randomUUID() };
    let isNoted = false;
    const carrying: Queries = {
      prisma: database.prisma,
      pool: database.pool,
      surveys: database.surveys,
      callForLeases: (what, ...values) => database.callForLeases(what, ...values),
      callAudited: (other, what, ...values) => database.callAudited(other, what, ...values),
      audit: (other) => database.audit(other),
      call: async (what, ...values) => {
        if (isNoted) return database.call(what, ...values);
        const rows = await database.callAudited({ ...entry, outcome: 'OK' }, what, ...values);
        isNoted = typeof what === 'string' || rows.length > 0;
        return rows as never;
      },
    };
    let outcome = 'INTERNAL';
    try {
      const result = await use(carrying);
      outcome = refusalOf(result) ?? 'OK';
      return result;
    } catch (error) {
      const cause = asRefusal(error);
      if (cause instanceof JobtreeError) outcome = cause.code;
      throw error;
    } finally {
      if (isNoted) this.#tell({ ...entry, outcome: 'OK' });
      else if (outcome === 'OK' ? !onlyRefusal : this.#hasRoom(entry.actor))
        await this.#note(database, { ...entry, outcome });
    }
  }

  async #note(database: Queries, entry: AuditRow): Promise<void> {
    this.#tell(entry);
    try {
      await database.audit(entry);
    } catch (error) {
      this.#logger.warn({ err: error, id: entry.id }, 'an audit entry is only in the log');
    }
  }

  #tell(entry: AuditRow): void {
    this.#logger.info({ audit: entry }, 'audit');
  }

  #hasRoom(actor: string): boolean {
    const now = performance.now();
    let spent = this.#refusals.get(actor);
    if (spent === undefined || now > spent.until) {
      if (spent !== undefined && spent.beyond > 0)
        this.#logger.warn(
          { actor, times: spent.beyond },
          "more of a caller's requests were refused than the audit keeps",
        );
      spent = { kept: 0, beyond: 0, until: now + minuteMs };
      this.#refusals.set(actor, spent);
    }
    if (spent.kept >= refusalsPerMinute) {
      spent.beyond++;
      return false;
    }
    spent.kept++;
    return true;
  }
}

function bounded({ actor, tenant, action, subjects, address }: Act): Act {
  const shown = subjects.slice(0, maxSubjects).map(toText);
  const more = subjects.length - shown.length;
  return {
    actor: toText(actor),
    tenant,
    action,
    subjects: more > 0 ? [...shown, `and ${more} more`] : shown,
    address: toText(address),
  };
}

/** Text from a caller may contain anything, and entries are also read in terminals. */
function toText(text: string): string {
  const cut = text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
  return cut.toWellFormed().replaceAll(/\p{Cc}/gu, '\ufffd');
}

export interface AuditFilter {
  /** A part of the actor's name. */
  readonly actor?: string | null | undefined;
  readonly action?: string | null | undefined;
  readonly subject?: string | null | undefined;
  readonly since?: Date | null | undefined;
  readonly until?: Date | null | undefined;
}

export interface AuditKey {
  readonly at: Date;
  readonly id: string;
}

const firstKey: AuditKey = { at: new Date(0), id: firstUuid };
const last: AuditKey = { at: new Date(253_402_300_799_000), id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/** A page of the audit, newest first; from the end if `backwards`. For a tenant, only the actions of its callers. */
export async function listAudit(
  database: Queries,
  tenant: string | null,
  { actor, action, subject, since, until }: AuditFilter,
  { after = last, before = firstKey, take, backwards }: Range<AuditKey>,
): Promise<AuditEntry[]> {
  const values: unknown[] = [after.at, after.id, before.at, before.id, take];
  // All columns of the index that has this order, so that the planner finds no other index as good.
  const [key, place] = tenant === null ? ['', ''] : ['tenant, ', `$${values.push(tenant)}, `];
  const also = [
    ...(tenant === null ? [] : ['tenant = $6']),
    ...(actor == null
      ? []
      : [`strpos(actor, $${values.push(checkText(actor, 'filter.actor', maxNameLength))}) > 0`]),
    ...(action == null
      ? []
      : [`action = $${values.push(checkText(action, 'filter.action', maxNameLength))}`]),
    ...(subject == null
      ? []
      : [
          `subjects && $${values.push(storedSubjects(tenant, checkText(subject, 'filter.subject', maxNameLength)))}`,
        ]),
    ...(since == null ? [] : [`at >= $${values.push(checkInstant(since, 'filter.since'))}`]),
    ...(until == null ? [] : [`at < $${values.push(checkInstant(until, 'filter.until'))}`]),
  ];
  const direction = backwards ? 'asc' : 'desc';
  const given = [tenant, actor, action, subject, since, until]
    .map((value) => (value == null ? 0 : 1))
    .join('');
  const { rows } = await database.pool.query<AuditEntry>({
    name: `list_audit/${given}/${direction}`,
    text: `select id, at, actor, action, subjects, address, outcome from jobtree.audit_entry
           where (${key}at, id) < (${place}$1::timestamptz, $2::uuid) and (${key}at, id) > (${place}$3::timestamptz, $4::uuid)
             ${also.map((condition) => `and ${condition}`).join(' ')}
           order by ${key && `tenant ${direction}, `}at ${direction}, id ${direction} limit $5`,
    values,
  });
  return rows;
}

/** A subject may be stored as a word for its kind followed by its name, which has the tenant's prefix. */
function storedSubjects(tenant: string | null, subject: string): string[] {
  return [subject, subject.replace(/^\w+ /, (word) => word + toStored(tenant, ''))];
}

const pruneBatch = 1_000;

/** The trigger of the table lets this pass, except for entries younger than a day. */
export const oldEntries: Old = {
  table: 'audit_entry',
  where: `at < now() - greatest($2::bigint, 86400) * interval '1 second' and set_config('jobtree.prunes_audit', 'on', true) = 'on'`,
  orderBy: 'at',
};

/** Deletes a batch of older entries. Returns whether there may be more. */
export const pruneAudit = (database: Pick<Queries, 'call'>, keepSeconds: number): Promise<boolean> =>
  prune(database, oldEntries, pruneBatch, keepSeconds);
