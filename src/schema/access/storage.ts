/** How much is stored, by tenant and in total. */
import { listStored, readStoredBy, type Stored, type TenantStored } from '../../domain/access/stored.ts';
import { builder } from '../core/builder.ts';
import { checkFirst, firstComplexity, firstDescription } from '../core/pages.ts';

const TenantStorage = builder.objectRef<TenantStored>('TenantStorage').implement({
  description: 'How much a tenant stores.',
  fields: (t) => ({
    tenant: t.string({
      nullable: true,
      description: 'The tenant; null for everything without a tenant.',
      resolve: ({ tenant }) => tenant,
    }),
    items: t.expose('items', { type: 'Count', description: 'Items, pending and finished.' }),
    bytes: t.expose('bytes', {
      type: 'Count',
      description: 'Bytes of payloads and results as JSON text, and of uploads.',
    }),
  }),
});

const Storage = builder.objectRef<Stored>('Storage').implement({
  description:
    'How much is stored: by the tenant of the caller or, for callers without a tenant, by all. It is updated about once a second.',
  fields: (t) => ({
    items: t.expose('items', { type: 'Count', description: 'Items, pending and finished.' }),
    bytes: t.expose('bytes', {
      type: 'Count',
      description: 'Bytes of payloads and results as JSON text, and of uploads.',
    }),
    maxItemsPerTenant: t.field({
      type: 'Count',
      nullable: true,
      description: 'How many items a tenant may store (JOBTREE_TENANT_MAX_STORED_ITEMS); null for no limit.',
      resolve: (_, __, { engine }) => engine.stored.ofTenant.items,
    }),
    maxBytesPerTenant: t.field({
      type: 'Count',
      nullable: true,
      description: 'How many bytes a tenant may store (JOBTREE_TENANT_MAX_STORED_BYTES); null for no limit.',
      resolve: (_, __, { engine }) => engine.stored.ofTenant.bytes,
    }),
    tenants: t.field({
      type: [TenantStorage],
      description: 'By tenant, those with the most bytes first. A caller of a tenant sees only its own.',
      args: {
        first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
        tenant: t.arg.string({ description: 'Only this tenant. Default: any.' }),
      },
      complexity: firstComplexity,
      resolve: (_, { first, tenant }, { engine, caller }) => {
        const take = checkFirst({ first });
        if (tenant != null && caller.tenant !== null && tenant !== caller.tenant) return [];
        return listStored(engine.database, { tenant: caller.tenant ?? tenant ?? null, take });
      },
    }),
  }),
});

builder.queryField('storage', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    type: Storage,
    description: 'How much is stored, and the limits.',
    resolve: (_, __, { engine, caller }) => readStoredBy(engine.database, caller.tenant),
  }),
);
