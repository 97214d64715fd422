import { rotateWatchSecret } from '../../domain/access/watch-tokens.ts';
import { ForbiddenError } from '../../errors.ts';
import { builder } from '../core/builder.ts';

const Payload = builder.objectRef<object>('RotateWatchSecretPayload').implement({
  description: 'The secret was rotated.',
  fields: (t) => ({
    rotated: t.boolean({ description: 'Always true.', resolve: () => true }),
  }),
});

builder.mutationField('rotateWatchSecret', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: () => [],
    type: Payload,
    description:
      'Creates a new secret, which signs watch tokens from now on. Tokens signed with the previous secret remain valid, older ones do not: rotate twice to end all existing watch tokens, within five seconds. Not for admins of a tenant.',
    resolve: async (_, __, { engine, caller }) => {
      // The secret is shared by all tenants.
      if (caller.tenant !== null)
        throw new ForbiddenError('The secret of watch tokens belongs to no tenant.');
      await rotateWatchSecret(engine.database);
      return {};
    },
  }),
);
