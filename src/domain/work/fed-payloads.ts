/**
 * Checks what the mappings of fed jobs would make of results, if the fed types have schemas: a result is refused if a payload
 * made from it violates a schema, just as if a mapping can't be applied to it at all. The database applies the mappings, since
 * they may use parts of payloads that it stores.
 */
import { InvalidInputError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { PreparedReport } from '../engine/merged.ts';
import type { Checked } from '../types/type-schemas.ts';
import { splitAssignmentId } from '../values/ids.ts';

interface FedRow {
  /** The number of the report, from 1. */
  n: number;
  type: string | null;
  payload: string | null;
}

/** The field of a report's success. */
export const successField = (report: number): string => `reports[${report}].outcome.success`;

/** The reports that would feed a payload that violates its schema, each with the problem. */
export async function judgeFed(
  engine: Engine,
  reports: ReadonlyMap<number, PreparedReport>,
): Promise<[number, InvalidInputError][]> {
  const { schemas } = engine;
  const results = [...reports].flatMap(([report, { kind, assignmentId, text }]) =>
    kind === 'failure' ? [] : [{ report, text, ...splitAssignmentId(assignmentId) }],
  );
  const fed = await schemas.fedTypesOfLeases(results.map(({ leaseId }) => leaseId));
  const types = new Set([...fed.values()].flat().filter((type) => schemas.has('payload', type)));
  const feeding = results.filter(({ leaseId }) => fed.get(leaseId)?.some((type) => types.has(type)));
  const refused: [number, InvalidInputError][] = [];
  for (let from = 1; from <= feeding.length; ) {
    const rows = await engine.database.call<FedRow>(
      'fed_payloads',
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
