/** The audit of commands that work on the database itself, where nobody asks who they are. */
import { hostname, userInfo } from 'node:os';
import pino from 'pino';
import type { Queries } from '../db/database.ts';
import { type Act, Audit } from '../domain/access/audit.ts';

export function auditCommand<T>(
  database: Queries,
  act: Pick<Act, 'action' | 'subjects'>,
  use: (database: Queries) => Promise<T>,
): Promise<T> {
  // What a command has to say, it prints.
  const audit = new Audit({ logger: pino({ level: 'silent' }) });
  const actor = `command line, ${userName()}`;
  return audit.run(database, { ...act, actor, tenant: null, address: hostname() }, use);
}

/** Of the system; one that has no name there has a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
