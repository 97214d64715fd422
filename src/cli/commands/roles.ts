/** `jobtree roles`: the SQL of the roles that may do one thing each, printed or run. */
import { readFile } from 'node:fs/promises';
import { readConfig } from '../../config.ts';
import { applyRoles, ROLES_FILE } from '../../db/migrate.ts';
import { openDatabase } from '../database.ts';
import { exitCodes } from '../exit-codes.ts';

export async function roles({ apply }: { readonly apply?: true }): Promise<number> {
  if (!apply) {
    process.stdout.write(await readFile(ROLES_FILE, 'utf8'));
    return exitCodes.success;
  }
  const config = readConfig(process.env);
  const database = await openDatabase(config);
  try {
    await applyRoles(config.directDatabaseUrl ?? database.url);
  } finally {
    await database.stop();
  }
  process.stdout.write('jobtree_enqueue, jobtree_work and jobtree_watch have their rights.\n');
  return exitCodes.success;
}
