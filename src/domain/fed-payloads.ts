/**
 * What mappings would make of results for jobs of types with schemas: a result that makes a payload which breaks one can't be taken, like one
 * from which a mapping can make nothing at all. The mapping is applied by the database, which has the payload that it may take parts of.
 */
import { InvalidInputError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { splitAssignmentId } from './item-state.ts';
import type { PreparedReport } from './merged.ts';
import type { Checked } from './type-schemas.ts';

interface FedRow {
  /** Which of the reports, from 1. */
  n: number;
  type: string | null;
  payload: string | null;
}

/** Where a report has what came out. */
export const successField = (report: number): string => `reports[${report}].outcome.success`;

/** Of which reports something that they feed meets no schema, and what is wrong with it. */
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
  return new InvalidInputError(`${field} would feed a new item that can't be: ${message}`, field);
}
