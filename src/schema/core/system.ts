/** The installation: which servers run, and what the doctor finds. It belongs to no tenant. */

import type { Finding as FindingState } from '../../doctor/finding.ts';
import { type RunningServer, readServers } from '../../domain/figures/servers.ts';
import { TransportEnum } from '../access/viewer.ts';
import { builder } from './builder.ts';

const Running = builder.objectRef<RunningServer>('RunningServer').implement({
  description: 'A server that uses the database, or one of the processes of `jobtree start --processes`.',
  fields: (t) => ({
    host: t.exposeString('host', {
      description: 'The name of its machine or container: at least the first 20 characters of it.',
    }),
    process: t.exposeInt('process', { description: 'The id of its process on that machine.' }),
    version: t.exposeString('version', { description: 'The version of jobtree that it runs.' }),
    transport: t.expose('transport', {
      type: TransportEnum,
      description: 'What carries events to it. With Redis configured, NOTIFY means that Redis is away.',
    }),
    connectedAt: t.expose('connectedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when it has been connected to Postgres without a break: since its start, or since Postgres was last away. Null if it uses another role of Postgres, whose sessions this server may not look at.',
    }),
    seenAt: t.expose('seenAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When Postgres last heard from it, which it does twice a second. Null under the same condition.',
    }),
  }),
});

builder.queryField('servers', (t) =>
  t.field({
    authScopes: { may: 'inspect' },
    type: [Running],
    complexity: { multiplier: 100 },
    description:
      'The servers that are connected to the database, by host and process: up to 1,000. A server that ends is gone at once; one that hangs, after eight seconds.',
    resolve: (_, __, { engine }) => readServers(engine.database),
  }),
);

const Status = builder.enumType('FindingStatus', {
  description: 'How bad it is.',
  values: {
    SICK: { value: 'sick', description: 'Something is lost, late or stuck, or soon will be.' },
    WARNING: {
      value: 'warning',
      description: 'It works now, but may not for long, or could work better.',
    },
    OK: { value: 'ok', description: 'This was checked, and is well.' },
  } as const,
});

const Finding = builder.objectRef<FindingState>('Finding').implement({
  description: 'What a check of the doctor found.',
  fields: (t) => ({
    check: t.exposeString('check', {
      description:
        'What was looked at: one of the names in the documentation of `jobtree doctor`, which stay the same.',
    }),
    status: t.expose('status', { type: Status, description: 'How bad it is.' }),
    message: t.exposeString('message', { description: 'A sentence about it, for people. It may change.' }),
    since: t.expose('since', {
      type: 'DateTime',
      nullable: true,
      description: 'When it began, on the clock of Postgres. Null if that is not known.',
    }),
    advice: t.exposeString('advice', {
      nullable: true,
      description: 'What to do, with commands and SQL between backticks. Null if all is well.',
    }),
  }),
});

builder.queryField('findings', (t) =>
  t.field({
    authScopes: { may: 'inspect' },
    type: [Finding],
    complexity: { multiplier: 100 },
    description:
      'What `jobtree doctor` would find, as far as a server can look: up to 200 findings, the worst first. The server looks at most every ten seconds, however many ask; what it says is up to 30 seconds old, and may take that long the first time. `folds` and `keys` need two looks, so the first answer lacks them.',
    resolve: async (_, __, { examiner }) => (await examiner.read()).slice(0, 200),
  }),
);
