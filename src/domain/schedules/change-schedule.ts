import type { Statement } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';

/** Changes the schedule `$1`. @throws NotFoundError if the statement returns no row */
export async function changeSchedule(
  { database }: Engine,
  what: Statement,
  name: string,
  ...values: readonly unknown[]
): Promise<void> {
  const [row] = await database.call(what, checkName(name, 'name', maxNameLength), ...values);
  if (row === undefined) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
}
