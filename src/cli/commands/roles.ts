/** `jobtree roles`: the SQL of the roles that may do one thing each, printed or run. */
import { readFile } from 'node:fs/promises';
import { readConfig } from '../../config/config.ts';
import { applyRoles, rolesFile } from '../../db/migrate.ts';
import { auditCommand } from '../audit.ts';
import { CommandError } from '../command-error.ts';
import { openDatabase } from '../database.ts';
import { exitCodes } from '../exit-codes.ts';
import { printText } from '../output.ts';
import { withQueries } from '../queries.ts';

const insufficientPrivilege = '42501';
const invalidSchemaName = '3F000';
const names = ['jobtree_enqueue', 'jobtree_work', 'jobtree_watch'];

export async function roles({ apply }: { readonly apply?: true }): Promise<number> {
  if (!apply) {
    process.stdout.write(await readFile(rolesFile, 'utf8'));
    return exitCodes.success;
  }
  const config = readConfig(process.env);
  const database = await openDatabase(config, { create: false });
  try {
    const act = { action: 'applyRoles', subjects: names.map((name) => `role ${name}`) };
    await withQueries(config, database.url, (queries) =>
      auditCommand(queries, act, () => applyRoles(config.directDatabaseUrl ?? database.url)),
    );
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string };
    if (code === insufficientPrivilege)
      throw new CommandError(
        exitCodes.failure,
        `${message}. Only the owner of the schema can run this, with the right to create roles (\`alter role … createrole\`). Or let a superuser run the SQL in this database: \`jobtree roles\` prints it.`,
      );
    if (code !== invalidSchemaName) throw error;
    throw new CommandError(
      exitCodes.failure,
      'The database has no jobtree tables: run `jobtree migrate` first.',
    );
  } finally {
    await database.stop();
  }
  printText(`Granted rights to ${names.join(', ')}.\n`);
  return exitCodes.success;
}
