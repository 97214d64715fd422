/** Operations on trees over the API: what they refuse, and whose trees they reach. */
import { expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });

async function clientOf(role: 'admin' | 'producer' | 'operator' | 'watcher', scope = {}) {
  const { key } = await makeKey(db, [role], scope);
  return createClient({ url: app.url, token: key });
}

it.each(['cancelTrees', 'deleteTrees'] as const)(
  '%s refuses a filter without conditions, and one about jobs',
  async (name) => {
    const client = await clientOf('admin');
    for (const [filter, field] of [
      [{}, 'filter'],
      [{ wholeTrees: true }, 'filter'],
      [{ types: null }, 'filter'],
      [{ types: ['x'], rootsOnly: false }, 'filter.rootsOnly'],
      [{ types: [] }, 'filter.types'],
    ] as const)
      await expect(client[name](filter as object)).rejects.toMatchObject({ code: 'INVALID_INPUT', field });
    await client.close();
  },
);

it('operators and watchers may neither cancel nor delete trees', async () => {
  for (const role of ['operator', 'watcher'] as const) {
    const client = await clientOf(role);
    await expect(client.cancelTrees({ types: ['x'] })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(client.deleteTrees({ types: ['x'] })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await client.close();
  }
});

it('a scope and a tenant count, reach and stop only what is theirs, and the audit says who', async () => {
  const admin = await clientOf('admin');
  const scoped = await clientOf('producer', { name: 'shop', types: ['shop.*'] });
  const tenant = await clientOf('producer', { tenant: 'acme' });
  await admin.createJob({ type: 'shop.order', items: [{}] });
  await admin.createJob({ type: 'shop.mixed', children: [{ type: 'other', items: [{}] }] });
  await admin.createJob({ type: 'other', items: [{}] });
  await tenant.createJob({ type: 'shop.order', items: [{}] });

  const since = { createdFrom: '2020-01-01T00:00:00Z' };
  expect(await scoped.jobCount({ filter: since })).toMatchObject({ count: 2 });
  const operation = await scoped.deleteTrees(since);
  expect(operation).toMatchObject({ kind: 'DELETE_TREES', requestedBy: expect.stringContaining('key shop') });
  await expect
    .poll(() => scoped.operation(operation.id))
    .toMatchObject({ status: 'FINISHED', total: 2, done: 1 });
  await expect(tenant.operation(operation.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(tenant.cancelOperation(operation.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await scoped.cancelOperation(operation.id)).toMatchObject({ status: 'FINISHED' });
  expect(await tenant.cancelTrees(since)).toMatchObject({ kind: 'CANCEL_TREES', total: 1 });
  expect((await admin.jobs()).nodes.filter(({ cancelledAt }) => cancelledAt == null)).toHaveLength(2);

  const { nodes } = await admin.auditEntries({ filter: { action: 'deleteTrees' } });
  expect(nodes[0]).toMatchObject({
    actor: operation.requestedBy,
    subjects: ['createdFrom 2020-01-01T00:00:00.000Z'],
  });
  for (const client of [admin, scoped, tenant]) await client.close();
});

it.each(['cancelTrees', 'deleteTrees'] as const)(
  '%s is seen by nobody outside the tenant or scope of the caller, though nobody has a job in it yet',
  async (name) => {
    const since = { createdFrom: '2020-01-01T00:00:00Z' };
    const tenant = await clientOf('producer', { tenant: 'empty' });
    const scoped = await clientOf('producer', { types: ['empty.*'] });
    const other = await clientOf('producer', { types: ['bill'] });
    for (const client of [tenant, scoped]) {
      const { id } = await client[name](since);
      expect(await client.operation(id)).toMatchObject({ total: 0 });
      await expect(other.operation(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(other.cancelOperation(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    for (const client of [tenant, scoped, other]) await client.close();
  },
);

it.each(['cancelTrees', 'deleteTrees'] as const)('%s refuses types outside of the scope', async (name) => {
  const client = await clientOf('producer', { types: ['mail.*'] });
  const refused = { code: 'FORBIDDEN', field: 'filter.types' };
  await expect(client[name]({ types: ['mail.x', 'bill'] })).rejects.toMatchObject(refused);
  await client.close();
});
