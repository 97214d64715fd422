/** `jobtree audit`: who did what that only some may do. */
import type { AuditEntry } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { print } from '../output.ts';
import { Table } from '../table.ts';

export interface AuditOptions extends ApiOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly subject?: string;
  readonly since?: Date;
  readonly limit: number;
}

const columns = [
  { title: 'AT' },
  { title: 'OUTCOME' },
  { title: 'ACTION' },
  { title: 'ACTOR' },
  { title: 'ADDRESS' },
  { title: 'SUBJECTS' },
] as const;

export async function listAudit(options: AuditOptions): Promise<number> {
  const { actor, action, subject, since, json } = options;
  const filter = { actor, action, subject, since: since?.toISOString() };
  const entries = await withClient(options, async (client) => {
    const all: AuditEntry[] = [];
    for (let after: string | undefined; ; ) {
      const page = await client.auditEntries({
        first: Math.min(options.limit - all.length, 1_000),
        after,
        filter,
      });
      all.push(...page.nodes);
      if (!page.hasNextPage || all.length >= options.limit) return all;
      after = page.endCursor ?? undefined;
    }
  });
  if (json) for (const entry of entries) print(`${JSON.stringify(entry)}\n`);
  else new Table(columns, 'There are no such entries.').print(entries.map(toCells));
  return exitCodes.success;
}

function toCells({ at, outcome, action, subjects, actor, address }: AuditEntry): string[] {
  return [at, outcome, action, actor, address, subjects.join(', ')];
}
