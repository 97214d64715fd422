/** Checks well-formed rows against the schemas of their type: rows that violate them become failed items, as unreadable lines do. */
import type { Engine } from '../domain/engine/engine.ts';
import type { Row } from '../domain/files/file-imports.ts';

export async function checkRows(
  { schemas }: Engine,
  type: string,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  if (rows.length === 0 || !(await schemas.any('payload')) || !schemas.has('payload', type)) return rows;
  const good = rows.filter(({ problem }) => problem === undefined);
  const problems = await schemas.check(
    'payload',
    good.map(({ payload }) => ({
      type,
      field: 'payload',
      value: JSON.parse(payload),
      length: payload.length,
    })),
    // The rows come from a file, so the limits of a call do not apply.
    Number.POSITIVE_INFINITY,
  );
  const found = new Map(good.map((row, i) => [row, problems[i]]));
  return rows.map((row) => {
    const problem = found.get(row);
    if (problem === undefined) return row;
    return { ...row, code: 'INVALID_PAYLOAD', problem: problem.message };
  });
}
