/**
 * The environment as one frozen, validated value. It is read once, at the edge of the program, and passed down from there;
 * nothing else reads the environment. All problems are listed at once. An unknown `JOBTREE_…` name is a problem too, since it is
 * most likely misspelt.
 */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { isLoopback, verifyTls } from './encryption.ts';
import { isEndpoint, isStoreUrl, type ObjectStoreConfig, readObjectStore } from './object-store-url.ts';
import { parseRedisUrl, type RedisConfig } from './redis-url.ts';

const headerName = (standard: string) =>
  z
    .string()
    .regex(/^[a-z0-9-]+$/i, 'must be the name of a header')
    .transform((name) => name.toLowerCase())
    .default(standard);

const milliseconds = (lowest: number, highest: number, standard: number) =>
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
const numberOf = (value: number | 'none') => (value === 'none' ? null : value);
const orNull = (value: number | 'never') => (value === 'never' ? null : value);

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
  return URL.canParse(text) || URL.canParse(text.replace('@/', '@host/'));
}

const redisUrl = z.string().transform((text, context) => {
  try {
    return parseRedisUrl(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

const settings = {
  DATABASE_URL: postgresUrl.describe(
    'The Postgres database (version 15 or newer). Without it, the server starts an embedded Postgres.',
  ),
  JOBTREE_DIRECT_DATABASE_URL: postgresUrl.describe(
    'The same database, bypassing a pooler such as PgBouncer, for LISTEN and migrations. Without it, DATABASE_URL must lead to Postgres itself.',
  ),
  JOBTREE_PREPARED_STATEMENTS: z
    .enum(['true', 'false'])
    .default('true')
    .describe(
      'Whether to use named prepared statements, which is faster. Must be false behind PgBouncer in transaction mode if it is older than 1.21 or has max_prepared_statements = 0.',
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
      "A PEM file with the server's certificate, followed by any intermediate certificates. The API is then https and wss on the same port, with TLS 1.2 or newer. The file is read again every five seconds. Requires JOBTREE_TLS_KEY_FILE.",
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
  JOBTREE_JWT_CLOCK_SKEW_SECONDS: z.coerce
    .number()
    .int()
    .min(0)
    .max(600)
    .default(30)
    .describe("With `jwt`: how far the issuer's clock may differ, in seconds."),
  JOBTREE_JWT_ROLES_CLAIM: z
    .string()
    .min(1)
    .default('jobtree_roles')
    .describe('With `jwt`: the claim with the roles, a list or a string separated by spaces.'),
  JOBTREE_JWT_TYPES_CLAIM: z
    .string()
    .min(1)
    .default('jobtree_types')
    .describe(
      'With `jwt`: the claim with the types that the token may access. A token without it may access all types.',
    ),
  JOBTREE_JWT_TREES_CLAIM: z
    .string()
    .min(1)
    .default('jobtree_trees')
    .describe(
      'With `jwt`: the claim with the trees that the token may access, as ids of their roots. A token without it may access all trees.',
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
  JOBTREE_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(4000)
    .describe('The port to listen on; 0 picks a free one.'),
  JOBTREE_POOL_SIZE: z.coerce
    .number()
    .int()
    .min(2)
    .max(200)
    .default(10)
    .describe(
      'The maximum number of Postgres connections for operations. Reads of the API use up to half as many more, heartbeats two, and listening and health checks one each.',
    ),
  JOBTREE_DATABASE_TIMEOUT_MS: milliseconds(1_000, 3_600_000, 60_000).describe(
    'How long Postgres may take to answer a statement, in milliseconds. After that the connection counts as dead, and the request fails.',
  ),
  JOBTREE_START_TIMEOUT_MS: milliseconds(0, 3_600_000, 30_000).describe(
    'How long a starting server waits for connections if Postgres has none free (too many clients, or it is just starting), in milliseconds. After that it exits with status 5.',
  ),
  JOBTREE_DURABLE_CLAIMS: z
    .enum(['true', 'false'])
    .default('true')
    .describe(
      'Whether an answered claim survives a crash of Postgres. With false, claims do not wait for the disk: items of forgotten claims go to another worker, and results of the first worker are refused.',
    ),
  JOBTREE_MAX_JSON_BYTES: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(50_000_000)
    .default(1_000_000)
    .describe('The largest payload or result, in bytes of its JSON text.'),
  JOBTREE_MAX_REQUEST_BYTES: z.coerce
    .number()
    .int()
    .min(10_000)
    .max(500_000_000)
    .default(25_000_000)
    .describe('The largest request over HTTP or WebSocket, in bytes.'),
  JOBTREE_MAX_UPLOAD_BYTES: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(100_000_000_000_000)
    .default(10_000_000_000)
    .describe('The largest file that can be uploaded, in bytes.'),
  JOBTREE_MAX_FILE_TEXT_BYTES: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(100_000_000_000_000)
    .default(50_000_000_000)
    .describe(
      'The maximum size of an imported file after decompression, in bytes. An import that exceeds it ends.',
    ),
  JOBTREE_UPLOAD_LIFETIME_MS: milliseconds(1_000, 31_536_000_000, 86_400_000).describe(
    'How long an upload is kept after its last byte, in milliseconds. An upload that is being imported is kept until the import ends.',
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
  JOBTREE_MAX_QUERY_TOKENS: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(1_000_000)
    .default(20_000)
    .describe('The maximum length of an operation, in tokens; values in variables do not count.'),
  JOBTREE_MAX_QUERY_COST: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(1_000_000_000)
    .default(500_000)
    .describe(
      'The maximum cost of an operation: the number of values that its answer would have if every page were full, a tree had 1,000 jobs and a job 300 children.',
    ),
  JOBTREE_MAX_ANSWER_BYTES: z.coerce
    .number()
    .int()
    .min(10_000)
    .max(400_000_000)
    .default(64_000_000)
    .describe(
      'The maximum amount of text in an answer, in bytes: payloads, results and failures as JSON, and all other text and names. A single item may have more.',
    ),
  JOBTREE_MAX_REQUESTS: z.coerce
    .number()
    .int()
    .min(10)
    .max(1_000_000)
    .default(5_000)
    .describe(
      'The maximum number of queries and mutations in progress; one caller or tenant can use 90 % of it over HTTP. The last quarter is reserved for requests that keep leases alive: heartbeats, reports, exchanges and releases. Further requests are refused with UNAVAILABLE.',
    ),
  JOBTREE_MAX_OPERATIONS_PER_SOCKET: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .describe('The maximum number of operations in progress on a WebSocket; further ones are refused.'),
  JOBTREE_MAX_MESSAGES_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(5_000)
    .describe(
      'How many messages per second the server reads from a WebSocket. After a pause it reads as many at once.',
    ),
  JOBTREE_CALLER_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe(
      'The maximum number of WebSockets and event streams, together, that a caller may have open. A caller is a key or user or, without authentication, an address.',
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
    'The maximum number of items, pending and finished, that a tenant may have stored. Requests that would add more are refused with STORAGE_LIMIT; deleting trees frees space. Items added within about three seconds may exceed the limit.',
  ),
  JOBTREE_TENANT_MAX_STORED_BYTES: limit(1_000_000_000_000_000).describe(
    'The same for bytes: payloads and results as JSON text, and uploads.',
  ),
  JOBTREE_CALLER_SUBSCRIPTION_COST: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(1_000_000_000)
    .default(2_000_000)
    .describe(
      "The maximum total cost of a caller's open subscriptions, counted as for JOBTREE_MAX_QUERY_COST, with at least 100 for each; one connection may use a quarter of it.",
    ),
  JOBTREE_CALLER_BYTES_UNDER_WAY: z.coerce
    .number()
    .int()
    .min(100_000)
    .max(10_000_000_000)
    .default(100_000_000)
    .describe(
      "The maximum size of a caller's or tenant's requests and answers in progress, in bytes; further requests are refused (429). A single request is never refused.",
    ),
  JOBTREE_MAX_BYTES_UNDER_WAY: z.coerce
    .number()
    .int()
    .min(100_000)
    .max(10_000_000_000)
    .default(200_000_000)
    .describe('The same for all callers together (503).'),
  JOBTREE_TRUSTED_PROXIES: z.coerce
    .number()
    .int()
    .min(0)
    .max(10)
    .default(0)
    .describe(
      'The number of proxies in front of the server that add to X-Forwarded-For. With 0 the header is ignored.',
    ),
  JOBTREE_FOLD_INTERVAL_MS: milliseconds(5, 1_000, 20).describe(
    'The shortest interval at which progress is counted, in milliseconds.',
  ),
  JOBTREE_SWEEP_INTERVAL_MS: milliseconds(100, 60_000, 1_000).describe(
    'The interval at which the server looks for lost heartbeats and due items, in milliseconds.',
  ),
  JOBTREE_CALLBACK_TIMEOUT_MS: milliseconds(100, 60_000, 15_000).describe(
    'The maximum time for one attempt at a callback, in milliseconds, including looking up the name, connecting, and the answer.',
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
      'The key that seals the secrets of callback endpoints in the database: 32 bytes in base64. To rotate keys, list several, separated by commas: the first seals, and all open. Without it, the secrets are stored unencrypted.',
    ),
  JOBTREE_RETENTION_SECONDS: seconds(0, 315_576_000, 604_800).describe(
    'How long complete trees without a retention of their own are kept, in seconds, or `never` to keep them for ever. It also applies to trees that are already complete. Set the same value on all servers of a database.',
  ),
  JOBTREE_AUDIT_RETENTION_SECONDS: seconds(86_400, 315_576_000, 34_560_000).describe(
    'How long entries of the audit are kept, in seconds, or `never` to keep them for ever. At least a day; 400 days by default. Set the same value on all servers of a database.',
  ),
  JOBTREE_IDLE_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(315_576_000)
    .default(86_400)
    .describe(
      'The time after which a tree counts as idle, in seconds: one of its jobs is not sealed, and nothing is left to do.',
    ),
  JOBTREE_IDLE_EXPIRY_SECONDS: seconds(1, 315_576_000, 'never').describe(
    'The time after which idle trees without an expiry of their own are cancelled, in seconds, or `never`.',
  ),
  JOBTREE_SLOW_FACTOR: z.coerce
    .number()
    .min(1)
    .max(1_000)
    .default(3)
    .describe('An item counts as slow when a worker has held it for this many times the p99 of its type.'),
  JOBTREE_SLOW_AFTER_MS: milliseconds(0, 86_400_000, 10_000).describe(
    'The shortest time after which an item can count as slow, in milliseconds.',
  ),
  JOBTREE_METRICS: z
    .enum(['true', 'false'])
    .default('true')
    .describe('Whether /metrics serves metrics for Prometheus.'),
  JOBTREE_METRICS_TYPES: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000)
    .default(100)
    .describe(
      'How many types, and how many tenants, have their own metrics: the first that the server sees. The others are combined as `other`.',
    ),
  JOBTREE_SHUTDOWN_DELAY_MS: milliseconds(0, 600_000, 0).describe(
    'How long the server keeps serving after SIGTERM while /readyz already answers 503, so that load balancers notice, in milliseconds.',
  ),
  JOBTREE_SHUTDOWN_TIMEOUT_MS: milliseconds(0, 600_000, 10_000).describe(
    'How long requests in flight may take to finish after that, in milliseconds.',
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
  JOBTREE_GRAPHIQL: z
    .enum(['true', 'false'])
    .default('true')
    .describe('Whether /graphql shows GraphiQL to browsers.'),
};

const environment = z.object(settings);

/** Names that are not for the server: those of the client and the command line, and those that `jobtree work` sets for its commands. */
const foreign = new Set([
  'JOBTREE_URL',
  'JOBTREE_TOKEN',
  'JOBTREE_DEBUG',
  'JOBTREE_ITEM_ID',
  'JOBTREE_JOB_ID',
  'JOBTREE_TYPE',
  'JOBTREE_ATTEMPT',
]);

export type AuthWay = 'keys' | 'jwt' | 'proxy';

export interface JwtConfig {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
  readonly algorithms: readonly string[];
  readonly clockSkewSeconds: number;
  readonly rolesClaim: string;
  readonly typesClaim: string;
  readonly treesClaim: string;
  readonly tenantClaim: string;
}

export interface ProxyConfig {
  readonly userHeader: string;
  readonly rolesHeader: string;
  readonly tenantHeader: string;
  readonly secret: string | undefined;
  readonly networks: readonly string[];
}

/** The limits of a caller or a tenant; null for no limit. */
export interface LimitedRates {
  readonly requestsPerSecond: number | null;
  readonly costPerSecond: number | null;
  readonly subscriptions: number | null;
}

export interface Config {
  readonly databaseUrl: string | undefined;
  readonly directDatabaseUrl: string | undefined;
  readonly preparedStatements: boolean;
  readonly redis: (RedisConfig & { readonly prefix: string | undefined }) | undefined;
  readonly dataDirectory: string;
  readonly host: string;
  /** How callers show who they are. If it is empty, nobody has to. */
  readonly auth: readonly AuthWay[];
  /** If `auth` is empty, whether that is intended: JOBTREE_AUTH is set, or the address is a loopback one. */
  readonly isOpenKnowingly: boolean;
  readonly jwt: JwtConfig | undefined;
  readonly proxy: ProxyConfig | undefined;
  /** The first key seals; all of them open. */
  readonly secretsKeys: readonly Buffer[];
  /** The files of its certificate and key; undefined for HTTP without TLS. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly port: number;
  readonly poolSize: number;
  readonly databaseTimeoutMs: number;
  readonly startTimeoutMs: number;
  readonly durableClaims: boolean;
  readonly maxJsonBytes: number;
  readonly maxRequestBytes: number;
  readonly maxUploadBytes: number;
  readonly maxFileTextBytes: number;
  readonly uploadLifetimeMs: number;
  /** Undefined if uploads are in Postgres. */
  readonly uploadStore: ObjectStoreConfig | undefined;
  readonly maxQueryTokens: number;
  readonly maxQueryCost: number;
  readonly maxAnswerBytes: number;
  readonly maxRequests: number;
  readonly maxOperationsPerSocket: number;
  readonly maxMessagesPerSecond: number;
  readonly callerConnections: number;
  readonly callerSubscriptionCost: number;
  /** The limits of each caller. */
  readonly callerRates: LimitedRates;
  readonly tenantRates: LimitedRates;
  readonly tenantConnections: number | null;
  /** What a tenant may store; null for no limit. */
  readonly tenantStored: { readonly items: number | null; readonly bytes: number | null };
  readonly callerBytes: number;
  readonly maxBytesUnderWay: number;
  readonly trustedProxies: number;
  readonly foldIntervalMs: number;
  readonly sweepIntervalMs: number;
  readonly callbackTimeoutMs: number;
  readonly callbackNetworks: readonly string[];
  readonly retentionSeconds: number | null;
  /** Null to keep entries for ever. */
  readonly auditRetentionSeconds: number | null;
  readonly idleSeconds: number;
  readonly idleExpirySeconds: number | null;
  readonly slowFactor: number;
  readonly slowAfterMs: number;
  readonly metrics: boolean;
  readonly metricsTypes: number;
  readonly shutdownDelayMs: number;
  readonly shutdownTimeoutMs: number;
  readonly logLevel: z.infer<typeof settings.JOBTREE_LOG_LEVEL>;
  readonly logPayloads: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly graphiql: boolean;
}

/** The environment can't be used; the message lists every problem on a line of its own. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A setting that differs by a letter or two, or by two that changed places. */
function suggestion(name: string): string {
  const letters = (text: string) => [...text].sort().join('');
  const near = Object.keys(settings).find((known) => {
    if (letters(known) === letters(name)) return true;
    let start = 0;
    while (start < known.length && known[start] === name[start]) start++;
    let end = 0;
    while (end < known.length - start && known.at(-1 - end) === name.at(-1 - end)) end++;
    return known.length - start - end <= 2 && name.length - start - end <= 2;
  });
  return near === undefined ? '' : `: did you mean ${near}?`;
}

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems = Object.keys(env)
    .filter((name) => name.startsWith('JOBTREE_') && !(name in settings) && !foreign.has(name))
    .map((name) => `${name} is not a setting${suggestion(name)}`);

  // An empty value means "not set", as it does for most programs.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    problems.push(...parsed.error.issues.map((issue) => problemOf(issue, given)));
  }
  if (given.JOBTREE_DIRECT_DATABASE_URL !== undefined && given.DATABASE_URL === undefined) {
    problems.push('JOBTREE_DIRECT_DATABASE_URL is set, so DATABASE_URL must be set, too');
  }
  const ways = toWays(given.JOBTREE_AUTH);
  if (ways.includes('jwt'))
    for (const name of ['JOBTREE_JWT_ISSUER', 'JOBTREE_JWT_AUDIENCE', 'JOBTREE_JWT_JWKS_URL'])
      if (given[name] === undefined) problems.push(`${name} must be set with JOBTREE_AUTH=jwt`);
  if (
    ways.includes('proxy') &&
    given.JOBTREE_PROXY_SECRET === undefined &&
    given.JOBTREE_PROXY_NETWORKS === undefined
  )
    problems.push(
      'JOBTREE_PROXY_SECRET or JOBTREE_PROXY_NETWORKS must be set with JOBTREE_AUTH=proxy: without them, any caller could claim to be anyone',
    );
  if ((given.JOBTREE_TLS_CERT_FILE === undefined) !== (given.JOBTREE_TLS_KEY_FILE === undefined))
    problems.push('JOBTREE_TLS_CERT_FILE and JOBTREE_TLS_KEY_FILE must be set together');
  const uploadStore = readObjectStore(given, (problem) => problems.push(problem));
  if (problems.length > 0 || !parsed.success) {
    throw new ConfigError(`The settings can't be used:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  }

  const value = parsed.data;
  return Object.freeze({
    databaseUrl: value.DATABASE_URL,
    directDatabaseUrl: value.JOBTREE_DIRECT_DATABASE_URL,
    preparedStatements: value.JOBTREE_PREPARED_STATEMENTS === 'true',
    redis: value.REDIS_URL && Object.freeze({ ...value.REDIS_URL, prefix: value.JOBTREE_REDIS_PREFIX }),
    dataDirectory: value.JOBTREE_DATA_DIR,
    host: value.JOBTREE_HOST,
    auth: Object.freeze(ways),
    jwt: ways.includes('jwt') ? Object.freeze(toJwt(value)) : undefined,
    proxy: ways.includes('proxy') ? Object.freeze(toProxy(value)) : undefined,
    tls: toTls(value),
    isOpenKnowingly: value.JOBTREE_AUTH !== undefined || isLoopback(value.JOBTREE_HOST),
    port: value.JOBTREE_PORT,
    poolSize: value.JOBTREE_POOL_SIZE,
    databaseTimeoutMs: value.JOBTREE_DATABASE_TIMEOUT_MS,
    startTimeoutMs: value.JOBTREE_START_TIMEOUT_MS,
    durableClaims: value.JOBTREE_DURABLE_CLAIMS === 'true',
    maxJsonBytes: value.JOBTREE_MAX_JSON_BYTES,
    maxRequestBytes: value.JOBTREE_MAX_REQUEST_BYTES,
    maxUploadBytes: value.JOBTREE_MAX_UPLOAD_BYTES,
    maxFileTextBytes: value.JOBTREE_MAX_FILE_TEXT_BYTES,
    uploadLifetimeMs: value.JOBTREE_UPLOAD_LIFETIME_MS,
    uploadStore,
    maxQueryTokens: value.JOBTREE_MAX_QUERY_TOKENS,
    maxQueryCost: value.JOBTREE_MAX_QUERY_COST,
    maxAnswerBytes: value.JOBTREE_MAX_ANSWER_BYTES,
    maxRequests: value.JOBTREE_MAX_REQUESTS,
    maxOperationsPerSocket: value.JOBTREE_MAX_OPERATIONS_PER_SOCKET,
    maxMessagesPerSecond: value.JOBTREE_MAX_MESSAGES_PER_SECOND,
    callerConnections: value.JOBTREE_CALLER_CONNECTIONS,
    callerSubscriptionCost: value.JOBTREE_CALLER_SUBSCRIPTION_COST,
    callerRates: Object.freeze({
      requestsPerSecond: numberOf(value.JOBTREE_CALLER_REQUESTS_PER_SECOND),
      costPerSecond: numberOf(value.JOBTREE_CALLER_COST_PER_SECOND),
      subscriptions: numberOf(value.JOBTREE_CALLER_SUBSCRIPTIONS),
    }),
    tenantRates: Object.freeze({
      requestsPerSecond: numberOf(value.JOBTREE_TENANT_REQUESTS_PER_SECOND),
      costPerSecond: numberOf(value.JOBTREE_TENANT_COST_PER_SECOND),
      subscriptions: numberOf(value.JOBTREE_TENANT_SUBSCRIPTIONS),
    }),
    tenantConnections: numberOf(value.JOBTREE_TENANT_CONNECTIONS),
    tenantStored: Object.freeze({
      items: numberOf(value.JOBTREE_TENANT_MAX_STORED_ITEMS),
      bytes: numberOf(value.JOBTREE_TENANT_MAX_STORED_BYTES),
    }),
    callerBytes: value.JOBTREE_CALLER_BYTES_UNDER_WAY,
    maxBytesUnderWay: value.JOBTREE_MAX_BYTES_UNDER_WAY,
    trustedProxies: value.JOBTREE_TRUSTED_PROXIES,
    foldIntervalMs: value.JOBTREE_FOLD_INTERVAL_MS,
    sweepIntervalMs: value.JOBTREE_SWEEP_INTERVAL_MS,
    callbackTimeoutMs: value.JOBTREE_CALLBACK_TIMEOUT_MS,
    callbackNetworks: value.JOBTREE_CALLBACK_NETWORKS?.split(',') ?? [],
    secretsKeys: (value.JOBTREE_SECRETS_KEY?.split(',') ?? []).map((key) => Buffer.from(key, 'base64')),
    retentionSeconds: orNull(value.JOBTREE_RETENTION_SECONDS),
    auditRetentionSeconds: orNull(value.JOBTREE_AUDIT_RETENTION_SECONDS),
    idleSeconds: value.JOBTREE_IDLE_SECONDS,
    idleExpirySeconds: orNull(value.JOBTREE_IDLE_EXPIRY_SECONDS),
    slowFactor: value.JOBTREE_SLOW_FACTOR,
    slowAfterMs: value.JOBTREE_SLOW_AFTER_MS,
    metrics: value.JOBTREE_METRICS === 'true',
    metricsTypes: value.JOBTREE_METRICS_TYPES,
    shutdownDelayMs: value.JOBTREE_SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: value.JOBTREE_SHUTDOWN_TIMEOUT_MS,
    logLevel: value.JOBTREE_LOG_LEVEL,
    logPayloads: value.JOBTREE_LOG_PAYLOADS === 'true',
    allowedHosts: value.JOBTREE_ALLOWED_HOSTS?.split(',') ?? [],
    allowedOrigins: value.JOBTREE_ALLOWED_ORIGINS?.split(',') ?? [],
    graphiql: value.JOBTREE_GRAPHIQL === 'true',
  });
}

/** Settings whose values contain passwords or keys, which must not be logged. */
const secrets = new Set([
  'DATABASE_URL',
  'JOBTREE_DIRECT_DATABASE_URL',
  'REDIS_URL',
  'JOBTREE_PROXY_SECRET',
  'JOBTREE_SECRETS_KEY',
  'JOBTREE_JWT_JWKS_URL',
  'JOBTREE_UPLOAD_STORE_URL',
  'JOBTREE_UPLOAD_STORE_ENDPOINT',
]);

/** The setting, its value and the rule: `JOBTREE_PORT is "abc": it must be a whole number from 0 to 65535`. */
function problemOf(issue: z.core.$ZodIssue, given: Readonly<Record<string, string | undefined>>): string {
  const name = issue.path.join('.');
  const rule = ruleOf(name) ?? issue.message;
  if (secrets.has(name)) return rule.startsWith('must ') ? `${name} ${rule}` : `${name}: ${rule}`;
  return `${name} is ${JSON.stringify(given[name])}: ${rule.startsWith('must ') ? `it ${rule}` : rule}`;
}

/** The rule of a number or a choice; other settings have their own messages. */
function ruleOf(name: string): string | undefined {
  let schema: unknown = settings[name as keyof typeof settings];
  while (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) schema = schema.unwrap();
  if (schema instanceof z.ZodNumber)
    return `must be a ${schema.isInt ? 'whole ' : ''}number from ${schema.minValue} to ${schema.maxValue}`;
  if (schema instanceof z.ZodEnum) return `must be ${schema.options.join(' or ')}`;
  return undefined;
}

function toWays(text: string | undefined): AuthWay[] {
  return text === undefined || text === 'none' ? [] : (text.split(',') as AuthWay[]);
}

type Values = z.infer<typeof environment>;

function toTls({ JOBTREE_TLS_CERT_FILE: certFile, JOBTREE_TLS_KEY_FILE: keyFile }: Values): Config['tls'] {
  return certFile !== undefined && keyFile !== undefined ? Object.freeze({ certFile, keyFile }) : undefined;
}

function toJwt(value: Values): JwtConfig {
  return {
    issuer: value.JOBTREE_JWT_ISSUER ?? '',
    audience: value.JOBTREE_JWT_AUDIENCE ?? '',
    jwksUrl: value.JOBTREE_JWT_JWKS_URL ?? '',
    algorithms: value.JOBTREE_JWT_ALGORITHMS.split(','),
    clockSkewSeconds: value.JOBTREE_JWT_CLOCK_SKEW_SECONDS,
    rolesClaim: value.JOBTREE_JWT_ROLES_CLAIM,
    typesClaim: value.JOBTREE_JWT_TYPES_CLAIM,
    treesClaim: value.JOBTREE_JWT_TREES_CLAIM,
    tenantClaim: value.JOBTREE_JWT_TENANT_CLAIM,
  };
}

function toProxy(value: Values): ProxyConfig {
  return {
    userHeader: value.JOBTREE_PROXY_USER_HEADER,
    rolesHeader: value.JOBTREE_PROXY_ROLES_HEADER,
    tenantHeader: value.JOBTREE_PROXY_TENANT_HEADER,
    secret: value.JOBTREE_PROXY_SECRET,
    networks: value.JOBTREE_PROXY_NETWORKS?.split(',') ?? [],
  };
}

/**
 * Checks the configuration of a server before it starts.
 *
 * @throws ConfigError if others could reach a server that asks nobody who they are
 */
export function refuseOpen({ host, auth, isOpenKnowingly }: Config): void {
  if (auth.length > 0 || isOpenKnowingly) return;
  throw new ConfigError(
    `JOBTREE_HOST is "${host}", which others can reach, and JOBTREE_AUTH is not set. Set JOBTREE_AUTH=keys and create a first key with \`jobtree api-keys create NAME --role admin\`, or set JOBTREE_AUTH=none if anyone who can reach the port may do anything.`,
  );
}

/** Every setting with its meaning and default, for `jobtree help settings` and the documentation. */
export const settingDescriptions: readonly { name: string; meaning: string; standard: string }[] =
  Object.entries(settings).map(([name, schema]) => ({
    name,
    meaning: schema.description ?? '',
    standard: schema instanceof z.ZodDefault ? String(schema.def.defaultValue) : 'not set',
  }));
