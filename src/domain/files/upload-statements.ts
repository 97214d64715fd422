/** What servers write of uploads: each is one statement, which does nothing where another server was faster. */
import type { Statement } from '../../db/database.ts';

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
  ), part as (
    insert into jobtree.upload_part (upload_id, position, size, data, name) select $1, $2, $3, $4, $5 from taken
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
export const recordRemoval: Statement = {
  name: 'note_removal',
  text: `update jobtree.upload u
    set store = case when not $2 or u.removed_at + $3 * interval '1 millisecond' > clock_timestamp() then u.store end,
      expires_at = case when $2 then greatest(clock_timestamp(), u.removed_at + $3 * interval '1 millisecond') else clock_timestamp() end
    where u.id = $1 and u.removed_at is not null`,
};
