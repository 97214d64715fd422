/**
 * `GET /api/jobs/:id/results`: the results of a job's tree as NDJSON, of any size. Only a part of them waits in memory for a slow reader, and
 * between two parts no connection of Postgres is held.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Logger } from 'pino';
import type { Database, Queries } from '../../db/database.ts';
import { asRefusal } from '../../db/sqlstate.ts';
import { type Caller, explainRefusal, isUnscoped, showsAll } from '../../domain/access/rights.ts';
import { coversTree } from '../../domain/access/scoped-reads.ts';
import { holdTree, ResultExport, type ResultText, readTreeOf } from '../../domain/jobs/export-results.ts';
import { itemIdOf } from '../../domain/values/ids.ts';
import { inOneLine } from '../../domain/values/json-text.ts';
import { type ErrorCode, InvalidInputError, JobtreeError, NotFoundError } from '../../errors.ts';
import { encodeGlobalId, itemKeyOf, keyOf } from '../../schema/core/global-id.ts';
import type { UsedUp } from '../limits/quota.ts';
import type { OwnerOf } from '../rights/owners.ts';
import { answerBusy } from './answer-busy.ts';
import { answerError, answerForbidden } from './answer-error.ts';

/** Answers the request if it is for results; returns whether it did. */
export type ServeResults = (request: IncomingMessage, response: ServerResponse) => boolean;

const statuses: Partial<Record<ErrorCode, number>> = { NOT_FOUND: 404, INVALID_INPUT: 400 };
/**
 * What waits for a slow reader. It begins with the least: parts get larger as long as they are taken quickly, and smaller otherwise, so many slow
 * readers take little.
 */
const partBytes = { least: 64_000, most: 500_000 };
const quickMs = 250;
const path = /^\/api\/jobs\/([^/]*)\/results$/;

export function createResults(options: {
  database: Database;
  callerOf: (request: IncomingMessage) => Caller;
  ownerOf: OwnerOf;
  /** Counts bytes for a request; returns whose quota has no room for them. */
  take: (request: IncomingMessage, bytes: number) => UsedUp | undefined;
  /** Aborts when the server closes. */
  closing: AbortSignal;
  logger: Logger;
}): ServeResults {
  const { callerOf, ownerOf, take, closing, logger } = options;

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    query: URLSearchParams,
  ) => {
    const { tenant, account } = ownerOf(request);
    // Each part waits for its turn among the reads of others.
    const database = options.database.forRequest({ tenant, account, isGone: () => response.destroyed });
    const { rootId, after, complete } = await find(database, callerOf(request), id, query);
    const isZipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    response.writeHead(200, {
      'content-type': 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      'jobtree-complete': String(complete),
      vary: 'origin, accept-encoding',
      ...(isZipped && { 'content-encoding': 'gzip' }),
    });
    const toLine = callerOf(request).watchToken === null ? withPayload : withoutPayload;
    const results = new ResultExport(database, rootId, after);
    // Of a part, nothing but its bytes is kept while it waits.
    const next = async (maxBytes: number) => {
      const part = await results.next(maxBytes);
      return part && Buffer.from(part.map(toLine).join(''));
    };
    // The client can get the rest from another server, and a shutdown does not wait for readers.
    const ending = { signal: closing };
    await (isZipped
      ? pipeline(inParts(next), createGzip(), response, ending)
      : pipeline(inParts(next), response, ending));
  };

  const fail = (response: ServerResponse, error: unknown) => {
    if (response.headersSent) {
      // Ends the response without its final chunk, so that the client knows that there is more and asks for it.
      response.destroy();
      if (!closing.aborted && !hasLeft(error)) logger.warn({ err: error }, 'reading results was interrupted');
      return;
    }
    const refusal = asRefusal(error);
    if (refusal instanceof JobtreeError) {
      const { code, message, field } = refusal;
      const status = statuses[code];
      if (status !== undefined) return answerError(response, status, { code, message, field });
      return answerError(response, 503, { code, message }, { 'retry-after': '1' });
    }
    logger.error({ err: error }, 'reading results failed');
    answerError(response, 500, { code: 'INTERNAL', message: 'The results could not be read.' });
  };

  return (request, response) => {
    if (request.url?.startsWith('/api/') !== true) return false;
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const id = path.exec(pathname)?.[1];
    if (id === undefined) return false;
    if (request.method !== 'GET') {
      answerError(
        response,
        405,
        { code: 'INVALID_INPUT', message: 'Results must be read with GET.' },
        { allow: 'GET' },
      );
      return true;
    }
    const caller = callerOf(request);
    const { permissions, watchToken } = caller;
    if (!permissions.has('read') || (watchToken !== null && !showsAll(watchToken.sees, 'RESULTS'))) {
      answerForbidden(response, explainRefusal(caller, 'read', 'reading results'));
      return true;
    }
    const usedUp = take(request, partBytes.most);
    if (usedUp !== undefined) {
      answerBusy(response, usedUp);
      return true;
    }
    serve(request, response, decode(id), searchParams).catch((error) => fail(response, error));
    return true;
  };
}

async function find(database: Queries, caller: Caller, id: string, query: URLSearchParams) {
  for (const name of query.keys()) {
    if (name !== 'after') throw new InvalidInputError(`There is no parameter ${JSON.stringify(name)}.`, name);
  }
  const jobId = keyOf('Job', id, 'id');
  const itemId = query.get('after');
  const after = itemId === null ? undefined : itemKeyOf(itemId, 'after');
  const isVisible = isUnscoped(caller) || (await coversTree(database, caller, jobId));
  const tree = isVisible ? await readTreeOf(database, jobId) : undefined;
  if (tree === undefined) throw new NotFoundError(`There is no job ${id}.`, 'id');
  await holdTree(database, tree.rootId);
  return { ...tree, after };
}

/** Asks for a part when the one before has been taken. */
async function* inParts(next: (maxBytes: number) => Promise<Buffer | undefined>): AsyncGenerator<Buffer> {
  let bytes = partBytes.least;
  for (let part = await next(bytes); part !== undefined; part = await next(bytes)) {
    const startedAt = performance.now();
    yield part;
    const isQuick = performance.now() - startedAt < quickMs;
    bytes = isQuick ? Math.min(2 * bytes, partBytes.most) : Math.max(bytes / 2, partBytes.least);
  }
}

function withPayload(item: ResultText): string {
  return `{"itemId":"${idOf(item)}","payload":${inOneLine(item.payload)},"result":${inOneLine(item.result)}}\n`;
}

/** No watch token shows payloads. */
function withoutPayload(item: ResultText): string {
  return `{"itemId":"${idOf(item)}","result":${inOneLine(item.result)}}\n`;
}

const idOf = (item: ResultText) => encodeGlobalId('JobItem', itemIdOf(item));

function hasLeft(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'ERR_STREAM_PREMATURE_CLOSE';
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
