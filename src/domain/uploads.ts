/**
 * Files that clients send: each is a row of `upload`, and its bytes are rows of `upload_chunk`, or objects in an object store that rows of
 * `upload_object` name. What is stored next is compared with how much there is, so two who send the same part at once do no harm.
 *
 * An object is there before the row that names it, under a name of its own for every attempt: so whatever dies between the two, nothing
 * that was acknowledged is lost, and nothing is written over. What no row names goes with its upload, whose objects begin alike.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queries } from '../db/database.ts';
import { Turns } from '../db/turns.ts';
import { InvalidInputError } from '../errors.ts';
import type { S3Store } from '../object-store/s3.ts';
import { StoreError } from '../object-store/store-error.ts';
import type { StoredUse, Storer } from './stored.ts';

export interface Upload {
  readonly id: string;
  /** How large it will be, in bytes; null while nobody has said so. */
  readonly length: number | null;
  /** How much of it is stored, in bytes. */
  readonly size: number;
  readonly expectedSha256: Buffer | null;
  readonly digestState: Buffer | null;
  /** Of all of it; null until it is complete. */
  readonly sha256: Buffer | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** The object store that has it; null for Postgres. */
  readonly store: string | null;
  /** Of whoever sent it. */
  readonly tenant: string | null;
}

/** What is known of an upload before its first byte. */
export interface NewUpload {
  readonly length: number | undefined;
  readonly sha256: Buffer | undefined;
  readonly tenant: string | null;
  /** Whose it is. */
  readonly owner: Storer;
}

/** So much is a part, in bytes: a row, or an object, of which each has its price and its way. */
const chunkBytes = 512 * 1_024;
const objectBytes = 2 * 1_024 * 1_024;
/** What an upload takes in memory while it comes, in parts: what is gathered, and what is being stored. */
const partsInMemory = 2;

/** So many parts are stored at a time, by turns of their callers: rows, each with a connection, and objects. */
const chunksAtOnce = 3;
const objectsAtOnce = 16;
/** How long a part waits for its turn while the object store is slow. */
const objectTurnMs = 30_000;

/** How much of what nobody needs any more is removed from the store in a turn, and how much of that at once. */
const removedInTurn = 100;
const removedAtOnce = 8;
/** Longer than a turn mostly takes; two servers that remove the same do no harm. */
const removalLeaseMs = 60_000;
/** When this has passed nobody is storing a part any more that began before the removal: the store's own limit is a tenth of it. */
const settleMs = 300_000;

export interface UploadsOptions {
  readonly database: Database;
  /** Where new uploads go; without it, into Postgres. */
  readonly store?: S3Store | undefined;
  /** How long an upload is kept after its last byte, or its last import. */
  readonly lifetimeMs: number;
  /** What tenants may store; without it, anything. */
  readonly stored?: StoredUse | undefined;
}

export class Uploads {
  readonly #database: Database;
  readonly #lifetimeMs: number;
  readonly #store: S3Store | undefined;
  readonly #stored: StoredUse | undefined;
  readonly #chunkTurns = new Turns(chunksAtOnce);
  readonly #objectTurns = new Turns(objectsAtOnce, { waitMs: objectTurnMs });

  constructor({ database, store, lifetimeMs, stored }: UploadsOptions) {
    this.#database = database;
    this.#stored = stored;
    this.#store = store;
    this.#lifetimeMs = lifetimeMs;
  }

  /** What a request with a part may take in memory. */
  get streamedBytes(): number {
    return partsInMemory * (this.#store === undefined ? chunkBytes : objectBytes);
  }

  /** @throws StorageLimitError if there is no room for it */
  async create({ length, sha256, tenant, owner }: NewUpload): Promise<Upload> {
    await this.#stored?.check(owner, { items: 0, bytes: length ?? 1 });
    const [row] = await this.#database.call<{ create_upload: string }>(
      'create_upload',
      length ?? null,
      sha256 ?? null,
      this.#lifetimeMs,
      this.#store?.name ?? null,
      tenant,
    );
    return (await this.find(row?.create_upload ?? '')) as Upload;
  }

  /** With a tenant only an upload of it. */
  async find(id: string, tenant: string | null = null): Promise<Upload | undefined> {
    const { rows } = await this.#database.pool.query<Upload>({
      name: 'read_upload',
      text: `select id, length, size, expected_sha256 as "expectedSha256", digest_state as "digestState", sha256,
               created_at as "createdAt", expires_at as "expiresAt", store, tenant
             from jobtree.upload where id = $1 and removed_at is null and ($2::text is null or tenant = $2)`,
      values: [id, tenant],
    });
    return rows[0];
  }

  /** How much of an upload is stored at a time. */
  partBytes({ store }: Pick<Upload, 'store'>): number {
    return store === null ? chunkBytes : objectBytes;
  }

  /**
   * False if these are not the next bytes, or the upload takes none any more.
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
        // Asked just before, so that nothing is stored for an upload that was removed long ago.
        const found = await this.find(id);
        if (found?.size !== position || found.sha256 !== null) return false;
        await this.#open(store).put(keyOf(id, object), data);
        return true;
      });
      if (!isStored) return false;
    }
    const [row] = await this.#chunkTurns.run(owner, () =>
      this.#database.call<{ append_upload: boolean }>(
        'append_upload',
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
    if (row?.append_upload === true) return true;
    // Nobody has to wait for that: what is left of it goes with the upload.
    if (object !== null)
      this.#open(store)
        .delete(keyOf(id, object))
        .catch(() => {});
    return false;
  }

  /** Says that these bytes are all. False if there are more or less. */
  async finish(id: string, size: number, sha256: Buffer): Promise<boolean> {
    const [row] = await this.#database.call<{ finish_upload: boolean }>(
      'finish_upload',
      id,
      size,
      sha256,
      this.#lifetimeMs,
    );
    return row?.finish_upload === true;
  }

  async remove(id: string): Promise<'REMOVED' | 'GONE' | 'USED'> {
    const [row] = await this.#database.call<{ remove_upload: 'REMOVED' | 'GONE' | 'USED' }>(
      'remove_upload',
      id,
    );
    return row?.remove_upload ?? 'GONE';
  }

  /** Deletes some of what nobody can use any more; whether there may be more. */
  async prune(): Promise<boolean> {
    const [row] = await this.#database.call<{ prune_uploads: boolean }>('prune_uploads');
    return row?.prune_uploads === true;
  }

  /**
   * Deletes some objects of what nobody can use any more; whether there may be more.
   * @throws StoreError if the store does not do it: then others are removed meanwhile, and these are tried again
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
    await this.#database.call('note_removal', id, keys.length === 0, settleMs);
    return true;
  }

  /**
   * The bytes of an upload from a position on, a part at a time; the next one is read while the last one is used.
   * @throws StoreError if the object store that has it does not give it
   */
  async *read(id: string, from: number, signal?: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const upload = await this.find(id);
    if (upload === undefined) throw new Error(`The upload ${id} is gone.`);
    const ended = new AbortController();
    const end = () => ended.abort();
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end);
    const readPart = (at: number) => {
      const part =
        upload.store === null
          ? this.#readChunk(id, at)
          : this.#readObject(this.#open(upload.store), id, at, ended.signal);
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

  async #readChunk(id: string, position: number): Promise<Buffer | undefined> {
    const { rows } = await this.#database.pool.query<{ data: Buffer; position: number }>({
      name: 'read_upload_chunk',
      text: `select position, data from jobtree.upload_chunk
             where upload_id = $1 and position <= $2 order by position desc limit 1`,
      values: [id, position],
    });
    const [row] = rows;
    if (row === undefined || position >= row.position + row.data.length) return undefined;
    return row.data.subarray(position - row.position);
  }

  async #readObject(
    store: S3Store,
    id: string,
    position: number,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    const { rows } = await this.#database.pool.query<{ position: number; size: number; name: string }>({
      name: 'read_upload_object',
      text: `select position, size, name from jobtree.upload_object
             where upload_id = $1 and position <= $2 order by position desc limit 1`,
      values: [id, position],
    });
    const [row] = rows;
    if (row === undefined || position >= row.position + row.size) return undefined;
    return store.get(keyOf(id, row.name), position - row.position, row.size, signal);
  }

  /** @throws StoreError if this server has another one, or none */
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
  /** Where they begin. */
  readonly position: number;
  readonly data: Buffer;
  /** Of the SHA-256 behind them. */
  readonly digestState: Uint8Array;
  /** How large the upload will be; null while that is not known. */
  readonly length: number | null;
  /** Whose they are. */
  readonly owner: Storer;
}

/** Of an object in the store; without a name, how those of the upload begin. */
const keyOf = (id: string, name: string) => `${id}/${name}`;

/** A SHA-256 as the fields of RFC 9530 have it: `sha-256=:…base64…:`, beside which there may be others. */
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

/** The first of the uploads that is none of the tenant's. */
export async function findStrangeUpload(
  { pool }: Pick<Queries, 'pool'>,
  tenant: string,
  ids: readonly string[],
): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  const { rows } = await pool.query<{ id: string }>({
    name: 'find_own_uploads',
    text: 'select id from jobtree.upload where id = any ($1) and tenant = $2',
    values: [ids, tenant],
  });
  const own = new Set(rows.map(({ id }) => id));
  return ids.find((id) => !own.has(id));
}
