/**
 * Stores a stream (a request's body, or a part of one) as the next bytes of an upload, in parts as they arrive, so that only one of them is in
 * memory. What arrives before the stream breaks is stored, too.
 */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IHasher } from 'hash-wasm';
import type { Storer } from '../../domain/access/stored.ts';
import type { Upload } from '../../domain/files/read-uploads.ts';
import type { Uploads } from '../../domain/files/uploads.ts';

export interface BodyOptions {
  readonly uploads: Uploads;
  readonly upload: Upload;
  /** The final size of the upload, in bytes; null while it is unknown. */
  readonly length: number | null;
  /** The largest size that the upload may have, in bytes. */
  readonly maxBytes: number;
  readonly owner: Storer;
  /** When it returns true the stream is cut, so that its client continues elsewhere. */
  readonly isLeaving?: (() => boolean) | undefined;
}

/** How storing ended, and how much of the upload is stored now. TAKEN: another request has stored bytes there. CUT: the stream broke. */
export interface Stored {
  readonly end: 'ALL' | 'CUT' | 'TOO_LARGE' | 'TAKEN';
  readonly size: number;
  readonly hasher: IHasher;
}

/** How much is hashed in one turn of the event loop. */
const hashedBytes = 512 * 1_024;

export async function storeBody(body: Readable, options: BodyOptions): Promise<Stored> {
  const { maxBytes, length, isLeaving } = options;
  const parts = new Parts(options, await hasherOf(options.upload));
  return new Promise((resolve, reject) => {
    let isOver = false;
    let storing: Promise<void> = Promise.resolve();
    const end = (what: Stored['end']) => {
      if (isOver) return;
      isOver = true;
      body.pause();
      resolve({ end: what, size: parts.size, hasher: parts.hasher });
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
          if (await parts.store()) next();
          else end('TAKEN');
        })
        .catch(fail);
    };
    body.on('data', (piece: Buffer) => {
      if (isOver) return;
      if (isLeaving?.()) body.destroy();
      if (parts.received + piece.length > Math.min(maxBytes, length ?? maxBytes)) return end('TOO_LARGE');
      parts.add(piece);
      if (!parts.isFull) return;
      // Paused while storing, so that the client does not count as stalled.
      body.pause();
      storeThen(() => body.resume());
    });
    body.once('end', () => storeThen(() => end('ALL')));
    body.once('close', () => {
      if (!body.readableEnded) storeThen(() => end('CUT'));
    });
    body.on('error', () => {}); // it closes, too
    // The stream may have broken while the upload was looked up.
    if (body.destroyed && !body.readableEnded) storeThen(() => end('CUT'));
  });
}

/** Collects what arrives, and stores it in parts behind what the upload has. */
class Parts {
  readonly hasher: IHasher;
  readonly #options: BodyOptions;
  readonly #partBytes: number;
  #size: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;

  constructor(options: BodyOptions, hasher: IHasher) {
    this.hasher = hasher;
    this.#options = options;
    this.#partBytes = options.uploads.partBytes(options.upload);
    this.#size = options.upload.size;
  }

  /** How much is stored. */
  get size(): number {
    return this.#size;
  }

  get received(): number {
    return this.#size + this.#waitingBytes;
  }

  get isFull(): boolean {
    return this.#waitingBytes >= this.#partBytes;
  }

  add(piece: Buffer): void {
    this.#waiting.push(piece);
    this.#waitingBytes += piece.length;
  }

  /** Stores what has arrived; false if another request has stored bytes there. */
  async store(): Promise<boolean> {
    if (this.#waitingBytes === 0) return true;
    const { uploads, upload, length, owner } = this.#options;
    const data = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (let at = 0; at < data.length; at += hashedBytes) {
      if (at > 0) await nextTurn();
      this.hasher.update(data.subarray(at, at + hashedBytes));
    }
    const part = { position: this.#size, data, digestState: this.hasher.save(), length, owner };
    const isStored = await uploads.append(upload, part);
    if (isStored) this.#size += data.length;
    return isStored;
  }
}

/** A hasher that continues where the upload ends. */
export async function hasherOf({ digestState }: Pick<Upload, 'digestState'>): Promise<IHasher> {
  // Loaded with the first upload, because it contains the code of all digests.
  const { createSHA256 } = await import('hash-wasm');
  const hasher = await createSHA256();
  if (digestState === null) hasher.init();
  else hasher.load(digestState);
  return hasher;
}
