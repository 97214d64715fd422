import { checkRoom, type Engine } from '../engine/engine.ts';
import { toCheckedText } from '../values/checks.ts';
import { checkFile, type NewFile } from './file-options.ts';

/** Has servers add the rows of an upload to a job that exists, and seal the job at the end of the file. */
export async function importFile(engine: Engine, jobId: string, file: NewFile): Promise<void> {
  const text = toCheckedText(checkFile(file, 'file'));
  // Only the import learns how much a file holds.
  await checkRoom(engine, { items: 1, bytes: 1 });
  const [row] = await engine.database.call<{ import_file: string }>('import_file', jobId, text);
  if (row === undefined) throw new Error('import_file returned no row');
  engine.effects.touched(row.import_file);
  engine.effects.importable();
}
