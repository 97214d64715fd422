import { rotateWatchSecret } from '../../domain/watch-tokens.ts';
import { builder } from '../builder.ts';

const Payload = builder.objectRef<object>('RotateWatchSecretPayload').implement({
  description: 'There is a new secret.',
  fields: (t) => ({
    rotated: t.boolean({ description: 'Always true.', resolve: () => true }),
  }),
});

builder.mutationField('rotateWatchSecret', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    type: Payload,
    description:
      'Makes a new secret, which signs watch tokens from now on. Those of the secret before stay good, older ones do not: do it twice to end all watch tokens that there are, within five seconds.',
    resolve: async (_, __, { engine }) => {
      await rotateWatchSecret(engine.database);
      return {};
    },
  }),
);
