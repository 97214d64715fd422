/**
 * A stream (the body of a request, or a part of one) as the next bytes of an upload: stored in parts as they come, so that one of them is
 * all that is in memory. What has come before the stream breaks is stored, too.
 */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IHasher } from 'hash-wasm';
import type { Storer } from '../domain/stored.ts';
import type { Upload, Uploads } from '../domain/uploads.ts';

export interface BodyOptions {
  readonly uploads: Uploads;
  readonly upload: Upload;
  /** How large the upload will be, in bytes; null while that is not known. */
  readonly length: number | null;
  /** The most that the upload may have in all. */
  readonly maxBytes: number;
  readonly owner: Storer;
  /** When it says so the stream is cut: its client goes on elsewhere. */
  readonly isLeaving?: (() => boolean) | undefined;
}

/** What came of it, and how much of the upload is stored now. TAKEN: somebody else has stored other bytes there. CUT: the stream broke. */
export interface Stored {
  readonly end: 'ALL' | 'CUT' | 'TOO_LARGE' | 'TAKEN';
  readonly size: number;
  readonly hasher: IHasher;
}

/** So much is hashed in a turn of the event loop. */
const hashedBytes = 512 * 1_024;

export async function storeBody(body: Readable, options: BodyOptions): Promise<Stored> {
  const { uploads, upload, length, maxBytes, owner, isLeaving } = options;
  const hasher = await hasherOf(upload);
  const partBytes = uploads.partBytes(upload);
  let { size } = upload;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;

  const store = async (): Promise<boolean> => {
    if (waitingBytes === 0) return true;
    const data = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    for (let at = 0; at < data.length; at += hashedBytes) {
      if (at > 0) await nextTurn();
      hasher.update(data.subarray(at, at + hashedBytes));
    }
    const part = { position: size, data, digestState: hasher.save(), length, owner };
    const isStored = await uploads.append(upload, part);
    if (isStored) size += data.length;
    return isStored;
  };

  return new Promise((resolve, reject) => {
    let isOver = false;
    let storing: Promise<void> = Promise.resolve();
    const end = (what: Stored['end']) => {
      if (isOver) return;
      isOver = true;
      body.pause();
      resolve({ end: what, size, hasher });
    };
    const fail = (error: unknown) => {
      isOver = true;
      body.pause();
      reject(error);
    };
    const storeThen = (next: () => void) => {
      storing = storing
        .then(async () => {
          if (isOver) return;
          if (await store()) next();
          else end('TAKEN');
        })
        .catch(fail);
    };
    body.on('data', (piece: Buffer) => {
      if (isOver) return;
      if (isLeaving?.()) body.destroy();
      if (size + waitingBytes + piece.length > Math.min(maxBytes, length ?? maxBytes))
        return end('TOO_LARGE');
      waiting.push(piece);
      waitingBytes += piece.length;
      if (waitingBytes < partBytes) return;
      // Paused, so that it is not taken for a client that sends nothing.
      body.pause();
      storeThen(() => body.resume());
    });
    body.once('end', () => storeThen(() => end('ALL')));
    body.once('close', () => {
      if (!body.readableEnded) storeThen(() => end('CUT'));
    });
    body.on('error', () => {}); // it closes, too
    // It may have broken while the upload was looked up.
    if (body.destroyed && !body.readableEnded) storeThen(() => end('CUT'));
  });
}

/** Goes on where the upload ends. */
export async function hasherOf({ digestState }: Pick<Upload, 'digestState'>): Promise<IHasher> {
  // With the first upload: it has the code of all digests that there are.
  const { createSHA256 } = await import('hash-wasm');
  const hasher = await createSHA256();
  if (digestState === null) hasher.init();
  else hasher.load(digestState);
  return hasher;
}
