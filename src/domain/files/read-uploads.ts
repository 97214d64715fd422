/** Uploads as they are sent and stored, and who may use which. */
import type { Queries } from '../../db/database.ts';
import type { Caller } from '../access/rights.ts';
import type { Storer } from '../access/stored.ts';
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

export const columns = `id, length, size, expected_sha256 as "expectedSha256", digest_state as "digestState", sha256,
  created_at as "createdAt", expires_at as "expiresAt", store, tenant, name`;

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
export async function findForeignUpload(
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
