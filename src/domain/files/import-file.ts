import type { Statement } from '../../db/database.ts';
import { JobFedByParentError } from '../../errors.ts';
import { checkRoom, type Engine } from '../engine/engine.ts';
import { toCheckedText } from '../values/checks.ts';
import { checkFile, type NewFile } from './file-options.ts';

const addFile: Statement = {
  name: 'import_file',
  text: `select j.root_id, jobtree.add_file(j.id, j.type, $2::jsonb) from jobtree.lock_open_job($1, false) j where j.feed is null`,
};

/** Has servers add the rows of an upload to a job that exists, behind what it has, and seal the job at the end of the file. */
export async function importFile(engine: Engine, jobId: string, file: NewFile): Promise<void> {
  const text = toCheckedText(checkFile(file, 'file'));
  // Only the import learns how much a file holds.
  await checkRoom(engine, { items: 1, bytes: 1 });
  const [row] = await engine.database.call<{ root_id: string }>(addFile, jobId, text);
  if (row === undefined)
    throw new JobFedByParentError(`Job ${jobId} is fed by its parent, which seals it.`, 'jobId');
  engine.effects.touched(row.root_id);
  engine.effects.importable();
}
