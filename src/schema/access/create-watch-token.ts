import type { Sees } from '../../domain/access/rights.ts';
import { createWatchToken, standardWatchTokenSeconds } from '../../domain/access/watch-tokens.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { checkTree } from '../core/scope.ts';
import { SeesEnum } from './watch-tokens.ts';

const Payload = builder.objectRef<{ token: string; expiresAt: Date }>('CreateWatchTokenPayload').implement({
  description: 'The token was created.',
  fields: (t) => ({
    token: t.exposeString('token', {
      authScopes: { may: 'share' },
      description: 'The token, for `Authorization: Bearer`. The server does not store it.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it expires.' }),
  }),
});

const Input = builder
  .inputRef<{ jobId: string; expiresInSeconds?: number | null; sees: Sees }>('CreateWatchTokenInput')
  .implement({
    description: 'What a watch token gives access to.',
    fields: (t) => ({
      jobId: t.id({ required: true, description: 'The root of the tree. INVALID_INPUT for another job.' }),
      expiresInSeconds: t.int({
        required: true,
        defaultValue: standardWatchTokenSeconds,
        description:
          'How long it is valid, in seconds: 10 to 86,400 (a day). Its holder must get the next one before then. Default: 900.',
      }),
      sees: t.field({ type: SeesEnum, required: true, description: 'What it can read.' }),
    }),
  });

builder.mutationField('createWatchToken', (t) =>
  t.field({
    authScopes: { may: 'share' },
    audited: ({ input: { jobId, sees, expiresInSeconds } }) => [
      jobId,
      `sees ${sees}`,
      `expiresInSeconds ${expiresInSeconds}`,
    ],
    type: Payload,
    description:
      'Creates a watch token, which an application gives to its own users, so that their browsers can follow one tree and do nothing else. It is valid until it expires or the tokens of its tree are revoked, even if the key that created it is revoked. NOT_FOUND if your scope does not include the whole tree.',
    args: { input: t.arg({ type: Input, required: true, description: 'What it gives access to.' }) },
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
