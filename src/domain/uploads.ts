/**
 * Files that clients send: each is a row of `upload`, and its bytes are chunks in a store. What is stored next is compared with how much
 * there is, so two who send the same part at once do no harm.
 */
import type { Database } from '../db/database.ts';
import { InvalidInputError } from '../errors.ts';

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
}

/** So much is stored at a time, in bytes: a row has as much, and so has the memory for each upload that is under way. */
export const chunkBytes = 512 * 1_024;

export interface UploadsOptions {
  readonly database: Database;
  /** How long an upload is kept after its last byte, or its last import. */
  readonly lifetimeMs: number;
}

export class Uploads {
  readonly #database: Database;
  readonly #lifetimeMs: number;

  constructor({ database, lifetimeMs }: UploadsOptions) {
    this.#database = database;
    this.#lifetimeMs = lifetimeMs;
  }

  async create(length: number | undefined, sha256: Buffer | undefined): Promise<Upload> {
    const [row] = await this.#database.call<{ create_upload: string }>(
      'create_upload',
      length ?? null,
      sha256 ?? null,
      this.#lifetimeMs,
    );
    return (await this.find(row?.create_upload ?? '')) as Upload;
  }

  async find(id: string): Promise<Upload | undefined> {
    const { rows } = await this.#database.pool.query<Upload>({
      name: 'read_upload',
      text: `select id, length, size, expected_sha256 as "expectedSha256", digest_state as "digestState", sha256,
               created_at as "createdAt", expires_at as "expiresAt"
             from jobtree.upload where id = $1 and not removing`,
      values: [id],
    });
    return rows[0];
  }

  /** False if these are not the next bytes, or the upload takes none any more. */
  async append(
    id: string,
    position: number,
    data: Buffer,
    digestState: Uint8Array,
    length: number | null,
  ): Promise<boolean> {
    const [row] = await this.#database.call<{ append_upload: boolean }>(
      'append_upload',
      id,
      position,
      data,
      Buffer.from(digestState),
      length,
      this.#lifetimeMs,
    );
    return row?.append_upload === true;
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

  /** The bytes of an upload from a position on, a chunk at a time; the next one is read while the last one is used. */
  async *read(id: string, from: number): AsyncGenerator<Buffer, void, undefined> {
    let position = from;
    let next = this.#readChunk(id, position);
    next.catch(() => {});
    for (;;) {
      const chunk = await next;
      if (chunk === undefined) return;
      position += chunk.length;
      next = this.#readChunk(id, position);
      next.catch(() => {});
      yield chunk;
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
}

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
