import type { Sees } from '../../domain/rights.ts';
import { createWatchToken, standardWatchTokenSeconds } from '../../domain/watch-tokens.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';
import { checkTree } from '../scope.ts';
import { SeesEnum } from '../watch-tokens.ts';

const Payload = builder.objectRef<{ token: string; expiresAt: Date }>('CreateWatchTokenPayload').implement({
  description: 'There is a token.',
  fields: (t) => ({
    token: t.exposeString('token', {
      authScopes: { may: 'share' },
      description: 'The token, for `Authorization: Bearer`. Nothing of it is kept.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it is over.' }),
  }),
});

const Input = builder
  .inputRef<{ jobId: string; expiresInSeconds?: number | null; sees: Sees }>('CreateWatchTokenInput')
  .implement({
    description: 'What a watch token opens.',
    fields: (t) => ({
      jobId: t.id({ required: true, description: 'The root of the tree. INVALID_INPUT for another job.' }),
      expiresInSeconds: t.int({
        required: true,
        defaultValue: standardWatchTokenSeconds,
        description:
          'For how long it is good, in seconds: 10 to 86,400 (a day). Whoever has it asks for the next one by then. Default: 900.',
      }),
      sees: t.field({ type: SeesEnum, required: true, description: 'What it shows.' }),
    }),
  });

builder.mutationField('createWatchToken', (t) =>
  t.field({
    authScopes: { may: 'share' },
    type: Payload,
    description:
      'Makes a watch token: what an application gives to its own users, so that their browsers follow one tree, and do nothing else. It is good until it is over, or the tokens of its tree are revoked, whatever becomes of the key that it was made with. NOT_FOUND if the tree is not all in your scope.',
    args: { input: t.arg({ type: Input, required: true, description: 'What it opens.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) => {
      const rootId = keyOf('Job', input.jobId, 'jobId');
      await checkTree(context, rootId, 'jobId');
      return createWatchToken(context.engine.database, {
        rootId,
        tenant: context.caller.tenant,
        expiresInSeconds: input.expiresInSeconds ?? standardWatchTokenSeconds,
        sees: input.sees,
      });
    },
  }),
);
