/**
 * The bytes of a file as text: decompressed, in UTF-8, a piece at a time. Only one piece is in memory, however large the file is.
 * A position is a byte of that text. An uncompressed file in UTF-8 is read from the position on; of any other file, the text
 * before it is decoded and skipped.
 */
import { pipeline, Readable, type Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as zlib from 'node:zlib';
import { FileError } from '../domain/files/file-errors.ts';

export interface File {
  /** In bytes. */
  readonly size: number;
  /** Its bytes from a position on, in chunks. */
  read(from: number): AsyncIterable<Buffer>;
}

export interface Text {
  /** The position of the first piece. */
  readonly position: number;
  /** Some pieces are empty, while text is skipped. */
  readonly pieces: AsyncGenerator<Buffer, void, undefined>;
  /** How much of the file has been read, in bytes. */
  readonly bytesRead: () => number;
}

export interface TextOptions {
  readonly encoding: string | undefined;
  readonly from: number;
  /** The most text that a file may have, in bytes. */
  readonly maxBytes: number;
}

/** How much text is processed in a turn of the event loop. */
const pieceBytes = 64 * 1_024;
const nothing = Buffer.alloc(0);

export async function openText(file: File, { encoding, from, maxBytes }: TextOptions): Promise<Text> {
  let bytesRead = 0;
  const read = async function* (start: number): AsyncGenerator<Buffer, void, undefined> {
    bytesRead = start;
    for await (const chunk of file.read(start)) {
      yield chunk;
      bytesRead += chunk.length;
    }
  };
  const start = await beginning(file);
  const compression = compressionOf(start);
  const label = encoding?.toLowerCase() ?? (compression === undefined ? utf16Of(start) : undefined);
  const isDirect = compression === undefined && (label === undefined || isUtf8Label(label));
  const position = from === 0 && isDirect && hasBom(start) ? bom.length : from;
  return {
    position,
    pieces: bounded(
      isDirect ? read(position) : skip(convert(read(0), compression, label), from),
      position,
      maxBytes,
    ),
    bytesRead: () => bytesRead,
  };
}

async function beginning(file: File): Promise<Buffer> {
  for await (const chunk of file.read(0)) return chunk.subarray(0, 4);
  return nothing;
}

const bom = Buffer.from([0xef, 0xbb, 0xbf]);
const hasBom = (start: Buffer) => start.subarray(0, bom.length).equals(bom);
const isUtf8Label = (label: string) => new TextDecoder(label).encoding === 'utf-8';

/** UTF-16 is recognized by its byte order mark. */
function utf16Of(start: Buffer): string | undefined {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le';
  return start[0] === 0xfe && start[1] === 0xff ? 'utf-16be' : undefined;
}

type Compression = 'gzip' | 'zstd';

/** No text begins with these bytes. */
function compressionOf(start: Buffer): Compression | undefined {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip';
  return start.length === 4 && start.readUInt32LE() === 0xfd2fb528 ? 'zstd' : undefined;
}

async function* convert(
  bytes: AsyncGenerator<Buffer, void, undefined>,
  compression: Compression | undefined,
  label: string | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  const plain = compression === undefined ? bytes : decompress(bytes, compression);
  let decoder: TextDecoder | undefined;
  let isFirst = true;
  for await (const chunk of plain) {
    if (isFirst) {
      const encoding = label ?? utf16Of(chunk);
      if (encoding !== undefined && !isUtf8Label(encoding))
        decoder = new TextDecoder(encoding, { fatal: true });
      // Looking at the first chunk is enough: a decompressor that has more never yields one shorter than a byte order mark.
      yield decoder === undefined && hasBom(chunk) ? chunk.subarray(bom.length) : decode(decoder, chunk);
      isFirst = false;
    } else yield decode(decoder, chunk);
  }
  yield decode(decoder, undefined);
}

function decode(decoder: TextDecoder | undefined, chunk: Buffer | undefined): Buffer {
  if (decoder === undefined) return chunk ?? nothing;
  try {
    return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }));
  } catch {
    throw new FileError('NOT_TEXT', `The file is not ${decoder.encoding}, or breaks off within a character.`);
  }
}

async function* decompress(
  bytes: AsyncGenerator<Buffer, void, undefined>,
  compression: Compression,
): AsyncGenerator<Buffer, void, undefined> {
  const decompressor = createDecompressor(compression);
  let sourceError: unknown;
  const source = Readable.from(bytes, { objectMode: true, highWaterMark: 1 });
  source.once('error', (error) => {
    sourceError = error;
  });
  pipeline(source, decompressor, () => {});
  try {
    for await (const chunk of decompressor) yield chunk as Buffer;
  } catch (error) {
    if (sourceError !== undefined) throw sourceError;
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!/^(Z_|ZSTD_|ERR_ZLIB)/.test(code)) throw error;
    throw new FileError(
      'NOT_DECOMPRESSED',
      `The file is compressed by ${compression}, and can't be decompressed to its end: ${message}.`,
    );
  }
}

function createDecompressor(compression: Compression): Transform {
  const options = { chunkSize: pieceBytes };
  if (compression === 'gzip') return zlib.createGunzip(options);
  const { createZstdDecompress } = zlib as unknown as {
    createZstdDecompress?: (options: { chunkSize: number }) => Transform;
  };
  if (createZstdDecompress === undefined) {
    throw new FileError(
      'NOT_DECOMPRESSED',
      'The file is compressed by zstd, for which the Node.js of this server is too old: it must be 22.15 or newer.',
    );
  }
  return createZstdDecompress(options);
}

/** Skips the first `bytes` bytes. */
async function* skip(
  pieces: AsyncGenerator<Buffer, void, undefined>,
  bytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes;
  for await (const piece of pieces) {
    const skipped = Math.min(left, piece.length);
    left -= skipped;
    yield skipped === 0 ? piece : piece.subarray(skipped);
  }
}

/** Yields small pieces, one per turn of the event loop, and no more text than is allowed. */
async function* bounded(
  chunks: AsyncGenerator<Buffer, void, undefined>,
  position: number,
  maxBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = position;
  for await (const chunk of chunks) {
    for (let at = 0; at === 0 || at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      bytes += piece.length;
      if (bytes > maxBytes) {
        throw new FileError(
          'LIMIT_EXCEEDED',
          `The file has more than ${maxBytes} bytes of text; that is the limit of this server.`,
        );
      }
      await nextTurn();
      yield piece;
    }
  }
}
