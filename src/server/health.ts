/** `/healthz`: the process lives. `/readyz`: it can do its work, so a load balancer may send it requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Database } from '../db/database.ts';
import type { Transport } from '../events/transport.ts';

export function createHealth(options: {
  database: Database;
  transport: Pick<Transport, 'route'>;
  isReady: () => boolean;
}) {
  /** Answers the request if it is one of its own, and says whether it was. */
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = request.url?.split('?', 1)[0];
    if (path === '/healthz') {
      answer(response, 200, 'ok');
    } else if (path === '/readyz') {
      if (!options.isReady()) answer(response, 503, 'shutting down');
      else {
        options.database.pool.query('select 1').then(
          // A server whose Redis is away does its work all the same.
          () => answer(response, 200, `ok, messages by ${options.transport.route}`),
          () => answer(response, 503, 'the database does not answer'),
        );
      }
    } else if (path === '/') {
      response.writeHead(302, { location: '/graphql' }).end();
    } else {
      return false;
    }
    return true;
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`);
}
