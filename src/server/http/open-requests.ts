/**
 * Tracks HTTP requests from their first byte to the last byte of the answer: counts them and their memory, by caller and in total, refuses those
 * over a limit before it reads their bodies, and ends those that stall.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { busyHttpError } from '../limits/busy.ts';
import type { Quota, Share, UsedUp } from '../limits/quota.ts';
import type { Stalls } from '../limits/stalls.ts';
import type { OwnerOf } from '../rights/owners.ts';
import { answerBusy } from './answer-busy.ts';

interface OpenRequest {
  readonly response: ServerResponse;
  readonly turn: Share;
  readonly share: Share;
  /** Size of the body, in bytes. */
  received: number;
  /** Announced size of the answer that is being made, in bytes. */
  announced: number;
}

/** How often the bytes that wait to be sent are counted. */
const lookEveryMs = 250;

export class OpenRequests {
  readonly #bytes: Quota;
  readonly #ownerOf: OwnerOf;
  readonly #stalls: Stalls;
  readonly #requests: Quota;
  readonly #maxRequestBytes: number;
  readonly #open = new Map<IncomingMessage, OpenRequest>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: {
    bytes: Quota;
    ownerOf: OwnerOf;
    stalls: Stalls;
    requests: Quota;
    maxRequestBytes: number;
  }) {
    this.#bytes = options.bytes;
    this.#ownerOf = options.ownerOf;
    this.#stalls = options.stalls;
    this.#requests = options.requests;
    this.#maxRequestBytes = options.maxRequestBytes;
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /**
   * Returns whether the request may go on; if not, it has been answered. A body counts before it is read, with its declared length. A body that
   * is passed on as it arrives counts for `streamedBytes` and may take any time as long as it moves. With `isStream` the answer may go on
   * without end.
   */
  begin(
    request: IncomingMessage,
    response: ServerResponse,
    { streamedBytes, isStream }: { streamedBytes?: number | undefined; isStream: boolean },
  ): boolean {
    const owner = this.#ownerOf(request);
    const turn = this.#requests.share(owner);
    const share = this.#bytes.share(owner);
    // A body is never read beyond the limit.
    const received =
      streamedBytes ?? Math.min(Number(request.headers['content-length'] ?? 0), this.#maxRequestBytes);
    const arrived = this.#stalls.receive(request, streamedBytes === undefined);
    const usedUp = turn.take() ?? share.take(received);
    if (usedUp !== undefined) {
      turn.release();
      response.once('close', () => whenRead(request, arrived));
      answerBusy(response, usedUp);
      return false;
    }
    endWithIts(request, response, isStream, () => turn.release());
    const openRequest = { response, turn, share, received, announced: 0 };
    this.#open.set(request, openRequest);
    this.#stalls.watch(request.socket);
    response.once('close', () => {
      this.#open.delete(request);
      whenRead(request, arrived);
      share.release();
    });
    if (streamedBytes === undefined && request.headers['transfer-encoding'] !== undefined)
      countChunks(request, openRequest);
    return true;
  }

  /** Counts that many more bytes for the answer. Throws if the quota has no room for them. */
  announce(request: unknown, bytes: number): void {
    const usedUp = this.take(request as IncomingMessage, bytes);
    if (usedUp !== undefined) throw busyHttpError(usedUp);
  }

  /** The same; returns whose quota has no room. */
  take(request: IncomingMessage, bytes: number): UsedUp | undefined {
    const openRequest = this.#open.get(request);
    const usedUp = openRequest?.share.take(bytes);
    if (openRequest !== undefined && usedUp === undefined) openRequest.announced += bytes;
    return usedUp;
  }

  /** From now on the request only waits, so it does not count as one. */
  rest(request: IncomingMessage): void {
    this.#open.get(request)?.turn.release();
  }

  /** Adds headers to the answer of a request, unless it has begun. */
  setHeaders(request: IncomingMessage, headers: Readonly<Record<string, string>>): void {
    const response = this.#open.get(request)?.response;
    if (response === undefined || response.headersSent) return;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Bytes that wait to be sent count even if nobody announced them. */
  #look(): void {
    for (const { response, share, received, announced } of this.#open.values()) {
      share.set(received + Math.max(announced, response.socket?.writableLength ?? 0));
    }
  }
}

/** A request may be answered before it has arrived in full. The rest is read and dropped, and must not take for ever either. */
function whenRead(request: IncomingMessage, end: () => void): void {
  if (request.complete || request.destroyed) end();
  else request.once('close', end);
}

/** An event stream counts as a request only until it is read: from then on it counts as a lasting connection. */
function endWithIts(
  request: IncomingMessage,
  response: ServerResponse,
  isStream: boolean,
  end: () => void,
): void {
  (isStream ? request : response).once('close', end);
  // Nothing reads a request without a body, so its end would go unnoticed.
  if (isStream && request.method === 'GET') request.resume();
}

/**
 * Counts a body of unknown length as it arrives. Over the limit the request is destroyed, as it can't be answered midway. All that arrives in
 * one turn of the event loop is read as one piece: a packet may hold hundreds of chunks.
 */
function countChunks(request: IncomingMessage, openRequest: OpenRequest): void {
  const body = new Readable({ read: () => void request.resume() });
  let chunks: Buffer[] = [];
  const passOn = () => {
    if (!body.push(Buffer.concat(chunks))) request.pause();
    chunks = [];
  };
  request.on('data', (chunk: Buffer) => {
    if (openRequest.share.take(chunk.length) !== undefined) request.destroy();
    openRequest.received += chunk.length;
    if (chunks.push(chunk) === 1) setImmediate(passOn);
  });
  request.once('end', () => setImmediate(() => body.push(null)));
  request.once('close', () => {
    if (!request.complete) body.destroy();
  });
  request.once('error', (error) => body.destroy(error));
  Object.assign(request, { body });
}
