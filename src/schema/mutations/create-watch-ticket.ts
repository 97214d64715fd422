import { createWatchTicket } from '../../domain/watch-tokens.ts';
import { ForbiddenError } from '../../errors.ts';
import { builder } from '../builder.ts';

const Payload = builder.objectRef<{ ticket: string }>('CreateWatchTicketPayload').implement({
  description: 'There is a ticket.',
  fields: (t) => ({
    ticket: t.exposeString('ticket', {
      seenBy: 'PROGRESS',
      description: 'The ticket, for `ticket` in the URL of an event stream: once, within 30 seconds.',
    }),
  }),
});

builder.mutationField('createWatchTicket', (t) =>
  t.field({
    authScopes: { may: 'stream' },
    seenBy: 'PROGRESS',
    type: Payload,
    description:
      'Makes a ticket, for whoever has a watch token: it opens one event stream, `GET /graphql?query=…&ticket=…`, which an `EventSource` reads. That can send no header, and a token belongs in no URL. The stream ends when the token does.',
    resolve: async (_, __, { engine, caller }) => {
      if (caller.watchToken === null) throw new ForbiddenError('Tickets are made with watch tokens.');
      return { ticket: await createWatchTicket(engine.database, caller.watchToken) };
    },
  }),
);
