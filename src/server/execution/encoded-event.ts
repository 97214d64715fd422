/**
 * An event as all its readers get it: serialized once, framed for event streams once for all readers, and for WebSockets once for all readers
 * whose operations have the same id.
 */
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { ExecutionResult } from 'graphql';
import { inOneLine, putInOneLine, serialize } from '../../domain/values/json-text.ts';

/** First byte of a final text frame (RFC 6455, section 5.2). */
const finalText = 0x81;
const closingBrace = Buffer.from('}');
const streamStart = 'event: next\ndata: ';
const streamEnd = '\n\n';
/** Larger events are not copied for each reader: a reader gets a few bytes of its own, then the bytes that all readers share. */
const copiedBytes = 4_096;
/** Larger events are not kept for later readers. */
const largeLength = 100_000;

export class EncodedEvent {
  /** Without the data, which is large and already in the text. */
  readonly result: ExecutionResult & { stringify(): string };
  /** The event has only errors, not the new state. */
  readonly failed: boolean;
  readonly #content: string | Buffer;
  #tail: Buffer | undefined;
  #chunk: StreamChunk | undefined;
  #lastHead: Buffer | undefined;
  #lastFrame: Buffer | undefined;

  /** `content`: the answer, serialized. */
  constructor(answer: ExecutionResult, content = serialize(answer)) {
    this.#content = content;
    this.result = { ...(answer.errors && { errors: answer.errors }), stringify: () => content.toString() };
    this.failed = answer.data == null;
  }

  get isLarge(): boolean {
    return this.#content.length > largeLength;
  }

  /** Whether both have the same text; large ones are not compared. */
  equals(other: EncodedEvent): boolean {
    return !this.isLarge && !this.failed && this.#content === other.#content;
  }

  /**
   * Writes a frame of the head, the event and a closing brace; returns the length of the message. `onWritten` is called for large events only,
   * once the frame is written or can't be.
   */
  writeFrame(stream: Writable, head: Buffer, onWritten?: () => void): number {
    if (typeof this.#content !== 'string') return writeParts(stream, head, this.#content, onWritten);
    this.#tail ??= toTail(this.#content);
    const tail = this.#tail;
    const length = head.length + tail.length;
    if (tail.length > copiedBytes) {
      stream.write(startOf(length, head, 0));
      stream.write(tail, onWritten);
      return length;
    }
    if (this.#lastFrame === undefined || (this.#lastHead !== head && this.#lastHead?.equals(head) !== true)) {
      this.#lastHead = head;
      this.#lastFrame = startOf(length, head, tail.length);
      tail.copy(this.#lastFrame, this.#lastFrame.length - tail.length);
    }
    stream.write(this.#lastFrame);
    return length;
  }

  /** Writes it to an event stream of which the head is written. */
  writeToStream(response: ServerResponse): void {
    if (typeof this.#content !== 'string') {
      response.write(streamStart);
      response.write(putInOneLine(this.#content));
      response.write(streamEnd);
      return;
    }
    this.#chunk ??= toChunk(this.#content);
    const { socket, chunkedEncoding } = response;
    // Past Node, which would write the four parts of the chunk again for each reader.
    if (socket !== null && chunkedEncoding) socket.write(this.#chunk.chunk);
    else response.write(this.#chunk.event);
  }
}

/** An event of a stream, and around it what makes it a chunk of HTTP (RFC 9112, section 7.1). */
interface StreamChunk {
  readonly chunk: Buffer;
  readonly event: Buffer;
}

function toChunk(text: string): StreamChunk {
  const event = `${streamStart}${inOneLine(text)}${streamEnd}`;
  const length = Buffer.byteLength(event);
  const start = `${length.toString(16)}\r\n`;
  const chunk = Buffer.from(`${start}${event}\r\n`);
  return { chunk, event: chunk.subarray(start.length, start.length + length) };
}

function toTail(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const tail = Buffer.allocUnsafe(length + closingBrace.length);
  tail.write(text);
  closingBrace.copy(tail, length);
  return tail;
}

/** Writes the brace by itself rather than copy the event to append it. */
function writeParts(stream: Writable, head: Buffer, event: Buffer, onWritten?: () => void): number {
  const length = head.length + event.length + closingBrace.length;
  stream.write(startOf(length, head, 0));
  stream.write(event);
  stream.write(closingBrace, onWritten);
  return length;
}

/** The header of a frame for a message of this length, then the head, and spare room. */
function startOf(length: number, head: Buffer, room: number): Buffer {
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const start = Buffer.allocUnsafe(2 + lengthBytes + head.length + room);
  start[0] = finalText;
  if (lengthBytes === 0) {
    start[1] = length;
  } else if (lengthBytes === 2) {
    start[1] = 126;
    start.writeUInt16BE(length, 2);
  } else {
    start[1] = 127;
    start.writeBigUInt64BE(BigInt(length), 2);
  }
  head.copy(start, 2 + lengthBytes);
  return start;
}
