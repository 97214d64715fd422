/** Where callbacks go: named URLs with secrets, which are shown once, when they are created. */
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Queries, Statement } from '../../db/database.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { checkInteger, checkName, checkText } from '../values/checks.ts';
import { keepPreviousMsRange, maxNameLength, maxUrlLength } from '../values/limits.ts';
import { namesOf } from '../values/tenants.ts';
import { type CallbackAddresses, ForbiddenAddressError } from './addresses.ts';
import { SealedError, type SecretBox } from './secret-box.ts';

/** What callbacks need of the engine. */
export interface CallbackEngine {
  readonly database: Queries;
  readonly logger: Logger;
  readonly callbackAddresses: CallbackAddresses;
  /** For the secrets of endpoints. */
  readonly secrets: SecretBox;
}

export interface CallbackEndpoint {
  readonly name: string;
  readonly url: string;
  readonly createdAt: Date;
  readonly previousSecretUntil: Date | null;
  readonly goneAt: Date | null;
}

/** How long to wait for the addresses of a new URL; they are looked up again for each attempt. */
const lookUpMs = 3_000;
const dayMs = 86_400_000;

/** An endpoint that exists keeps its secret, and is called again if it had answered 410. */
const put: Statement = {
  name: 'put_endpoint',
  text: `insert into jobtree.callback_endpoint as e (name, url, secret, created_at) values ($1, $2, $3, clock_timestamp())
    on conflict (name) do update set url = excluded.url, gone_at = null
    returning e.secret = $3 as created`,
};

/** Returns the secret only if the endpoint is new. */
export async function putEndpoint(
  engine: CallbackEngine,
  endpoint: { readonly name: string; readonly url: string },
): Promise<{ secret: string | null }> {
  const name = checkName(endpoint.name, 'name', maxNameLength);
  const url = await checkUrl(engine, endpoint.url);
  const secret = newSecret();
  const sealed = engine.secrets.seal(secret, name);
  const [row] = await engine.database.call<{ created: boolean }>(put, name, url, sealed);
  return { secret: row?.created ? secret : null };
}

const rotate: Statement = {
  name: 'rotate_secret',
  text: `update jobtree.callback_endpoint e
    set secret = $2, previous_secret = e.secret, previous_secret_until = clock_timestamp() + $3 * interval '1 millisecond'
    where e.name = $1
    returning e.name`,
};

/** The previous secret is also used for signatures for `keepPreviousMs`. */
export async function rotateSecret(
  engine: CallbackEngine,
  named: string,
  keepPreviousMs: number = dayMs,
): Promise<{ secret: string }> {
  const name = checkName(named, 'name', maxNameLength);
  checkInteger(keepPreviousMs, 'keepPreviousMs', ...keepPreviousMsRange);
  const secret = newSecret();
  await change(engine, rotate, name, engine.secrets.seal(secret, name), keepPreviousMs);
  return { secret };
}

async function change(
  { database }: CallbackEngine,
  what: Statement,
  name: string,
  ...values: readonly unknown[]
) {
  const [row] = await database.call(what, name, ...values);
  if (row === undefined) throw new NotFoundError(`There is no endpoint ${name}.`, 'name');
}

/** Does nothing if the secret has changed meanwhile. */
export const sealSecret: Statement = {
  name: 'seal_secret',
  text: `update jobtree.callback_endpoint e
    set secret = case when e.secret = $2 then $3 else e.secret end,
      previous_secret = case when e.previous_secret = $2 then $3 else e.previous_secret end
    where e.name = $1 and $2 in (e.secret, e.previous_secret)`,
};

/** Seals secrets that are not sealed, or that are sealed with an old key. A secret that can't be opened stays as it is. */
export async function sealSecrets({ database, secrets, logger }: CallbackEngine): Promise<void> {
  if (!secrets.seals) return;
  const { rows } = await database.pool.query<{ name: string; stored: string }>({
    name: 'read_secrets',
    text: `select e.name, s.stored from jobtree.callback_endpoint e
           cross join lateral (values (e.secret), (e.previous_secret)) s(stored)
           where s.stored is not null`,
  });
  for (const { name, stored } of rows) {
    if (secrets.isCurrent(stored)) continue;
    try {
      await database.call(sealSecret, name, stored, secrets.seal(secrets.open(stored, name), name));
    } catch (error) {
      if (!(error instanceof SealedError)) throw error;
      logger.warn({ endpoint: name, reason: error.message }, 'the secret of an endpoint cannot be opened');
    }
  }
}

const deleteOne: Statement = {
  name: 'delete_endpoint',
  text: 'delete from jobtree.callback_endpoint e where e.name = $1 returning e.name',
};

/** Deliveries to it that are pending fail. */
export const deleteEndpoint = (engine: CallbackEngine, name: string): Promise<void> =>
  change(engine, deleteOne, checkName(name, 'name', maxNameLength));

const columns = `name, url, created_at as "createdAt", gone_at as "goneAt",
  case when previous_secret_until > now() then previous_secret_until end as "previousSecretUntil"`;

/** The endpoints with these names, in any order. */
export async function readEndpoints(
  database: Queries,
  names: readonly string[],
): Promise<CallbackEndpoint[]> {
  const { rows } = await database.pool.query<CallbackEndpoint>({
    name: 'read_endpoints',
    text: `select ${columns} from jobtree.callback_endpoint where name = any ($1)`,
    values: [names],
  });
  return rows;
}

/** Lists endpoints by name, starting after `after`; only those of `tenant`, unless that is null. */
export async function listEndpoints(
  database: Queries,
  { tenant = null, after, take }: { tenant?: string | null; after: string | null; take: number },
): Promise<CallbackEndpoint[]> {
  const { from, until } = namesOf(tenant);
  const { rows } = await database.pool.query<CallbackEndpoint>({
    name: 'list_endpoints',
    text: `select ${columns} from jobtree.callback_endpoint 
           where ($1::text is null or name > $1) and ($3::text is null or name < $3) order by name limit $2`,
    values: [after ?? from, take, until],
  });
  return rows;
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

/** Returns the normalized URL, so that different spellings of an address are equal. */
async function checkUrl(engine: CallbackEngine, text: string): Promise<string> {
  checkText(text, 'url', maxUrlLength);
  if (!URL.canParse(text)) throw new InvalidInputError('url is not a URL.', 'url');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new InvalidInputError(
      `url begins with ${url.protocol}, and must begin with https: or http:.`,
      'url',
    );
  if (url.username !== '' || url.password !== '')
    throw new InvalidInputError('url has a user or a password; its secret shows who calls.', 'url');
  url.hash = '';
  checkText(url.href, 'url', maxUrlLength);
  try {
    await engine.callbackAddresses.of(url, AbortSignal.timeout(lookUpMs));
  } catch (error) {
    // A name that has no address now may have one when it is called.
    if (error instanceof ForbiddenAddressError)
      throw new InvalidInputError(`url can't be called: ${error.message}`, 'url');
  }
  return url.href;
}
