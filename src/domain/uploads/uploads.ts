/**
 * Files that clients send: each is a row of `upload`, and its bytes are rows of `upload_chunk`, or objects in an object store
 * that rows of `upload_object` name. A part is accepted only if it continues what is stored, so two clients that send the same
 * part at once do no harm.
 *
 * An object is stored before the row that names it, under a different name for every attempt. So whatever fails between the two,
 * nothing acknowledged is lost, and nothing is overwritten. Objects that no row names are deleted with their upload, since the
 * keys of all its objects have the same prefix.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queries, Statement } from '../../db/database.ts';
import { Turns } from '../../db/turns.ts';
import { InvalidInputError } from '../../errors.ts';
import type { S3Store } from '../../object-store/s3.ts';
import { StoreError } from '../../object-store/store-error.ts';
import type { Caller } from '../access/rights.ts';
import type { StoredUse, Storer } from '../access/stored.ts';
import { maxFileNameLength } from '../values/limits.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';

export interface Upload {
  readonly id: string;
  /** Its final size in bytes; null while it is not known. */
  readonly length: number | null;
  /** How many bytes of it are stored. */
  readonly size: number;
  readonly expectedSha256: Buffer | null;
  readonly digestState: Buffer | null;
  /** The digest of the whole upload; null until it is complete. */
  readonly sha256: Buffer | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** The object store that contains it; null for Postgres. */
  readonly store: string | null;
  /** The tenant of the caller that sent it. */
  readonly tenant: string | null;
  /** The name of the file; null if its sender gave none. */
  readonly name: string | null;
}

/** Who sends an upload, or which uploads are meant: those of a tenant and of a caller, where they are not null. */
export type Sender = Pick<Caller, 'tenant' | 'account'>;

const columns = `id, length, size, expected_sha256 as "expectedSha256", digest_state as "digestState", sha256,
  created_at as "createdAt", expires_at as "expiresAt", store, tenant, name`;

const everybody: Sender = { tenant: null, account: null };

/** What is known of an upload before its first byte arrives. */
export interface NewUpload {
  readonly length: number | undefined;
  readonly sha256: Buffer | undefined;
  /** Of the file, if the sender gives one: see `fileName`. */
  readonly name?: string | undefined;
  readonly sender: Sender;
  /** The caller whose storage it counts for. */
  readonly owner: Storer;
}

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

/** `$3` and the like are how long the upload is kept from now on, in milliseconds. */
export const createUpload: Statement = {
  name: 'create_upload',
  text: `insert into jobtree.upload (id, created_at, expires_at, length, expected_sha256, store, tenant, account, name)
    values (jobtree.new_id(), clock_timestamp(), clock_timestamp() + $3 * interval '1 millisecond', $1, $2, $4, $5, $6, $7)
    returning id`,
};

/**
 * Stores `$3` bytes if they continue what is stored, of which the caller believes that it ends at `$2`: if two callers send the same part, one
 * of them stores it. They are `$4`, or the object `$5`; `$7` is the size of the whole upload, if it becomes known only now.
 */
export const appendUpload: Statement = {
  name: 'append_upload',
  first: `taken as (
    update jobtree.upload u
    set size = u.size + $3, digest_state = $6, length = coalesce(u.length, $7),
      expires_at = clock_timestamp() + $8 * interval '1 millisecond'
    where u.id = $1 and u.size = $2 and u.sha256 is null and u.removed_at is null and (u.store is null) = ($5::text is null)
    returning coalesce(u.tenant, '') as tenant
  ), chunk as (
    insert into jobtree.upload_chunk (upload_id, position, data) select $1, $2, $4 from taken where $5 is null
  ), object as (
    insert into jobtree.upload_object (upload_id, position, size, name) select $1, $2, $3, $5 from taken where $5 is not null
  )`,
  text: `insert into jobtree.stored_delta (tenant, items, bytes) select t.tenant, 0, $3 from taken t returning tenant`,
};

export const finishUpload: Statement = {
  name: 'finish_upload',
  text: `update jobtree.upload u
    set length = u.size, sha256 = $3, digest_state = null, expires_at = clock_timestamp() + $4 * interval '1 millisecond'
    where u.id = $1 and u.size = $2 and u.removed_at is null and (u.sha256 is null or u.sha256 = $3)
    returning u.id`,
};

/**
 * Records how far the objects of a removed upload are deleted. A part that a server was storing at that time may arrive later, and if its server
 * died no row names it. So the store counts as empty only if it is found empty after `$3` milliseconds. prune_uploads then deletes the rows.
 */
const noteRemoval: Statement = {
  name: 'note_removal',
  text: `update jobtree.upload u
    set store = case when not $2 or u.removed_at + $3 * interval '1 millisecond' > clock_timestamp() then u.store end,
      expires_at = case when $2 then greatest(clock_timestamp(), u.removed_at + $3 * interval '1 millisecond') else clock_timestamp() end
    where u.id = $1 and u.removed_at is not null`,
};

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
    await this.#database.call(noteRemoval, id, keys.length === 0, settleMs);
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

/** Uploads of a sender that can still be used: the oldest first, or the newest first for a page from the end. */
export async function readUploads(
  { pool }: Pick<Queries, 'pool'>,
  { tenant, account }: Sender,
  { after = firstUuid, before = lastUuid, take, backwards }: Range<string>,
): Promise<Upload[]> {
  const direction = backwards ? 'desc' : 'asc';
  const whose = [
    ['tenant', tenant],
    ['account', account],
  ].filter(([, value]) => value !== null);
  const conditions = whose.map(([column], i) => ` and ${column} = $${i + 4}`).join('');
  const { rows } = await pool.query<Upload>({
    name: `read_uploads/${direction}${conditions}`,
    text: `select ${columns} from jobtree.upload
           where id > $1 and id < $2 and removed_at is null${conditions} order by id ${direction} limit $3`,
    values: [after, before, take, ...whose.map(([, value]) => value)],
  });
  return rows;
}

/** The first of these uploads that the sender has not sent. */
export async function findStrangeUpload(
  { pool }: Pick<Queries, 'pool'>,
  { tenant, account }: Sender,
  ids: readonly string[],
): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  const { rows } = await pool.query<{ id: string }>({
    name: 'find_own_uploads',
    text: `select id from jobtree.upload
           where id = any ($1) and ($2::text is null or tenant = $2) and ($3::text is null or account = $3)`,
    values: [ids, tenant, account],
  });
  const own = new Set(rows.map(({ id }) => id));
  return ids.find((id) => !own.has(id));
}
