/** Who asks, and what that lets them do: a page shows only what its reader may use. */
import { type Caller, type Permission, permissions } from '../../domain/access/rights.ts';
import { beginningOf } from '../../domain/values/tenants.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import type { ServerState } from '../core/services.ts';
import { Role } from './api-keys.ts';

const PermissionEnum = builder.enumType('Permission', {
  description: 'What a root field of the API requires of a caller.',
  values: Object.fromEntries(
    (Object.keys(permissions) as Permission[]).map((permission) => [
      permission.toUpperCase(),
      { value: permission, description: `Allows ${permissions[permission].meaning}.` },
    ]),
  ) as Record<Uppercase<Permission>, { value: Permission; description: string }>,
});

const Viewer = builder.objectRef<Caller>('Viewer').implement({
  description: 'The caller.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description:
        'Its name for people, as in the audit: that of a key or a user; `anybody` without authentication.',
    }),
    tenant: t.string({
      nullable: true,
      description: 'The tenant that it belongs to; null if it belongs to none, and sees all tenants.',
      resolve: ({ tenant }) => tenant,
    }),
    roles: t.field({
      type: [Role],
      description: 'Its roles: up to 5.',
      resolve: ({ roles }) => [...roles],
    }),
    permissions: t.field({
      type: [PermissionEnum],
      description: 'What its roles allow within its scope: up to 13.',
      resolve: (caller) => [...caller.permissions],
    }),
    types: t.stringList({
      nullable: true,
      description:
        'The types of jobs to which its scope limits it, up to 100: names, or beginnings of names followed by `*`. Null for all.',
      resolve: ({ tenant, types }) => {
        const shown = types?.map((type) => (tenant === null ? type : type.slice(beginningOf(tenant).length)));
        // Everything of its tenant is no limit.
        return shown === undefined || shown.includes('*') ? null : shown;
      },
    }),
    rootIds: t.idList({
      nullable: true,
      description: 'The roots of the trees to which its scope limits it, up to 100. Null for all.',
      resolve: ({ rootIds }) => rootIds?.map((id) => encodeGlobalId('Job', id)) ?? null,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When its key or token expires, after which requests with it are refused. Null if that does not happen by itself.',
      resolve: (caller, _, { endOf }) => endOf(caller),
    }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    authScopes: { may: 'call' },
    type: Viewer,
    description: 'Who asks: the key, user or token of this request.',
    resolve: (_, __, { caller }) => caller,
  }),
);

const SignInWay = builder.enumType('SignInWay', {
  description: 'How callers show who they are.',
  values: {
    KEYS: { value: 'keys', description: 'By an API key.' },
    JWT: { value: 'jwt', description: 'By a JSON Web Token of an issuer.' },
    PROXY: { value: 'proxy', description: 'By headers of a proxy that has authenticated them.' },
  } as const,
});

export const TransportEnum = builder.enumType('Transport', {
  description: 'What carries events between servers.',
  values: {
    NOTIFY: { value: 'notify', description: 'NOTIFY of Postgres.' },
    REDIS: { value: 'redis', description: 'Redis.' },
  } as const,
});

const Server = builder.objectRef<ServerState>('Server').implement({
  description: 'The server that answers. Others of the same database may be set differently.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'The version of jobtree that it runs.' }),
    signIn: t.field({
      type: [SignInWay],
      description: 'How callers show who they are (JOBTREE_AUTH): up to 3. Empty if nobody has to.',
      resolve: ({ signIn }) => [...signIn],
    }),
    transport: t.field({
      type: TransportEnum,
      description: 'What carries events to it now. While Redis is away, that is NOTIFY.',
      resolve: ({ transport }) => transport,
    }),
    maxRequestBytes: t.expose('maxRequestBytes', {
      type: 'Count',
      description: 'The largest request over HTTP or WebSocket, in bytes.',
    }),
    maxJsonBytes: t.expose('maxJsonBytes', {
      type: 'Count',
      description: 'The largest payload or result, in bytes of its JSON text.',
    }),
    maxUploadBytes: t.expose('maxUploadBytes', {
      type: 'Count',
      description: 'The largest file that can be uploaded, in bytes.',
    }),
  }),
});

builder.queryField('server', (t) =>
  t.field({
    authScopes: { may: 'call' },
    type: Server,
    description: 'The server that answers: its version, how callers sign in, and its limits.',
    resolve: (_, __, { server }) => server,
  }),
);
