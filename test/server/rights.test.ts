/** The matrix: every root field, for every role and a stranger, over every way to the API; and the routes beside GraphQL. */
import { readFileSync } from 'node:fs';
import { type GraphQLObjectType, getNamedType, isObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createCaller,
  explainRefusal,
  type Permission,
  permissions,
  type Role,
  roles,
} from '../../src/domain/access/rights.ts';
import { schema } from '../../src/schema/index.ts';
import {
  codesOf,
  errorsOverEvents,
  errorsOverHttp,
  errorsOverSocket,
  openSocket,
  post,
} from '../support/answers.ts';
import { permissionOf, toOperation } from '../support/fields.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

type Kind = 'query' | 'mutation' | 'subscription';
interface RootField {
  readonly kind: Kind;
  readonly name: string;
  readonly permission: Permission;
  readonly query: string;
}

const nothing = { job: 'Job:00000000-0000-7000-8000-000000000000' };

const rootTypes = {
  query: schema.getQueryType(),
  mutation: schema.getMutationType(),
  subscription: schema.getSubscriptionType(),
};

const rootFields: RootField[] = Object.entries(rootTypes).flatMap(([kind, type]) =>
  Object.values(type?.getFields() ?? {}).map((field) => ({
    kind: kind as Kind,
    name: field.name,
    permission: permissionOf(field) as Permission,
    query: toOperation([{ type: type as GraphQLObjectType, field }], nothing),
  })),
);

const isAllowed = (role: Role, permission: Permission) =>
  (permissions[permission].roles as readonly Role[]).includes(role);

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });
const keys = {} as Record<Role, string>;

beforeAll(async () => {
  for (const role of roles) keys[role] = (await makeKey(db, [role])).key;
});

describe('the rights', () => {
  it('are stated at every root field', () => {
    expect(
      rootFields.filter(({ permission }) => !(permission in permissions)).map(({ name }) => name),
    ).toEqual([]);
    expect(rootFields.length).toBeGreaterThan(60);
  });

  it('are those of the page on roles', () => {
    const page = readFileSync(new URL('../../docs/tenants.md', import.meta.url), 'utf8');
    for (const [permission, { meaning, roles, scopes }] of Object.entries(permissions)) {
      const row = `| \`${permission}\` | ${meaning} | ${roles.join(', ') || 'watch tokens'} | ${scopes.join(', ') || 'none'} |`;
      expect(page).toContain(row);
    }
  });

  /** Fields that lead to jobs, items and assignments, or tell what not everybody may know, and what keeps them in bounds. */
  const guarded: Record<string, string> = {
    'Query.*': 'rule',
    'Mutation.*': 'rule',
    'Subscription.*': 'rule',
    'Job.root': 'rule',
    'Job.parent': 'rule',
    'Job.children': 'leaves out',
    'Job.tree': 'leaves out',
    'Job.after': 'leaves out',
    'Job.items': 'its own',
    'ItemSearch.nodes': 'of what has a rule',
    'Job.results': 'looks at the tree',
    'JobItem.job': 'rule',
    'JobItem.blockedBy': 'rule',
    'JobItem.parentItem': 'rule',
    'JobItem.childItems': 'rule',
    'JobItem.assignment': 'rule',
    'Assignment.item': 'its own',
    'Assignment.job': 'rule',
    'CallbackDelivery.root': 'rule',
    'JobProgress.job': 'its own',
    'TreeProgress.root': 'looks at the tree',
    'JobTreeProgress.root': 'looks at the tree',
    'Schedule.lastJob': 'of what has a rule',
    'SerializeKey.head': 'of what has a rule',
    'HeldItem.item': 'of what has a rule',
    'HeldItem.assignmentId': 'rule',
    'Standstill.job': 'of what has a rule',
    'Standstill.item': 'of what has a rule',
    'Standstill.head': 'of what has a rule',
    'Standstill.waitsFor': 'of what has a rule',
    'DeadLetterGroup.example': 'of what has a rule',
    'DeadLetterGroup.items': 'of what has a rule',
    'JobItemsChange.items': 'of what has a rule',
    'JobsChange.jobs': 'of what has a rule',
    'CreateApiKeyPayload.key': 'rule',
    'RotateApiKeyPayload.key': 'rule',
    'CreateWatchTokenPayload.token': 'rule',
  };

  it('cover every path to a job, an item or an assignment', () => {
    const sensitive = new Set([
      'Job',
      'JobItem',
      'Assignment',
      'JobItemConnection',
      'JobResultsConnection',
      'ChildItemConnection',
      'JobConnection',
    ]);
    const secret = new Set(['assignmentId', 'key', 'token']);
    const unknown: string[] = [];
    for (const type of Object.values(schema.getTypeMap())) {
      // Payloads show what the mutation was about, and edges what their list has.
      if (!isObjectType(type) || /Payload$|Edge$|Connection$|Entry$/.test(type.name)) {
        if (!isObjectType(type) || !/ApiKeyPayload$|WatchTokenPayload$/.test(type.name)) continue;
      }
      for (const field of Object.values(type.getFields())) {
        const place = `${type.name}.${field.name}`;
        const isSensitive = sensitive.has(getNamedType(field.type).name) || secret.has(field.name);
        if (!isSensitive || (type.name === 'SerializeKey' && field.name === 'key')) continue;
        const how = guarded[place] ?? guarded[`${type.name}.*`];
        const options = field.extensions.pothosOptions as { authScopes?: unknown } | undefined;
        if (how === undefined || (how === 'rule' && options?.authScopes === undefined)) unknown.push(place);
      }
    }
    expect(unknown).toEqual([]);
  });
});

it('a refusal names the role that would suffice, or the scope that prevents it', async () => {
  const messageOf = async (query: string, role: Role) =>
    (await (await post(app.url, query, bearer(keys[role]))).json()).errors[0].message;
  const replay = 'mutation { replayDeadLetters(input: { filter: { types: ["x"] } }) { __typename } }';
  expect(await messageOf(replay, 'worker')).toBe(
    'replayDeadLetters needs the role admin or operator; yours: worker.',
  );
  expect(await messageOf('{ jobs { __typename } }', 'worker')).toBe(
    'jobs needs the role admin, operator, producer or watcher; yours: worker.',
  );
  const scoped = createCaller('a', ['producer'], { types: ['a'] });
  expect(explainRefusal(scoped, 'survey', 'schedules')).toBe(
    'schedules is not allowed with a scope that is limited to types.',
  );
  const narrow = createCaller('a', ['producer'], { types: ['a'], rootIds: [nothing.job] });
  expect(explainRefusal(narrow, 'list', 'jobs')).toBe(
    'jobs is not allowed with a scope that is limited to trees.',
  );
  expect(explainRefusal(scoped, 'stream', 'createWatchTicket')).toBe(
    'createWatchTicket needs a watch token.',
  );
});

/** All but the one that comes with a file, by a way of its own. */
const plainFields = rootFields.filter(({ name }) => name !== 'createUpload');

it.each(plainFields.filter(({ kind }) => kind !== 'subscription'))(
  '$kind $name requires its permission over HTTP',
  async ({ permission, query }) => {
    for (const role of roles) {
      const answer = await errorsOverHttp(app.url, query, bearer(keys[role]));
      const codes = codesOf(answer);
      expect(codes, role).not.toContain('UNAUTHENTICATED');
      expect(codes.includes('FORBIDDEN'), `${role}: ${JSON.stringify(answer)}`).toBe(
        !isAllowed(role, permission),
      );
      // Nothing but the caller's rights stands in the way of the question.
      expect(codes, JSON.stringify(answer)).not.toContain(undefined);
    }
    const response = await post(app.url, query, {});
    expect(response.status).toBe(401);
    expect(codesOf((await response.json()).errors)).toEqual(['UNAUTHENTICATED']);
  },
);

it.each(plainFields)(
  '$kind $name requires its permission over server-sent events',
  async ({ permission, query }) => {
    for (const role of roles) {
      const codes = codesOf(await errorsOverEvents(app.url, query, bearer(keys[role])));
      expect(codes.includes('FORBIDDEN'), `${role}: ${codes}`).toBe(!isAllowed(role, permission));
    }
    expect(codesOf(await errorsOverEvents(app.url, query, {}))).toEqual(['UNAUTHENTICATED']);
  },
);

it.each(roles)('a %s gets the same over a WebSocket as over HTTP', async (role) => {
  const client = openSocket(app.url, bearer(keys[role]));
  for (const { name, permission, query } of plainFields) {
    const codes = codesOf(await errorsOverSocket(client, query));
    expect(codes.includes('FORBIDDEN'), `${name}: ${codes}`).toBe(!isAllowed(role, permission));
  }
  await client.dispose();
});

it('a subscription reveals nothing over plain HTTP', async () => {
  for (const { name, permission, query } of plainFields.filter(({ kind }) => kind === 'subscription')) {
    for (const role of roles) {
      const response = await post(app.url, query, bearer(keys[role]));
      // What could be told is not acceptable, as the client has it; what is refused is refused as elsewhere.
      if (response.status !== 406) {
        const codes = codesOf((await response.json()).errors);
        expect(codes, `${name} as ${role}`).toHaveLength(1);
        expect(codes.includes('FORBIDDEN')).toBe(!isAllowed(role, permission));
      }
    }
    expect((await post(app.url, query, {})).status).toBe(401);
  }
});

it('a stranger gets no WebSocket', async () => {
  for (const headers of [
    undefined,
    bearer(`${keys.admin.slice(0, -1)}_`),
    { authorization: keys.admin },
    { token: 1 },
  ]) {
    const client = openSocket(app.url, headers as Record<string, string>);
    const closed = new Promise((resolve) => client.on('closed', resolve));
    client.subscribe({ query: '{ __typename }' }, { next: () => {}, error: () => {}, complete: () => {} });
    expect(await closed).toMatchObject({ code: 4403, reason: expect.stringMatching(/key|Bearer/i) });
  }
});

describe('beside GraphQL', () => {
  const base = () => app.url.replace('/graphql', '');
  const status = async (path: string, init: RequestInit = {}) => (await fetch(base() + path, init)).status;
  const upload = (headers: Record<string, string>) =>
    status('/api/uploads', {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'text/csv', ...headers },
    });

  it('health answers everybody, and GraphiQL shows its empty page', async () => {
    expect(await status('/healthz')).toBe(200);
    expect(await status('/readyz')).toBe(200);
    expect(await status('/graphql', { headers: { accept: 'text/html' } })).toBe(200);
    expect(await status('/graphql?query={__typename}')).toBe(401);
  });

  it('uploads require a role that creates jobs', async () => {
    for (const role of roles)
      expect(await upload(bearer(keys[role])), role).toBe(isAllowed(role, 'create') ? 201 : 403);
    expect(await upload({})).toBe(401);
    expect(await status('/api/uploads', { method: 'OPTIONS' })).toBe(204);
  });

  it('files in multipart requests require a role that creates jobs, and are not stored for others', async () => {
    const send = (headers: Record<string, string>) => {
      const form = new FormData();
      const query = 'mutation ($file: File!) { createUpload(input: { file: $file }) { __typename } }';
      form.set('operations', JSON.stringify({ query, variables: { file: null } }));
      form.set('map', JSON.stringify({ 0: ['variables.file'] }));
      form.set('0', new Blob(['x']), 'x.csv');
      return status('/graphql', {
        method: 'POST',
        body: form,
        headers: { 'apollo-require-preflight': 'true', ...headers },
      });
    };
    const stored = async () => (await db.query('select 1 from jobtree.upload')).length;
    const before = await stored();
    for (const role of ['worker', 'watcher'] as const) expect(await send(bearer(keys[role]))).toBe(403);
    expect(await send({})).toBe(401);
    expect(await stored()).toBe(before);
    for (const role of ['admin', 'producer'] as const) expect(await send(bearer(keys[role]))).toBe(200);
    expect(await stored()).toBe(before + 2);
  });

  it('results require a role that reads', async () => {
    const path = '/api/jobs/Job:00000000-0000-7000-8000-000000000000/results';
    for (const role of roles)
      expect(await status(path, { headers: bearer(keys[role]) }), role).toBe(
        isAllowed(role, 'read') ? 404 : 403,
      );
    expect(await status(path)).toBe(401);
  });

  it('metrics require a caller that sees all types', async () => {
    for (const role of roles)
      expect(await status('/metrics', { headers: bearer(keys[role]) }), role).toBe(
        isAllowed(role, 'survey') ? 200 : 403,
      );
    expect(await status('/metrics')).toBe(401);
    const { key } = await makeKey(db, ['watcher'], { types: ['a'] });
    expect(await status('/metrics', { headers: bearer(key) })).toBe(403);
  });
});
