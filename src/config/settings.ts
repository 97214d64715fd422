/** The settings of a server: for each variable of the environment its meaning, what it may be, and its default. */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { verifyTls } from './encryption.ts';
import { isEndpoint, isStoreUrl } from './object-store-url.ts';
import { eachHost } from './postgres-url.ts';
import { parseRedisUrl } from './redis-url.ts';

const headerName = (standard: string) =>
  z
    .string()
    .regex(/^[a-z0-9-]+$/i, 'must be the name of a header')
    .transform((name) => name.toLowerCase())
    .default(standard);

const wholeNumber = (lowest: number, highest: number, standard: number) =>
  z.coerce.number().int().min(lowest).max(highest).default(standard);

/** The rule stands with each check, as a union reports the check that a number fails in its own words. */
const wholeNumberOr = <Word extends string>(word: Word, lowest: number, highest: number) => {
  const rule = `must be a whole number from ${lowest} to ${highest}, or ${word}`;
  const number = z.coerce.number(rule).int(rule).min(lowest, rule).max(highest, rule);
  return z.union([z.literal(word), number], { error: rule });
};
const seconds = (lowest: number, highest: number, standard: number | 'never') =>
  wholeNumberOr('never', lowest, highest).default(standard);
/** A limit for a caller or a tenant. */
const limit = (most = 1_000_000_000) => wholeNumberOr('none', 1, most).default('none');

const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: 'must start with postgres:// or postgresql://', abort: true })
  .refine(
    canBeParsed,
    'is not a URL: its port must be a number, and characters such as @, / and # in a password escaped (%40)',
  )
  .transform(verifyTls)
  .optional();

/** As `pg` parses it: a user may be followed by no host at all. */
function canBeParsed(text: string): boolean {
  return eachHost(text).every((url) => URL.canParse(url) || URL.canParse(url.replace('@/', '@host/')));
}

const redisUrl = z.string().transform((text, context) => {
  try {
    return parseRedisUrl(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

export const settings = {
  DATABASE_URL: postgresUrl.describe(
    'The Postgres database (version 15 or newer). Of several hosts (`postgres://user@first:5432,second:5432/database`) the primary is used. Without it, the server starts an embedded Postgres.',
  ),
  JOBTREE_DIRECT_DATABASE_URL: postgresUrl.describe(
    'The same database, bypassing a pooler such as PgBouncer, for LISTEN and migrations. Without it, DATABASE_URL must lead to Postgres itself.',
  ),
  JOBTREE_PREPARED_STATEMENTS: z
    .enum(['true', 'false'])
    .default('true')
    .describe(
      'Whether to use named prepared statements. Must be false behind PgBouncer in transaction mode before 1.21, or with max_prepared_statements = 0.',
    ),
  REDIS_URL: redisUrl
    .optional()
    .describe(
      'The Redis or Valkey that carries messages between servers: `redis://`, `redis+cluster://` or `redis+sentinel://`, with `rediss` for TLS. Without it, each server listens to Postgres.',
    ),
  JOBTREE_REDIS_PREFIX: z
    .string()
    .regex(/^[!-~]{1,100}$/, 'must be 1 to 100 visible ASCII characters')
    .optional()
    .describe(
      'The prefix of channel names in Redis. Without it, `jobtree:` and the id of the Postgres database.',
    ),
  JOBTREE_DATA_DIR: z
    .string()
    .min(1)
    .default('./.jobtree')
    .describe('The directory in which the embedded Postgres keeps its data.'),
  JOBTREE_HOST: z.string().min(1).default('127.0.0.1').describe('The address to listen on.'),
  JOBTREE_AUTH: z
    .string()
    .regex(
      /^(none|(keys|jwt|proxy)(,(keys|jwt|proxy))*)$/,
      'must be none, or some of keys, jwt and proxy, separated by commas',
    )
    .optional()
    .describe(
      'How callers authenticate: one or more of `keys` (API keys: `jobtree api-keys`), `jwt` (JSON Web Tokens) and `proxy` (headers from a proxy), separated by commas; or `none`, with which anyone who reaches the port may do everything. Without it, a server on a loopback address behaves as with `none`, and on other addresses it does not start.',
    ),
  JOBTREE_TLS_CERT_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "A PEM file with the server's certificate, followed by any intermediate certificates. Requires JOBTREE_TLS_KEY_FILE.",
    ),
  JOBTREE_TLS_KEY_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('A PEM file with the private key of the certificate, without a passphrase.'),
  JOBTREE_JWT_ISSUER: z
    .string()
    .min(1)
    .optional()
    .describe('With `jwt`: the required issuer of tokens (`iss`).'),
  JOBTREE_JWT_AUDIENCE: z
    .string()
    .min(1)
    .optional()
    .describe('With `jwt`: the required audience of tokens (`aud`).'),
  JOBTREE_JWT_JWKS_URL: z
    .string()
    .regex(/^https?:\/\/\S+$/, 'must be an http or https URL')
    .optional()
    .describe("With `jwt`: the URL of the issuer's public keys, a JSON Web Key Set."),
  JOBTREE_JWT_ALGORITHMS: z
    .string()
    .regex(
      /^((RS|PS|ES)(256|384|512)|EdDSA)(,((RS|PS|ES)(256|384|512)|EdDSA))*$/,
      'must be some of RS256, PS256, ES256 (or 384, 512) and EdDSA, separated by commas',
    )
    .default('RS256,ES256')
    .describe('With `jwt`: the accepted signature algorithms.'),
  JOBTREE_JWT_CLOCK_SKEW_SECONDS: wholeNumber(0, 600, 30).describe(
    "With `jwt`: how far the issuer's clock may differ.",
  ),
  JOBTREE_JWT_ROLES_CLAIM: z
    .string()
    .min(1)
    .default('jobtree_roles')
    .describe('With `jwt`: the claim with the roles, a list or a string separated by spaces.'),
  JOBTREE_JWT_TYPES_CLAIM: z
    .string()
    .min(1)
    .default('jobtree_types')
    .describe('With `jwt`: the claim with the types that the token may access; without it, all.'),
  JOBTREE_JWT_TREES_CLAIM: z
    .string()
    .min(1)
    .default('jobtree_trees')
    .describe(
      'With `jwt`: the claim with the roots of the trees that the token may access; without it, all.',
    ),
  JOBTREE_JWT_TENANT_CLAIM: z
    .string()
    .min(1)
    .default('jobtree_tenant')
    .describe('With `jwt`: the claim with the tenant of the token. A token without it has no tenant.'),
  JOBTREE_PROXY_USER_HEADER: headerName('x-forwarded-user').describe(
    "With `proxy`: the header with the caller's name.",
  ),
  JOBTREE_PROXY_ROLES_HEADER: headerName('x-forwarded-roles').describe(
    "With `proxy`: the header with the caller's roles, separated by commas.",
  ),
  JOBTREE_PROXY_TENANT_HEADER: headerName('x-forwarded-tenant').describe(
    "With `proxy`: the header with the caller's tenant. A request without it has no tenant.",
  ),
  JOBTREE_PROXY_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .describe(
      'With `proxy`: the secret that the proxy must send in the header `jobtree-proxy-secret` to be trusted.',
    ),
  JOBTREE_PROXY_NETWORKS: z
    .string()
    .refine((text) => text.split(',').every((network) => ipaddr.isValidCIDR(network)), {
      message: 'must be networks (10.0.0.0/8,fd00::/8), separated by commas',
    })
    .optional()
    .describe(
      'With `proxy`: the networks from which the proxy must connect to be trusted, separated by commas: `10.0.0.7/32`.',
    ),
  JOBTREE_PORT: wholeNumber(0, 65535, 4000).describe('The port to listen on; 0 picks a free one.'),
  JOBTREE_POOL_SIZE: wholeNumber(2, 200, 10).describe(
    'The maximum number of Postgres connections for operations; reads of the API use up to half as many more.',
  ),
  JOBTREE_DATABASE_TIMEOUT_MS: wholeNumber(1_000, 3_600_000, 60_000).describe(
    'How long Postgres may take to answer a statement. After that the connection counts as dead, and the request fails.',
  ),
  JOBTREE_START_TIMEOUT_MS: wholeNumber(0, 3_600_000, 30_000).describe(
    'How long a starting server waits for connections if Postgres has none free. After that it exits with status 5.',
  ),
  JOBTREE_DURABLE_CLAIMS: z
    .enum(['true', 'false'])
    .default('true')
    .describe(
      'Whether an answered claim survives a crash of Postgres. With false, claims do not wait for the disk.',
    ),
  JOBTREE_MAX_JSON_BYTES: wholeNumber(1_000, 50_000_000, 1_000_000).describe(
    'The largest payload or result, as JSON text.',
  ),
  JOBTREE_MAX_REQUEST_BYTES: wholeNumber(10_000, 500_000_000, 8_000_000).describe(
    'The largest request over HTTP or WebSocket.',
  ),
  JOBTREE_MAX_UPLOAD_BYTES: wholeNumber(1_000, 100_000_000_000_000, 10_000_000_000).describe(
    'The largest file that can be uploaded.',
  ),
  JOBTREE_MAX_FILE_TEXT_BYTES: wholeNumber(1_000, 100_000_000_000_000, 50_000_000_000).describe(
    'The maximum size of an imported file after decompression.',
  ),
  JOBTREE_UPLOAD_LIFETIME_MS: wholeNumber(1_000, 31_536_000_000, 86_400_000).describe(
    'How long an upload is kept after its last byte, and at least until its imports end.',
  ),
  JOBTREE_UPLOAD_STORE_URL: z
    .string()
    .refine(isStoreUrl, { message: 'must be s3://bucket or s3://bucket/folder' })
    .optional()
    .describe(
      'The bucket for uploads, on S3 or any compatible store: `s3://bucket` or `s3://bucket/folder`. Without it, uploads are stored in Postgres. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the usual AWS sources. Set the same value on all servers of a database.',
    ),
  JOBTREE_UPLOAD_STORE_ENDPOINT: z
    .string()
    .refine(isEndpoint, {
      message: 'must be an http:// or https:// address, without credentials and parameters',
    })
    .optional()
    .describe('The address of an object store other than AWS: `https://minio.example.com:9000`.'),
  JOBTREE_UPLOAD_STORE_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'must be a region, such as eu-central-1')
    .optional()
    .describe(
      'The region of the bucket. Without it, AWS_REGION is used; without that, us-east-1 for stores other than AWS.',
    ),
  JOBTREE_UPLOAD_STORE_PATH_STYLE: z
    .enum(['true', 'false'])
    .default('false')
    .describe(
      "Whether the bucket is part of the URL's path instead of its host name, as many stores other than AWS require.",
    ),
  JOBTREE_MAX_QUERY_TOKENS: wholeNumber(1_000, 1_000_000, 20_000).describe(
    'The maximum length of an operation, in tokens; values in variables do not count.',
  ),
  JOBTREE_MAX_QUERY_COST: wholeNumber(1_000, 1_000_000_000, 100_000).describe(
    'The maximum cost of an operation: the number of values that its answer would have if every page were full, a tree had 1,000 jobs and a job 300 children.',
  ),
  JOBTREE_MAX_ANSWER_BYTES: wholeNumber(10_000, 400_000_000, 64_000_000).describe(
    'The maximum amount of text in an answer: payloads, results and failures as JSON, and all other text and names. A single item may have more.',
  ),
  JOBTREE_MAX_REQUESTS: wholeNumber(10, 1_000_000, 5_000).describe(
    'The maximum number of queries and mutations in progress; one caller or tenant can use 90 % of it over HTTP, and a quarter is reserved for requests that keep leases alive. Further requests are refused with UNAVAILABLE.',
  ),
  JOBTREE_MAX_OPERATIONS_PER_SOCKET: wholeNumber(1, 100_000, 1_000).describe(
    'The maximum number of operations in progress on a WebSocket; further ones are refused.',
  ),
  JOBTREE_MAX_MESSAGES_PER_SECOND: wholeNumber(1, 1_000_000, 5_000).describe(
    'How many messages per second the server reads from a WebSocket.',
  ),
  JOBTREE_CALLER_CONNECTIONS: wholeNumber(1, 1_000_000, 10_000).describe(
    'The maximum number of WebSockets and event streams, together, that a caller may have open: a key, a user or, without authentication, an address.',
  ),
  JOBTREE_CALLER_REQUESTS_PER_SECOND: limit().describe(
    'How many operations per second a caller may send to each server, over HTTP and WebSocket; further ones are refused (429). An API key may have its own limit.',
  ),
  JOBTREE_CALLER_COST_PER_SECOND: limit().describe(
    "How much a caller's operations may cost per second on each server, counted as for JOBTREE_MAX_QUERY_COST. An API key may have its own limit.",
  ),
  JOBTREE_CALLER_SUBSCRIPTIONS: limit().describe(
    'The maximum number of subscriptions that a caller may have open on each server. An API key may have its own limit.',
  ),
  JOBTREE_TENANT_REQUESTS_PER_SECOND: limit().describe(
    'The same as for a caller, for all callers of a tenant together.',
  ),
  JOBTREE_TENANT_COST_PER_SECOND: limit().describe(
    'The same as for a caller, for all callers of a tenant together.',
  ),
  JOBTREE_TENANT_CONNECTIONS: limit().describe(
    'The maximum number of WebSockets and event streams that all callers of a tenant together may have open on each server.',
  ),
  JOBTREE_TENANT_SUBSCRIPTIONS: limit().describe('The same for subscriptions.'),
  JOBTREE_TENANT_MAX_STORED_ITEMS: limit(1_000_000_000_000_000).describe(
    'The maximum number of items, pending and finished, that a tenant may have stored. Requests that would add more are refused with STORAGE_LIMIT.',
  ),
  JOBTREE_TENANT_MAX_STORED_BYTES: limit(1_000_000_000_000_000).describe(
    'The same for bytes: payloads and results as JSON text, and uploads.',
  ),
  JOBTREE_CALLER_SUBSCRIPTION_COST: wholeNumber(1_000, 1_000_000_000, 2_000_000).describe(
    "The maximum total cost of a caller's open subscriptions, counted as for JOBTREE_MAX_QUERY_COST, with at least 100 for each; one connection may use a quarter of it.",
  ),
  JOBTREE_CALLER_BYTES_UNDER_WAY: wholeNumber(100_000, 10_000_000_000, 100_000_000).describe(
    "The maximum size of a caller's or tenant's requests and answers in progress; further requests are refused (429). A single request is never refused.",
  ),
  JOBTREE_MAX_BYTES_UNDER_WAY: wholeNumber(100_000, 10_000_000_000, 200_000_000).describe(
    'The same for all callers together (503).',
  ),
  JOBTREE_TRUSTED_PROXIES: wholeNumber(0, 10, 0).describe(
    'The number of proxies in front of the server that add to X-Forwarded-For. With 0 the header is ignored.',
  ),
  JOBTREE_FOLD_INTERVAL_MS: wholeNumber(5, 1_000, 20).describe(
    'The shortest interval at which progress is counted.',
  ),
  JOBTREE_SWEEP_INTERVAL_MS: wholeNumber(100, 60_000, 1_000).describe(
    'The interval at which the server looks for lost heartbeats and due items.',
  ),
  JOBTREE_CALLBACK_TIMEOUT_MS: wholeNumber(100, 60_000, 15_000).describe(
    'The maximum time for one attempt at a callback, including looking up the name, connecting, and the answer.',
  ),
  JOBTREE_CALLBACK_NETWORKS: z
    .string()
    .refine((text) => text.split(',').every((network) => ipaddr.isValidCIDR(network)), {
      message: 'must be networks (10.0.0.0/8,fd00::/8), separated by commas',
    })
    .optional()
    .describe(
      'Networks that callbacks may reach in addition to the public internet, separated by commas: `10.0.0.0/8,fd00::/8`. Without it, addresses that are private, loopback, link-local or otherwise not public are refused.',
    ),
  JOBTREE_SECRETS_KEY: z
    .string()
    .regex(
      /^[A-Za-z0-9+/]{43}=(,[A-Za-z0-9+/]{43}=){0,3}$/,
      'must be 32 bytes in base64 (`openssl rand -base64 32`), or up to four of these separated by commas',
    )
    .optional()
    .describe(
      'The key that seals the secrets of callback endpoints in the database: 32 bytes in base64. Of several, separated by commas, the first seals, and all open. Without it, the secrets are stored unencrypted.',
    ),
  JOBTREE_RETENTION_SECONDS: seconds(0, 315_576_000, 604_800).describe(
    'How long complete trees without a retention of their own are kept, or `never`: for ever. It also applies to trees that are already complete. Set the same value on all servers of a database.',
  ),
  JOBTREE_AUDIT_RETENTION_SECONDS: seconds(86_400, 315_576_000, 34_560_000).describe(
    'How long entries of the audit are kept, or `never`: for ever. At least a day. Set the same value on all servers of a database.',
  ),
  JOBTREE_IDLE_SECONDS: wholeNumber(1, 315_576_000, 86_400).describe(
    'The time after which a tree counts as idle: one of its jobs is not sealed, and nothing is left to do.',
  ),
  JOBTREE_IDLE_EXPIRY_SECONDS: seconds(1, 315_576_000, 'never').describe(
    'The time after which idle trees without an expiry of their own are cancelled, or `never`.',
  ),
  JOBTREE_SLOW_FACTOR: z.coerce
    .number()
    .min(1)
    .max(1_000)
    .default(3)
    .describe('An item counts as slow when a worker has held it for this many times the p99 of its type.'),
  JOBTREE_SLOW_AFTER_MS: wholeNumber(0, 86_400_000, 10_000).describe(
    'The shortest time after which an item can count as slow.',
  ),
  JOBTREE_METRICS: z
    .enum(['true', 'false'])
    .default('true')
    .describe('Whether /metrics serves metrics for Prometheus.'),
  JOBTREE_METRICS_TYPES: wholeNumber(0, 1_000, 100).describe(
    'How many types, and how many tenants, have their own metrics: the first that the server sees. The others are combined as `other`.',
  ),
  JOBTREE_SHUTDOWN_DELAY_MS: wholeNumber(0, 600_000, 0).describe(
    'How long the server keeps serving after SIGTERM while /readyz already answers 503, so that load balancers notice.',
  ),
  JOBTREE_SHUTDOWN_TIMEOUT_MS: wholeNumber(0, 600_000, 10_000).describe(
    'How long requests in flight may take to finish after that.',
  ),
  JOBTREE_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('The log level. `debug` adds the start and end of every item and request.'),
  JOBTREE_LOG_PAYLOADS: z
    .enum(['true', 'false'])
    .default('false')
    .describe('Whether payloads and results may be logged.'),
  JOBTREE_ALLOWED_HOSTS: z
    .string()
    .regex(
      /^(\*|[a-z0-9._-]+(,[a-z0-9._-]+)*)$/i,
      'must be names (jobs.example.com), separated by commas, or *',
    )
    .optional()
    .describe(
      'The host names by which clients reach the server, in addition to `localhost`, IP addresses and JOBTREE_HOST, separated by commas: `jobs.example.com`, or `*` for all. Requests to other names are refused.',
    ),
  JOBTREE_ALLOWED_ORIGINS: z
    .string()
    .regex(
      /^(\*|https?:\/\/[^\s,/]+(,https?:\/\/[^\s,/]+)*)?$/,
      'must be origins (https://example.com), separated by commas, or *',
    )
    .optional()
    .describe(
      'The origins whose web pages may use the API, on every path, separated by commas: `https://app.example.com`, or `*` for all. Without it, only pages of the server itself may.',
    ),
  JOBTREE_DASHBOARD: z
    .enum(['true', 'false'])
    .default('true')
    .describe('Whether /dashboard is served, and / leads there.'),
  JOBTREE_DASHBOARD_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe(
      'With `jwt`: the id of the dashboard as a public client of JOBTREE_JWT_ISSUER, at which people then sign in by OpenID Connect. Without it, the dashboard asks for a token.',
    ),
  JOBTREE_DASHBOARD_SCOPE: z
    .string()
    .regex(/^openid( [!-~]+)*$/, 'must be openid, and any further scopes after spaces')
    .default('openid')
    .describe(
      'The scopes that the dashboard asks for, separated by spaces. Some issuers give refresh tokens only with `openid offline_access`.',
    ),
  JOBTREE_DASHBOARD_SIGN_IN_PARAMETERS: z
    .string()
    .regex(/^[!-~]+=[!-~]*$/, 'must be parameters as in a URL (audience=jobtree&prompt=login)')
    .optional()
    .describe(
      'Further parameters that the issuer needs to make a token for this server, as in a URL: `audience=jobtree` or `resource=https%3A%2F%2Fjobtree.example.com`.',
    ),
  JOBTREE_GRAPHIQL: z
    .enum(['true', 'false'])
    .default('true')
    .describe('Whether /graphql shows GraphiQL to browsers.'),
};

/** Names that are not for the server: those of the client and the command line, and those that `jobtree work` sets for its commands. */
export const foreignNames = new Set([
  'JOBTREE_URL',
  'JOBTREE_TOKEN',
  'JOBTREE_DEBUG',
  'JOBTREE_ITEM_ID',
  'JOBTREE_JOB_ID',
  'JOBTREE_TYPE',
  'JOBTREE_ATTEMPT',
]);

/** Settings whose values contain passwords or keys, which must not be logged. */
export const secretSettings = new Set([
  'DATABASE_URL',
  'JOBTREE_DIRECT_DATABASE_URL',
  'REDIS_URL',
  'JOBTREE_PROXY_SECRET',
  'JOBTREE_SECRETS_KEY',
  'JOBTREE_JWT_JWKS_URL',
  'JOBTREE_UPLOAD_STORE_URL',
  'JOBTREE_UPLOAD_STORE_ENDPOINT',
]);

/** Every setting with its meaning and default, for `jobtree help settings` and the documentation. */
export const settingDescriptions: readonly { name: string; meaning: string; standard: string }[] =
  Object.entries(settings).map(([name, schema]) => ({
    name,
    meaning: schema.description ?? '',
    standard: schema instanceof z.ZodDefault ? String(schema.def.defaultValue) : 'not set',
  }));
