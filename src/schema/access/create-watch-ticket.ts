import { createWatchTicket } from '../../domain/access/watch-tickets.ts';
import { ForbiddenError } from '../../errors.ts';
import { builder } from '../core/builder.ts';

const Payload = builder.objectRef<{ ticket: string }>('CreateWatchTicketPayload').implement({
  description: 'The ticket was created.',
  fields: (t) => ({
    ticket: t.exposeString('ticket', {
      seenBy: 'PROGRESS',
      description:
        'The ticket, for `ticket` in the URL of an event stream. It can be used once, within 30 seconds.',
    }),
  }),
});

builder.mutationField('createWatchTicket', (t) =>
  t.field({
    authScopes: { may: 'stream' },
    seenBy: 'PROGRESS',
    type: Payload,
    description:
      "Creates a ticket, for the holder of a watch token: it opens one event stream, `GET /graphql?query=…&ticket=…`, for an `EventSource`, which can't send headers, while a token must not be in a URL. The stream ends when the token expires.",
    resolve: async (_, __, { engine, caller }) => {
      if (caller.watchToken === null) throw new ForbiddenError('Tickets are made with watch tokens.');
      return { ticket: await createWatchTicket(engine.database, caller.watchToken) };
    },
  }),
);
