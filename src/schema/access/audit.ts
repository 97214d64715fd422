import { type AuditKey, type AuditEntry as EntryState, listAudit } from '../../domain/access/audit.ts';
import { isId } from '../../domain/values/checks.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { type ListOrder, pageSize, readPage } from '../core/pages.ts';

const AuditEntry = builder.objectRef<EntryState>('AuditEntry').implement({
  description:
    'An administrative or irreversible action that somebody took or attempted. Nobody can change the entry.',
  fields: (t) => ({
    id: t.id({
      description: 'The id of the attempt: `AuditEntry:` and a UUID, which its line in the log has, too.',
      resolve: ({ id }) => encodeGlobalId('AuditEntry', id),
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When, by the clock of Postgres.' }),
    actor: t.exposeString('actor', {
      description:
        "Who: `key` with its name and id; `token` with its subject; `user` with the proxy's name for it; `anybody` without authentication; or the command line with its user.",
    }),
    action: t.exposeString('action', {
      description: 'The action: the name of the mutation or command.',
    }),
    subjects: t.stringList({
      description:
        'What the action was about: ids, names and settings, up to 20. Never a payload or a secret.',
      resolve: ({ subjects }) => [...subjects],
    }),
    address: t.exposeString('address', {
      description: 'From where: the address, as reported by trusted proxies; for the command line, its host.',
    }),
    outcome: t.exposeString('outcome', {
      description:
        'The outcome: OK, or the code of the error. With OUTCOME_UNKNOWN and INTERNAL the action may have been carried out.',
    }),
  }),
});

const AuditFilter = builder.inputType('AuditFilter', {
  description: 'Which entries to list; all conditions must be met.',
  fields: (t) => ({
    actor: t.string({
      description: 'Only actions by callers with this text in their name: a name, or the id of a key.',
    }),
    action: t.string({ description: 'Only this mutation or command.' }),
    subject: t.string({
      description: 'Only entries that have this among their subjects, such as the id of a job.',
    }),
    since: t.field({ type: 'DateTime', description: 'Only actions at this time or later.' }),
    until: t.field({ type: 'DateTime', description: 'Only actions before this time.' }),
  }),
});

const byTime: ListOrder<EntryState, AuditKey> = {
  name: 'audit',
  keyOf: ({ at, id }) => `${at.toISOString()} ${id}`,
  parse: (text) => {
    const [time = '', id = ''] = text.split(' ');
    const at = new Date(time);
    return isId(id) && !Number.isNaN(at.getTime()) ? { at, id } : undefined;
  },
};

builder.queryField('auditEntries', (t) =>
  t.connection(
    {
      authScopes: { may: 'administer' },
      type: AuditEntry,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description:
        'Administrative and irreversible actions, including refused ones, the newest first. Callers of a tenant see what callers of that tenant did.',
      args: { filter: t.arg({ type: AuditFilter, description: 'Which; all by default.' }) },
      resolve: (_, { filter, ...args }, context) =>
        readPage(
          byTime,
          args,
          (range) => listAudit(context.engine.database, context.caller.tenant, filter ?? {}, range),
          (rows) => rows,
        ),
    },
    { name: 'AuditEntryConnection', description: 'A page of the audit.' },
    { name: 'AuditEntryEdge', description: 'An entry in a page.' },
  ),
);
