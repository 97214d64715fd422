/** Whether the database has the tables and functions of this version. */
import { pendingMigrations } from '../db/migrate.ts';
import { MigrationError } from '../db/migration-books.ts';
import { counted } from '../domain/values/counted.ts';
import { type Judgement, ok, sick } from './finding.ts';
import type { Session } from './session.ts';

export async function checkMigrations(session: Session): Promise<Judgement[]> {
  try {
    const { pending, applied } = await session.use((client) => pendingMigrations(client));
    if (pending.length === 0) return [ok(`all ${counted(applied, 'migration')} of this version are applied`)];
    return [
      sick(
        `${counted(pending.length, 'migration')} of this version ${pending.length === 1 ? 'is' : 'are'} missing: ${pending.join(', ')}.`,
        'Run `jobtree migrate`, or start a server of this version.',
      ),
    ];
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return [sick(error.message, 'Use the version of jobtree that the database belongs to.')];
  }
}
