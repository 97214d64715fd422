/** The object store of uploads: whether servers can do with it what they have to; and uploads that are in another one. */
import { randomUUID } from 'node:crypto';
import type { ObjectStoreConfig } from '../config/object-store-url.ts';
import { counted } from '../domain/values/counted.ts';
import { S3Store } from '../object-store/s3.ts';
import { StoreError } from '../object-store/store-error.ts';
import { type Judgement, ok, sick, span, warning } from './finding.ts';
import type { Session } from './session.ts';

/** For each of the four requests. */
const limitMs = 5_000;

const correctKeys =
  'Correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or wherever else AWS programs find credentials.';
const correctRegion = 'Correct JOBTREE_UPLOAD_STORE_REGION: the bucket is in another region.';
const advices: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Create the bucket, or correct JOBTREE_UPLOAD_STORE_URL.',
  InvalidAccessKeyId: correctKeys,
  SignatureDoesNotMatch: correctKeys,
  CredentialsProviderError: correctKeys,
  ExpiredToken: correctKeys,
  PermanentRedirect: correctRegion,
  AuthorizationHeaderMalformed: correctRegion,
};
const bringBack =
  'Bring it back, or correct JOBTREE_UPLOAD_STORE_ENDPOINT. Meanwhile uploads get 503, imports wait for an hour, and nothing is lost.';

/** Writes, reads, lists and deletes an object of its own. */
export async function checkUploadStore(config: ObjectStoreConfig): Promise<Judgement[]> {
  const store = new S3Store({ config, limitMs });
  const folder = `doctor-${randomUUID()}`;
  const [key, bytes] = [`${folder}/probe`, Buffer.from('jobtree')];
  let action = '';
  const attempt = <T>(name: string, act: () => Promise<T>) => {
    action = name;
    return act();
  };
  const beganAt = performance.now();
  try {
    await attempt('s3:PutObject', () => store.put(key, bytes));
    await attempt('s3:GetObject', () => store.get(key, 0, bytes.length));
    const keys = await attempt('s3:ListBucket', () => store.list(`${folder}/`, 2));
    await attempt('s3:DeleteObject', () => store.delete(key));
    if (!keys.includes(key))
      return [
        warning(
          `${store.name} does not list an object that was just stored.`,
          'Removed uploads may leave objects there: check it now and then.',
        ),
      ];
    return [
      ok(
        `${store.name} stores, returns, lists and deletes an object within ${span(performance.now() - beganAt)}`,
      ),
    ];
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const { problem, reason } = error;
    const advice =
      advices[reason] ??
      (reason === 'AccessDenied' ? `Allow ${action}: docs/object-store.md has the policy.` : bringBack);
    return [sick(`${store.name} fails at ${action}: ${problem}`, advice)];
  } finally {
    store.close();
  }
}

export async function checkOtherStores(
  session: Session,
  config: ObjectStoreConfig | undefined,
): Promise<Judgement[]> {
  const found = await session.query<{ store: string; uploads: number; since: Date }>(
    `select u.store, count(*)::int as uploads, min(u.created_at) as since
     from (
       select u.store, u.created_at from jobtree.upload u where u.store < $1 or u.store > $1 limit 1000
     ) u
     group by u.store order by u.store`,
    [config?.name ?? ''],
  );
  return found.map(({ store, uploads, since }) =>
    warning(
      `${counted(uploads, 'upload')} ${uploads === 1 ? 'is' : 'are'} in ${store}, which these settings do not point to: nobody can read or remove ${uploads === 1 ? 'it' : 'them'}.`,
      'Run a server with the former JOBTREE_UPLOAD_STORE_… settings until they are gone.',
      since,
    ),
  );
}
