/**
 * `/healthz`: the process lives. `/readyz`: it can do its work, so a load balancer may send it requests. One that has too
 * much to do is ready, or a load balancer would take one overloaded server after the other out of service.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Probe, ProbeResult } from '../db/probe.ts';
import type { Transport } from '../events/transport.ts';

export interface Health {
  /** Whether the request is one of its own. */
  isFor(request: IncomingMessage): boolean;
  /** Answers the request if it is one of its own, and says whether it was. */
  answers(request: IncomingMessage, response: ServerResponse): boolean;
}

const outages: Readonly<Record<Exclude<ProbeResult, 'OK' | 'FULL'>, string>> = {
  READ_ONLY: 'the database takes no changes: it is read-only',
  GONE: 'the database does not answer',
};

export function createHealth(options: {
  probe: Pick<Probe, 'ask'>;
  /** Why writes fail that Postgres was given lately. */
  writeFailure: () => string | undefined;
  transport: Pick<Transport, 'route'>;
  isReady: () => boolean;
  /** What somebody should mend, though it works. */
  problem?: () => string | undefined;
}): Health {
  const { probe, writeFailure, transport, isReady, problem = () => undefined } = options;

  const readyz = async (response: ServerResponse) => {
    if (!isReady()) return answer(response, 503, 'shutting down');
    const result = await probe.ask();
    if (result === 'GONE' || result === 'READ_ONLY') return answer(response, 503, outages[result]);
    const failure = writeFailure();
    if (failure !== undefined) return answer(response, 503, `the database takes no changes: ${failure}`);
    const full = result === 'FULL' ? ', the database has no free connection' : '';
    // A server whose Redis is away does its work all the same.
    const mended = problem();
    answer(
      response,
      200,
      `ok${full}, messages by ${transport.route}${mended === undefined ? '' : `; ${mended}`}`,
    );
  };

  return {
    isFor: (request) => ['/healthz', '/readyz', '/'].includes(pathOf(request)),
    answers(request, response) {
      const path = pathOf(request);
      if (path === '/healthz') answer(response, 200, 'ok');
      else if (path === '/readyz') void readyz(response);
      else if (path === '/') response.writeHead(302, { location: '/graphql' }).end();
      else return false;
      return true;
    },
  };
}

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?', 1)[0] as string;

function answer(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`);
}
