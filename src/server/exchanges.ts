/**
 * HTTP requests from their first byte to the last one of their answer: they are counted, and so is what they take in memory,
 * by caller and in all; one too many is told so before anything of its body is read. Those that stand still are ended.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { answerBusy, busyHttpError } from './busy.ts';
import type { OwnerOf } from './owners.ts';
import type { Quota, Share } from './quota.ts';
import type { Stalls } from './stalls.ts';

interface Exchange {
  readonly response: ServerResponse;
  readonly share: Share;
  /** Of the body, in bytes. */
  received: number;
  /** Of the answer that is being made, in bytes. */
  announced: number;
}

/** How often it is looked at what waits to be sent. */
const lookEveryMs = 250;

export class Exchanges {
  readonly #bytes: Quota;
  readonly #ownerOf: OwnerOf;
  readonly #stalls: Stalls;
  readonly #requests: Quota;
  readonly #maxRequestBytes: number;
  readonly #open = new Map<IncomingMessage, Exchange>();
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
   * Says whether the request may go on; if not, it is answered. A body counts before it is read, as large as it says it is; one that is passed on
   * as it comes counts for `streamedBytes`, and may take as long as it moves. With `isStream` the answer may go on and on.
   */
  begin(
    request: IncomingMessage,
    response: ServerResponse,
    { streamedBytes, isStream }: { streamedBytes?: number | undefined; isStream: boolean },
  ): boolean {
    const owner = this.#ownerOf(request);
    const turn = this.#requests.share(owner);
    const share = this.#bytes.share(owner);
    // More than is allowed is never read.
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
    const exchange = { response, share, received, announced: 0 };
    this.#open.set(request, exchange);
    this.#stalls.watch(request.socket);
    response.once('close', () => {
      this.#open.delete(request);
      whenRead(request, arrived);
      share.release();
    });
    if (streamedBytes === undefined && request.headers['transfer-encoding'] !== undefined)
      countChunks(request, exchange);
    return true;
  }

  /** The answer will have so many bytes more. Throws if that is too much now. */
  announce(request: unknown, bytes: number): void {
    const exchange = this.#open.get(request as IncomingMessage);
    if (exchange === undefined) return;
    const usedUp = exchange.share.take(bytes);
    if (usedUp !== undefined) throw busyHttpError(usedUp);
    exchange.announced += bytes;
  }

  /** For the answer to a request, if it has not begun. */
  setHeaders(request: IncomingMessage, headers: Readonly<Record<string, string>>): void {
    const response = this.#open.get(request)?.response;
    if (response === undefined || response.headersSent) return;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** What waits to be sent counts, though nobody had announced it. */
  #look(): void {
    for (const { response, share, received, announced } of this.#open.values()) {
      share.set(received + Math.max(announced, response.socket?.writableLength ?? 0));
    }
  }
}

/** An answer may be there before its request is, of which the rest is read and left out: that must not take for ever either. */
function whenRead(request: IncomingMessage, end: () => void): void {
  if (request.complete || request.destroyed) end();
  else request.once('close', end);
}

/** An event stream counts until its request is read: then it is a lasting connection, of which there are others. */
function endWithIts(
  request: IncomingMessage,
  response: ServerResponse,
  isStream: boolean,
  end: () => void,
): void {
  (isStream ? request : response).once('close', end);
  // Of a request without a body nothing is read, so its end is not told.
  if (isStream && request.method === 'GET') request.resume();
}

/**
 * A body that does not say how large it is counts as it comes. There is no answer in the middle of it, only an end. What comes in one
 * turn of the event loop is read as one piece: ten thousand chunks of a byte may be in one packet.
 */
function countChunks(request: IncomingMessage, exchange: Exchange): void {
  const body = new Readable({ read: () => void request.resume() });
  let chunks: Buffer[] = [];
  const passOn = () => {
    if (!body.push(Buffer.concat(chunks))) request.pause();
    chunks = [];
  };
  request.on('data', (chunk: Buffer) => {
    if (exchange.share.take(chunk.length) !== undefined) request.destroy();
    exchange.received += chunk.length;
    if (chunks.push(chunk) === 1) setImmediate(passOn);
  });
  request.once('end', () => setImmediate(() => body.push(null)));
  request.once('close', () => {
    if (!request.complete) body.destroy();
  });
  request.once('error', (error) => body.destroy(error));
  Object.assign(request, { body });
}
