/** Rows that are fine by themselves, by the schemas of their type: those that break them become failed items, as bad lines do. */
import type { Engine } from '../domain/engine.ts';
import type { Row } from '../domain/file-imports.ts';

export async function checkRows(
  { schemas }: Engine,
  jobId: string,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  if (rows.length === 0 || !(await schemas.any('payload'))) return rows;
  const type = (await schemas.typesOfJobs([jobId])).get(jobId);
  if (type === undefined || !schemas.has('payload', type)) return rows;
  const good = rows.filter(({ problem }) => problem === undefined);
  const problems = await schemas.check(
    'payload',
    good.map(({ payload }) => ({
      type,
      field: 'payload',
      value: JSON.parse(payload),
      length: payload.length,
    })),
    // They come from a file, of which a call is no measure.
    Number.POSITIVE_INFINITY,
  );
  const found = new Map(good.map((row, i) => [row, problems[i]]));
  return rows.map((row) => {
    const problem = found.get(row);
    if (problem === undefined) return row;
    return { ...row, code: 'INVALID_PAYLOAD', problem: problem.message };
  });
}
