/**
 * `GET /metrics` for Prometheus. Counters and histograms are what this server has seen since it started; what waits and runs is read from
 * Postgres, once for all who ask at the same time, and is the same from every server.
 */
import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { withTimeout } from '../../concurrency/with-timeout.ts';
import { type Caller, explainRefusal } from '../../domain/access/rights.ts';
import { listStored } from '../../domain/access/stored.ts';
import type { Engine } from '../../domain/engine/engine.ts';
import { countSlow } from '../../domain/figures/slow-items.ts';
import { readQueues } from '../../domain/queues/queues.ts';
import { answerForbidden } from './answer-error.ts';
import { addDepths, addFigures, addStored, type Depths, TypeLabels } from './metric-families.ts';

/** Answers the request if it is for metrics; returns whether it did. */
export type ServeMetrics = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Limits how many queues are read, so that endless type names cost no more. Types with labels of their own are among these. */
const mostQueues = 10_000;
const readWithinMs = 5_000;
const mostScrapers = 20;

/** A Prometheus, known by its address. */
interface Scraper {
  /** The labels whose counters it was shown; undefined before its first scrape. */
  shown?: Set<string>;
  underWay?: Promise<string> | undefined;
}

export function createMetrics(options: {
  engine: Engine;
  callerOf: (request: IncomingMessage) => Caller;
  isOn: boolean;
  mostTypes: number;
  logger: Logger;
}): ServeMetrics {
  const { engine, callerOf, isOn, mostTypes, logger } = options;
  const labels = new TypeLabels(mostTypes);
  const tenants = new TypeLabels(mostTypes);
  const scrapers = new LRUCache<string, Scraper>({ max: mostScrapers, memoMethod: () => ({}) });
  let reading: ReturnType<typeof readDepths> | undefined;

  const readDepths = async (): Promise<Depths | undefined> => {
    try {
      const all = Promise.all([
        readQueues(engine, null, { take: mostQueues }),
        countSlow(engine, null),
        listStored(engine.database, { tenant: null, take: mostQueues }),
      ]);
      const [queues, slow, stored] = await withTimeout(readWithinMs, all);
      return { queues, slow, stored };
    } catch (error) {
      logger.warn({ err: error }, 'queues could not be read for /metrics');
      return undefined;
    }
  };
  const collect = async (scraper: Scraper) => {
    const own = new Registry();
    reading ??= readDepths().finally(() => {
      reading = undefined;
    });
    const depths = await reading;
    addDepths(own, labels, depths);
    addStored(own, tenants, depths?.stored ?? []);
    scraper.shown = addFigures(own, labels, engine.figures, scraper.shown);
    new Gauge({
      name: 'jobtree_workers_connected',
      help: 'Workers connected to this server that have sent their name.',
      registers: [own],
    }).set(engine.workers.count);
    new Gauge({
      name: 'jobtree_claims_waiting',
      help: 'Claims that wait for work at this server.',
      registers: [own],
    }).set(engine.parkedClaims.count);
    const all = Registry.merge([own, processMetrics()]);
    // A request reaches any one of the processes that share a port, and their counters must not mix.
    if (cluster.worker !== undefined) all.setDefaultLabels({ process: String(cluster.worker.id) });
    return all.metrics();
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const scraper = scrapers.memo(request.socket.remoteAddress ?? '');
    scraper.underWay ??= collect(scraper).finally(() => {
      scraper.underWay = undefined;
    });
    const text = await scraper.underWay;
    response
      .writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE, 'cache-control': 'no-store' })
      .end(text);
  };

  return (request, response) => {
    if (!isOn || request.url?.split('?', 1)[0] !== '/metrics') return false;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return true;
    }
    const caller = callerOf(request);
    if (!caller.permissions.has('survey')) {
      answerForbidden(response, explainRefusal(caller, 'survey', '/metrics'));
      return true;
    }
    // The metrics cover the whole server and all its users.
    if (caller.tenant !== null) {
      answerForbidden(
        response,
        '/metrics covers all tenants, so a caller that belongs to one may not read it.',
      );
      return true;
    }
    serve(request, response).catch((error: unknown) => {
      logger.error({ err: error }, 'metrics could not be collected');
      if (!response.headersSent) response.writeHead(500).end();
    });
    return true;
  };
}

let ofProcess: Registry | undefined;

/** Node.js metrics: memory, CPU, event loop. Created once per process, since they collect for ever. */
function processMetrics(): Registry {
  if (ofProcess !== undefined) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  // Their names end as those of counters must, and the sums that they have are those of the metrics by type.
  for (const of of ['handles', 'requests', 'resources'])
    ofProcess.removeSingleMetric(`nodejs_active_${of}_total`);
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  new Gauge({
    name: 'jobtree_build_info',
    help: 'Always 1; the label has the version of jobtree.',
    labelNames: ['version'],
    registers: [ofProcess],
  }).set({ version }, 1);
  return ofProcess;
}
