/**
 * `/healthz`: the process is alive. `/readyz`: it can work, so a load balancer may send it requests. An overloaded server is still ready, or a
 * load balancer would take one after the other out of service.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Probe, ProbeResult } from '../../db/probe.ts';
import type { Transport } from '../../events/transport.ts';

export interface Health {
  /** Whether the request is for one of these paths. */
  isFor(request: IncomingMessage): boolean;
  /** Answers the request if it is for one of these paths; returns whether it did. */
  answers(request: IncomingMessage, response: ServerResponse): boolean;
}

const outages: Readonly<Record<Exclude<ProbeResult, 'OK' | 'FULL'>, string>> = {
  CLOSED: 'the database is starting, recovering or stopping',
  READ_ONLY: 'the database accepts no writes: it is read-only',
  GONE: 'the database does not answer',
};

export function createHealth(options: {
  probe: Pick<Probe, 'ask'>;
  /** Why recent writes to Postgres fail, if they do. */
  writeFailure: () => string | undefined;
  transport: Pick<Transport, 'route'>;
  isReady: () => boolean;
  /** A problem that somebody should fix although the server works. */
  problem?: () => string | undefined;
  /** Where the root of the server leads, relative to it: a proxy may have put a prefix before it. */
  home: string;
}): Health {
  const { probe, writeFailure, transport, isReady, problem = () => undefined, home } = options;

  const readyz = async (response: ServerResponse) => {
    if (!isReady()) return answer(response, 503, 'shutting down');
    const result = await probe.ask();
    if (result !== 'OK' && result !== 'FULL') return answer(response, 503, outages[result]);
    const failure = writeFailure();
    if (failure !== undefined) return answer(response, 503, `the database accepts no writes: ${failure}`);
    const full = result === 'FULL' ? ', the database has no free connection' : '';
    // A server without its Redis can still do its work.
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
      else if (path === '/') response.writeHead(302, { location: home }).end();
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
