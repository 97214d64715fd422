import { type AuditKey, type AuditEntry as EntryState, listAudit } from '../domain/audit.ts';
import { isId } from '../domain/checks.ts';
import { builder } from './builder.ts';
import { encodeGlobalId } from './global-id.ts';
import { type ListOrder, pageSize, readPage } from './pages.ts';

const AuditEntry = builder.objectRef<EntryState>('AuditEntry').implement({
  description:
    'Something that only some may do, or that can’t be undone, and that somebody did or tried. Nobody can change it.',
  fields: (t) => ({
    id: t.id({
      description: 'The id of the attempt: `AuditEntry:` and a UUID, which the line in the log has too.',
      resolve: ({ id }) => encodeGlobalId('AuditEntry', id),
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When, by the clock of Postgres.' }),
    actor: t.exposeString('actor', {
      description:
        'Who: `key`, its name and its id; `token` and its subject; `user` and what the proxy says; `anybody` where nobody is asked; or the command line and its user.',
    }),
    action: t.exposeString('action', {
      description: 'What: the name of the mutation, or of the command.',
    }),
    subjects: t.stringList({
      description: 'To what: ids, names and settings, up to 20. Never a payload or a secret.',
      resolve: ({ subjects }) => [...subjects],
    }),
    address: t.exposeString('address', {
      description:
        'From where: the address, as the proxies that are trusted have it; of the command line its host.',
    }),
    outcome: t.exposeString('outcome', {
      description:
        'What came of it: OK, or the code of the error. With OUTCOME_UNKNOWN and INTERNAL it may have been done.',
    }),
  }),
});

const AuditFilter = builder.inputType('AuditFilter', {
  description: 'Which entries a list shows; all conditions hold together.',
  fields: (t) => ({
    actor: t.string({
      description: 'Only by whom this text is part of the name: a name, or the id of a key.',
    }),
    action: t.string({ description: 'Only this mutation or command.' }),
    subject: t.string({ description: 'Only what has this among its subjects, such as the id of a job.' }),
    since: t.field({ type: 'DateTime', description: 'Only what was done at this time or later.' }),
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
        'What was done, and refused, that only some may do or that can’t be undone: the newest first. Callers of a tenant see what callers of it did.',
      args: { filter: t.arg({ type: AuditFilter, description: 'Which; all by default.' }) },
      resolve: (_, { filter, ...args }, { engine, caller }) =>
        readPage(
          byTime,
          args,
          (range) => listAudit(engine.database, caller.tenant, filter ?? {}, range),
          (rows) => rows,
        ),
    },
    { name: 'AuditEntryConnection', description: 'A page of the audit.' },
    { name: 'AuditEntryEdge', description: 'An entry in a page.' },
  ),
);
