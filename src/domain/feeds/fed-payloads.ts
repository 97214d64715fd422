/**
 * Checks what the mappings of fed jobs would make of results, if the fed types have schemas: a result is refused if a payload
 * made from it violates a schema, just as if a mapping can't be applied to it at all. The database applies the mappings, since
 * they may use parts of payloads that it stores.
 */
import type { Statement } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { PreparedReport } from '../engine/batchers.ts';
import type { Engine } from '../engine/engine.ts';
import type { Checked } from '../types/type-schemas.ts';
import { splitAssignmentId } from '../values/ids.ts';

interface FedRow {
  /** The number of the report, from 1. */
  n: number;
  type: string | null;
  payload: string | null;
}

/**
 * The payloads of the types ($1) that the reports (leases $2, numbers $3, results $4) would create, from report $5 on until there are about 4 MB,
 * without those that a report may not create at all (feed_problem). The last row has no type, and the number of the last report examined.
 */
const fedPayloads: Statement = {
  name: 'fed_payloads',
  first: `made as materialized (
    select u.n, c.type, c.feed, i.payload, u.result, z.items <= 1000 and z.bytes <= 20e6 as is_possible,
      sum(case when z.items <= 1000 and z.bytes <= 20e6 then z.bytes else 0 end) over (order by u.n) as total
    from rows from (unnest($2::uuid[]), unnest($3::integer[]), json_array_elements($4::json)) with ordinality u(lease_id, number, result, n)
    cross join lateral (select l.job_id, l.position from jobtree.lease l where l.id = u.lease_id limit 1) l
    cross join lateral (
      select i.payload from jobtree.job_item i where i.job_id = l.job_id and i.position = l.position + u.number - 1 limit 1
    ) i
    join jobtree.job c on c.parent_id = l.job_id and c.feed ->> 'source' = 'SUCCESSES' and c.type = any ($1::text[]) and c.cancelled_at is null
    cross join lateral jobtree.feed_size(c.feed, i.payload, u.result) z
    where u.n >= $5::integer
  ), looked as materialized (
    select m.*, m.total <= 4e6 or m.n = min(m.n) over () as is_looked from made m
  )`,
  text: `select k.n::integer, k.type, f.payload::text
    from looked k
    cross join lateral jobtree.feed_items(k.feed, k.payload, k.result) f
    where case when k.is_looked and k.is_possible then not exists (select from jobtree.feed_gap(k.feed, k.payload, k.result)) end
    union all
    select coalesce(min(k.n) - 1, cardinality($2::uuid[]))::integer, null, null from looked k where not k.is_looked`,
};

/** The field of a report's success. */
export const successField = (report: number): string => `reports[${report}].outcome.success`;

/** The reports that would feed a payload that violates its schema, each with the problem. */
export async function judgeFed(
  engine: Engine,
  reports: ReadonlyMap<number, PreparedReport>,
): Promise<[number, InvalidInputError][]> {
  const { schemas } = engine;
  const results = [...reports].flatMap(([report, { kind, assignmentId, text }]) =>
    kind === 'result' ? [{ report, text, ...splitAssignmentId(assignmentId) }] : [],
  );
  const fed = await schemas.fedTypesOfLeases(results.map(({ leaseId }) => leaseId));
  const types = new Set([...fed.values()].flat().filter((type) => schemas.has('payload', type)));
  const feeding = results.filter(({ leaseId }) => fed.get(leaseId)?.some((type) => types.has(type)));
  const refused: [number, InvalidInputError][] = [];
  for (let from = 1; from <= feeding.length; ) {
    const rows = await engine.database.call<FedRow>(
      fedPayloads,
      [...types],
      feeding.map(({ leaseId }) => leaseId),
      feeding.map(({ number }) => number),
      `[${feeding.map(({ text }) => text).join(',')}]`,
      from,
    );
    for (const [n, values] of byReport(rows)) {
      const report = feeding[n - 1]?.report as number;
      const problem = await firstProblem(engine, values);
      if (problem !== undefined) refused.push([report, toRefusal(problem, report)]);
    }
    from = (rows.at(-1)?.n ?? feeding.length) + 1;
  }
  return refused;
}

function byReport(rows: readonly FedRow[]): Map<number, Checked[]> {
  const values = new Map<number, Checked[]>();
  for (const { n, type, payload } of rows) {
    if (type === null || payload === null) continue;
    const ofReport = values.get(n) ?? [];
    values.set(n, ofReport);
    ofReport.push({ type, field: 'payload', value: JSON.parse(payload), length: payload.length });
  }
  return values;
}

async function firstProblem(
  { schemas }: Engine,
  values: readonly Checked[],
): Promise<InvalidInputError | undefined> {
  try {
    return (await schemas.check('payload', values)).find((problem) => problem !== undefined);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
}

function toRefusal({ message }: InvalidInputError, report: number): InvalidInputError {
  const field = `${successField(report)}.result`;
  return new InvalidInputError(`${field} would feed an invalid item: ${message}`, field);
}
