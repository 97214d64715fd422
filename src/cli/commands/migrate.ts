/** `jobtree migrate`: brings the database up to this version, without starting a server. */
import { readConfig } from '../../config/config.ts';
import { migrate as applyMigrations } from '../../db/migrate.ts';
import { openDatabase } from '../database.ts';
import { exitCodes } from '../exit-codes.ts';
import { printField } from '../fields.ts';
import { counted } from '../figures.ts';
import { printText } from '../output.ts';

export async function migrate(): Promise<number> {
  const config = readConfig(process.env);
  const database = await openDatabase(config);
  try {
    printField('Postgres', database.description);
    const { applied } = await applyMigrations({
      url: config.directDatabaseUrl ?? database.url,
      onApply: (name) => printText(`Applying ${name}\n`),
      onBlocked: (name) =>
        printText(`${name} is waiting for locks that other sessions hold; trying again.\n`),
    });
    printText(
      applied.length === 0
        ? 'The database is up to date.\n'
        : `Applied ${counted(applied.length, 'migration')}.\n`,
    );
  } finally {
    await database.stop();
  }
  return exitCodes.success;
}
