/**
 * Files that clients send: each is a row of `upload`, and its bytes are in rows of `upload_part`, or in objects of an object store
 * that these rows name. A part is accepted only if it continues what is stored, so two clients that send the same
 * part at once do no harm.
 *
 * An object is stored before the row that names it, under a different name for every attempt. So whatever fails between the two,
 * nothing acknowledged is lost, and nothing is overwritten. Objects that no row names are deleted with their upload, since the
 * keys of all its objects have the same prefix.
 */
import { randomUUID } from 'node:crypto';
import { FairSemaphore } from '../../concurrency/fair-semaphore.ts';
import type { Database } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { S3Store } from '../../object-store/s3.ts';
import { StoreError } from '../../object-store/store-error.ts';
import type { StoredUse, Storer } from '../access/stored.ts';
import { maxFileNameLength } from '../values/limits.ts';
import { columns, type NewUpload, type Sender, type Upload } from './read-uploads.ts';
import { appendUpload, createUpload, finishUpload, recordRemoval } from './upload-statements.ts';

const everybody: Sender = { tenant: null, account: null };

/** The size of a part in bytes: of a row, or of an object, each of which has its price and its latency. */
const chunkBytes = 512 * 1_024;
const objectBytes = 2 * 1_024 * 1_024;
/** How many parts of an upload are in memory while it arrives: one is being received, the other stored. */
const partsInMemory = 2;

/** How many parts are stored at a time, in turns by caller: rows, each of which needs a connection, and objects. */
const chunksAtOnce = 3;
const objectsAtOnce = 16;
/** How long a part waits for its turn while the object store is slow. */
const objectTurnMs = 30_000;

/** How many objects of removed uploads are deleted from the store in a turn, and how many of these at once. */
const removedInTurn = 100;
const removedAtOnce = 8;
/** Longer than a turn usually takes; if two servers remove the same upload, that does no harm. */
const removalLeaseMs = 60_000;
/** After this time, no part that began before the removal is still being stored: the store's own time limit is a tenth of it. */
const settleMs = 300_000;

export interface UploadsOptions {
  readonly database: Database;
  /** Where new uploads are stored; without it, in Postgres. */
  readonly store?: S3Store | undefined;
  /** How long an upload is kept after its last byte, or its last import. */
  readonly lifetimeMs: number;
  /** How much tenants may store; without it, any amount. */
  readonly stored?: StoredUse | undefined;
}

export class Uploads {
  readonly #database: Database;
  readonly #lifetimeMs: number;
  readonly #store: S3Store | undefined;
  readonly #stored: StoredUse | undefined;
  readonly #chunkTurns = new FairSemaphore(chunksAtOnce);
  readonly #objectTurns = new FairSemaphore(objectsAtOnce, { waitMs: objectTurnMs });

  constructor({ database, store, lifetimeMs, stored }: UploadsOptions) {
    this.#database = database;
    this.#stored = stored;
    this.#store = store;
    this.#lifetimeMs = lifetimeMs;
  }

  /** How much memory a request with a part may take, in bytes. */
  get streamedBytes(): number {
    return partsInMemory * (this.#store === undefined ? chunkBytes : objectBytes);
  }

  /** @throws StorageLimitError if there is no room for it */
  async create({ length, sha256, name, sender, owner }: NewUpload): Promise<Upload> {
    await this.#stored?.check(owner, { items: 0, bytes: length ?? 1 });
    const [row] = await this.#database
      .forRequest(owner)
      .call<{ id: string }>(
        createUpload,
        length ?? null,
        sha256 ?? null,
        this.#lifetimeMs,
        this.#store?.name ?? null,
        sender.tenant,
        sender.account,
        name ?? null,
      );
    return (await this.find(row?.id ?? '')) as Upload;
  }

  async find(id: string, { tenant, account } = everybody): Promise<Upload | undefined> {
    const { rows } = await this.#database.forRequest({ tenant, account }).pool.query<Upload>({
      name: 'read_upload',
      text: `select ${columns} from jobtree.upload where id = $1 and removed_at is null and ($2::text is null or tenant = $2)
               and ($3::text is null or account = $3)`,
      values: [id, tenant, account],
    });
    return rows[0];
  }

  /** The size of the parts in which an upload is stored. */
  partBytes({ store }: Pick<Upload, 'store'>): number {
    return store === null ? chunkBytes : objectBytes;
  }

  /**
   * Stores the next bytes. Returns false if these are not the next ones, or the upload takes no more.
   * @throws StorageLimitError if there is no room for them
   */
  async append(
    { id, store }: Upload,
    { position, data, digestState, length, owner }: Part,
  ): Promise<boolean> {
    await this.#stored?.check(owner, { items: 0, bytes: data.length });
    const object = store === null ? null : `${position}-${randomUUID()}`;
    if (object !== null) {
      const isStored = await this.#objectTurns.run(owner, async () => {
        // Checked immediately before, so that nothing is stored for an upload that was removed long ago.
        const found = await this.find(id);
        if (found?.size !== position || found.sha256 !== null) return false;
        await this.#open(store).put(keyOf(id, object), data);
        return true;
      });
      if (!isStored) return false;
    }
    const [row] = await this.#chunkTurns.run(owner, () =>
      this.#database.call(
        appendUpload,
        id,
        position,
        data.length,
        object === null ? data : null,
        object,
        Buffer.from(digestState),
        length,
        this.#lifetimeMs,
      ),
    );
    if (row !== undefined) return true;
    // Nobody waits for that: if it fails, the object is deleted with the upload.
    if (object !== null)
      this.#open(store)
        .delete(keyOf(id, object))
        .catch(() => {});
    return false;
  }

  /** Declares the upload complete. Returns false if it has more or fewer bytes. */
  async finish(id: string, size: number, sha256: Buffer): Promise<boolean> {
    const [row] = await this.#database.call(finishUpload, id, size, sha256, this.#lifetimeMs);
    return row !== undefined;
  }

  async remove(id: string): Promise<'REMOVED' | 'GONE' | 'USED'> {
    const [row] = await this.#database.call<{ remove_upload: 'REMOVED' | 'GONE' | 'USED' }>(
      'remove_upload',
      id,
    );
    return row?.remove_upload ?? 'GONE';
  }

  /** Deletes some uploads that nobody can use any more. Returns whether there may be more. */
  async prune(): Promise<boolean> {
    const [row] = await this.#database.call<{ prune_uploads: boolean }>('prune_uploads');
    return row?.prune_uploads === true;
  }

  /**
   * Deletes some objects of uploads that nobody can use any more. Returns whether there may be more.
   * @throws StoreError if the store fails: the next calls continue with other uploads, and try this one again later
   */
  async removeObjects(signal: AbortSignal): Promise<boolean> {
    const store = this.#store;
    if (store === undefined) return false;
    const [row] = await this.#database.call<{ lease_removal: string | null }>(
      'lease_removal',
      store.name,
      removalLeaseMs,
    );
    const id = row?.lease_removal ?? null;
    if (id === null) return false;
    const keys = await store.list(keyOf(id, ''), removedInTurn, signal);
    for (let at = 0; at < keys.length; at += removedAtOnce)
      await Promise.all(keys.slice(at, at + removedAtOnce).map((key) => store.delete(key, signal)));
    await this.#database.call(recordRemoval, id, keys.length === 0, settleMs);
    return true;
  }

  /**
   * Reads an upload from a position on, part by part; the next part is read while the last one is used.
   * @throws StoreError if the object store does not return it
   */
  async *read(id: string, from: number, signal?: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const upload = await this.find(id);
    if (upload === undefined) throw new Error(`The upload ${id} is gone.`);
    const ended = new AbortController();
    const end = () => ended.abort();
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end);
    const readPart = (at: number) => {
      const part = this.#readPart(upload, at, ended.signal);
      part.catch(() => {}); // it is awaited, but maybe not at once
      return part;
    };
    try {
      let position = from;
      let next = readPart(position);
      for (;;) {
        const part = await next;
        if (part === undefined) return;
        position += part.length;
        next = readPart(position);
        yield part;
      }
    } finally {
      signal?.removeEventListener('abort', end);
      end();
    }
  }

  async #readPart({ id, store }: Upload, position: number, signal: AbortSignal): Promise<Buffer | undefined> {
    const { rows } = await this.#database.pool.query<{
      position: number;
      size: number;
      data: Buffer | null;
      name: string | null;
    }>({
      name: 'read_upload_part',
      text: `select position, size, data, name from jobtree.upload_part
             where upload_id = $1 and position <= $2 order by position desc limit 1`,
      values: [id, position],
    });
    const [row] = rows;
    if (row === undefined || position >= row.position + row.size) return undefined;
    const from = position - row.position;
    return row.data === null
      ? this.#open(store).get(keyOf(id, row.name ?? ''), from, row.size, signal)
      : row.data.subarray(from);
  }

  /** @throws StoreError if this server uses another store, or none */
  #open(name: string | null): S3Store {
    if (this.#store !== undefined && this.#store.name === name) return this.#store;
    throw new StoreError(
      'The upload is in an object store that this server is not set to use: JOBTREE_UPLOAD_STORE_URL is another one, or not set.',
      'OtherStore',
    );
  }
}

/** The next bytes of an upload. */
export interface Part {
  /** The position of the first byte. */
  readonly position: number;
  readonly data: Buffer;
  /** The state of the SHA-256 after these bytes. */
  readonly digestState: Uint8Array;
  /** The final size of the upload; null while it is not known. */
  readonly length: number | null;
  /** The caller whose storage they count for. */
  readonly owner: Storer;
}

/** The key of an object in the store; with an empty name, the prefix of all objects of the upload. */
const keyOf = (id: string, name: string) => `${id}/${name}`;

/** A file's name as it is kept: any text, without what can't be stored or shown, and cut after 255 characters. Undefined if nothing is left. */
export const fileName = (name: string | undefined): string | undefined =>
  [...(name ?? '').replace(/\p{Cc}/gu, ' ').trim()].slice(0, maxFileNameLength).join('') || undefined;

/** Parses a SHA-256 in the form of RFC 9530: `sha-256=:…base64…:`, possibly among other digests. */
export function parseDigest(text: string, field: string): Buffer {
  const found = /(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/=]*):/.exec(text)?.[1];
  const digest = found === undefined ? undefined : Buffer.from(found, 'base64');
  if (digest?.length !== 32) {
    throw new InvalidInputError(
      `${field} has no SHA-256: it must be sha-256=:, the digest in Base64, and a colon.`,
      field,
    );
  }
  return digest;
}
