import { revokeWatchTokens } from '../../domain/access/watch-tokens.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { jobInput } from '../core/payload.ts';
import { checkTree } from '../core/scope.ts';

const Payload = builder.objectRef<{ revokedAt: Date }>('RevokeWatchTokensPayload').implement({
  description: 'The watch tokens of the tree are no longer valid.',
  fields: (t) => ({
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      description: 'Tokens that were created before this time are revoked.',
    }),
  }),
});

builder.mutationField('revokeWatchTokens', (t) =>
  t.field({
    authScopes: { may: 'change' },
    audited: ({ input }) => [input.jobId],
    type: Payload,
    description:
      'Revokes all watch tokens that were created for a tree until now. Within five seconds all servers refuse them, and end the WebSockets and streams that were opened with them. New ones can be created at once.',
    args: {
      input: t.arg({
        type: jobInput('RevokeWatchTokensInput', 'The root of the tree.'),
        required: true,
        description: 'Of which tree.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) => {
      const rootId = keyOf('Job', input.jobId, 'jobId');
      await checkTree(context, rootId, 'jobId');
      return { revokedAt: await revokeWatchTokens(context.engine.database, rootId) };
    },
  }),
);
