import { retryDelivery } from '../../domain/callbacks/deliveries.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { CallbackDelivery } from './callbacks.ts';

const Payload = builder.objectRef<string>('RetryCallbackDeliveryPayload').implement({
  description: 'The delivery is sent at once.',
  fields: (t) => ({
    delivery: t.field({ type: CallbackDelivery, description: 'The delivery.', resolve: (id) => id }),
  }),
});

const Input = builder.inputType('RetryCallbackDeliveryInput', {
  description: 'Which delivery to retry.',
  fields: (t) => ({ deliveryId: t.id({ required: true, description: 'The delivery.' }) }),
});

builder.mutationField('retryCallbackDelivery', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [input.deliveryId],
    type: Payload,
    description:
      'Sends a delivery again at once, whatever its status, with the same message id; if that fails, it is retried for about a day.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which delivery to retry.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, { engine, caller }) => {
      const id = keyOf('CallbackDelivery', input.deliveryId, 'deliveryId');
      await retryDelivery(engine, id, caller.tenant);
      return id;
    },
  }),
);
