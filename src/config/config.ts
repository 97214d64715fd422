/**
 * The environment as one frozen, validated value. It is read once, at the edge of the program, and passed down from there;
 * no part of the server reads the environment itself. All problems are listed at once. An unknown `JOBTREE_…` name is a problem too, since it is
 * most likely misspelt.
 */
import { z } from 'zod';
import { isLoopback } from './encryption.ts';
import { type ObjectStoreConfig, readObjectStore } from './object-store-url.ts';
import { foreignNames, secretSettings, settings } from './settings.ts';

const environment = z.object(settings);

export type AuthWay = 'keys' | 'jwt' | 'proxy';

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

export type Config = ReturnType<typeof toConfig>;

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems = Object.keys(env)
    .filter((name) => name.startsWith('JOBTREE_') && !(name in settings) && !foreignNames.has(name))
    .map((name) => `${name} is not a setting${suggestion(name)}`);
  // An empty value means "not set", as it does for most programs.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    problems.push(...parsed.error.issues.map((issue) => problemOf(issue, given)));
  }
  problems.push(...problemsBetween(given));
  const uploadStore = readObjectStore(given, (problem) => problems.push(problem));
  if (problems.length > 0 || !parsed.success) {
    throw new ConfigError(`The settings can't be used:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  }
  return toConfig(parsed.data, uploadStore);
}

/** What is wrong with settings that are good on their own. */
function problemsBetween(given: Readonly<Record<string, string | undefined>>): string[] {
  const problems: string[] = [];
  if (given.JOBTREE_DIRECT_DATABASE_URL !== undefined && given.DATABASE_URL === undefined) {
    problems.push('JOBTREE_DIRECT_DATABASE_URL is set, so DATABASE_URL must be set, too');
  }
  const ways = toWays(given.JOBTREE_AUTH);
  if (ways.includes('jwt'))
    for (const name of ['JOBTREE_JWT_ISSUER', 'JOBTREE_JWT_AUDIENCE', 'JOBTREE_JWT_JWKS_URL'])
      if (given[name] === undefined) problems.push(`${name} must be set with JOBTREE_AUTH=jwt`);
  if (given.JOBTREE_DASHBOARD_CLIENT_ID !== undefined) {
    if (!ways.includes('jwt'))
      problems.push('JOBTREE_DASHBOARD_CLIENT_ID is set, so JOBTREE_AUTH must include jwt');
    else if (!isWebAddress(given.JOBTREE_JWT_ISSUER))
      problems.push(
        'JOBTREE_DASHBOARD_CLIENT_ID is set, so JOBTREE_JWT_ISSUER must be the https URL of an issuer by OpenID Connect, with http only on a loopback address',
      );
  }
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
  return problems;
}

function toConfig(value: Values, uploadStore: ObjectStoreConfig | undefined) {
  return Object.freeze({
    ...toConnections(value),
    ...toAccess(value),
    ...toLimits(value),
    host: value.JOBTREE_HOST,
    port: value.JOBTREE_PORT,
    uploadLifetimeMs: value.JOBTREE_UPLOAD_LIFETIME_MS,
    /** Undefined if uploads are in Postgres. */
    uploadStore,
    foldIntervalMs: value.JOBTREE_FOLD_INTERVAL_MS,
    sweepIntervalMs: value.JOBTREE_SWEEP_INTERVAL_MS,
    callbackTimeoutMs: value.JOBTREE_CALLBACK_TIMEOUT_MS,
    callbackNetworks: value.JOBTREE_CALLBACK_NETWORKS?.split(',') ?? [],
    retentionSeconds: orNull(value.JOBTREE_RETENTION_SECONDS),
    /** Null to keep entries for ever. */
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
    dashboard: value.JOBTREE_DASHBOARD === 'true',
    graphiql: value.JOBTREE_GRAPHIQL === 'true',
  });
}

/** The databases. */
function toConnections(value: Values) {
  return {
    databaseUrl: value.DATABASE_URL,
    directDatabaseUrl: value.JOBTREE_DIRECT_DATABASE_URL,
    preparedStatements: value.JOBTREE_PREPARED_STATEMENTS === 'true',
    redis: value.REDIS_URL && Object.freeze({ ...value.REDIS_URL, prefix: value.JOBTREE_REDIS_PREFIX }),
    dataDirectory: value.JOBTREE_DATA_DIR,
    poolSize: value.JOBTREE_POOL_SIZE,
    databaseTimeoutMs: value.JOBTREE_DATABASE_TIMEOUT_MS,
    startTimeoutMs: value.JOBTREE_START_TIMEOUT_MS,
    durableClaims: value.JOBTREE_DURABLE_CLAIMS === 'true',
  };
}

/** Who may call, and from where. */
function toAccess(value: Values) {
  const ways = toWays(value.JOBTREE_AUTH);
  return {
    /** How callers show who they are. If it is empty, nobody has to. */
    auth: Object.freeze(ways),
    /** If `auth` is empty, whether that is intended: JOBTREE_AUTH is set, or the address is a loopback one. */
    isOpenKnowingly: value.JOBTREE_AUTH !== undefined || isLoopback(value.JOBTREE_HOST),
    jwt: ways.includes('jwt') ? Object.freeze(toJwt(value)) : undefined,
    openId: toOpenId(value),
    proxy: ways.includes('proxy') ? Object.freeze(toProxy(value)) : undefined,
    /** The first key seals; all of them open. */
    secretsKeys: (value.JOBTREE_SECRETS_KEY?.split(',') ?? []).map((key) => Buffer.from(key, 'base64')),
    /** The files of its certificate and key; undefined for HTTP without TLS. */
    tls: toTls(value),
    trustedProxies: value.JOBTREE_TRUSTED_PROXIES,
    allowedHosts: value.JOBTREE_ALLOWED_HOSTS?.split(',') ?? [],
    allowedOrigins: value.JOBTREE_ALLOWED_ORIGINS?.split(',') ?? [],
  };
}

/** How large a request may be, and how much a caller or a tenant may have. */
function toLimits(value: Values) {
  return {
    maxJsonBytes: value.JOBTREE_MAX_JSON_BYTES,
    maxRequestBytes: value.JOBTREE_MAX_REQUEST_BYTES,
    maxUploadBytes: value.JOBTREE_MAX_UPLOAD_BYTES,
    maxFileTextBytes: value.JOBTREE_MAX_FILE_TEXT_BYTES,
    maxQueryTokens: value.JOBTREE_MAX_QUERY_TOKENS,
    maxQueryCost: value.JOBTREE_MAX_QUERY_COST,
    maxAnswerBytes: value.JOBTREE_MAX_ANSWER_BYTES,
    maxRequests: value.JOBTREE_MAX_REQUESTS,
    maxOperationsPerSocket: value.JOBTREE_MAX_OPERATIONS_PER_SOCKET,
    maxMessagesPerSecond: value.JOBTREE_MAX_MESSAGES_PER_SECOND,
    maxBytesUnderWay: value.JOBTREE_MAX_BYTES_UNDER_WAY,
    callerConnections: value.JOBTREE_CALLER_CONNECTIONS,
    callerSubscriptionCost: value.JOBTREE_CALLER_SUBSCRIPTION_COST,
    /** The limits of each caller; null for no limit. */
    callerRates: Object.freeze({
      requestsPerSecond: numberOf(value.JOBTREE_CALLER_REQUESTS_PER_SECOND),
      costPerSecond: numberOf(value.JOBTREE_CALLER_COST_PER_SECOND),
      subscriptions: numberOf(value.JOBTREE_CALLER_SUBSCRIPTIONS),
    }),
    callerBytes: value.JOBTREE_CALLER_BYTES_UNDER_WAY,
    tenantRates: Object.freeze({
      requestsPerSecond: numberOf(value.JOBTREE_TENANT_REQUESTS_PER_SECOND),
      costPerSecond: numberOf(value.JOBTREE_TENANT_COST_PER_SECOND),
      subscriptions: numberOf(value.JOBTREE_TENANT_SUBSCRIPTIONS),
    }),
    tenantConnections: numberOf(value.JOBTREE_TENANT_CONNECTIONS),
    /** What a tenant may store; null for no limit. */
    tenantStored: Object.freeze({
      items: numberOf(value.JOBTREE_TENANT_MAX_STORED_ITEMS),
      bytes: numberOf(value.JOBTREE_TENANT_MAX_STORED_BYTES),
    }),
  };
}

/** The setting, its value and the rule: `JOBTREE_PORT is "abc": it must be a whole number from 0 to 65535`. */
function problemOf(issue: z.core.$ZodIssue, given: Readonly<Record<string, string | undefined>>): string {
  const name = issue.path.join('.');
  const rule = ruleOf(name) ?? issue.message;
  if (secretSettings.has(name)) return rule.startsWith('must ') ? `${name} ${rule}` : `${name}: ${rule}`;
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

const numberOf = (value: number | 'none') => (value === 'none' ? null : value);
const orNull = (value: number | 'never') => (value === 'never' ? null : value);

type Values = z.infer<typeof environment>;

function toTls({ JOBTREE_TLS_CERT_FILE: certFile, JOBTREE_TLS_KEY_FILE: keyFile }: Values) {
  return certFile !== undefined && keyFile !== undefined ? Object.freeze({ certFile, keyFile }) : undefined;
}

export type JwtConfig = ReturnType<typeof toJwt>;

function toJwt(value: Values) {
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

/** Browsers treat what comes from the machine itself as safe, as they do with https. */
function isWebAddress(text = ''): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

export type OpenIdConfig = NonNullable<ReturnType<typeof toOpenId>>;

/** How people sign in to the dashboard at the issuer of tokens. */
function toOpenId(value: Values) {
  const { JOBTREE_DASHBOARD_CLIENT_ID: clientId, JOBTREE_JWT_ISSUER: issuer } = value;
  if (clientId === undefined || issuer === undefined) return undefined;
  return Object.freeze({
    issuer,
    clientId,
    scope: value.JOBTREE_DASHBOARD_SCOPE,
    /** Of the requests to the issuer, besides the usual ones: as in a URL. */
    parameters: value.JOBTREE_DASHBOARD_SIGN_IN_PARAMETERS ?? '',
    /** Whether its id tokens are those for this server: they are made for the client itself, and so for the server if it expects that. */
    usesIdToken: value.JOBTREE_JWT_AUDIENCE === clientId,
  });
}

export type ProxyConfig = ReturnType<typeof toProxy>;

function toProxy(value: Values) {
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
