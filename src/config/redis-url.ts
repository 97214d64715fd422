/**
 * REDIS_URL, in one of these forms:
 *
 *   redis://[user:password@]host[:6379]                                  one server
 *   redis+cluster://[user:password@]host[:6379],host,…                   any nodes of a Redis Cluster
 *   redis+sentinel://[user:password@]host[:26379],host,…/master-name     the master that these sentinels name
 *
 * or with `rediss` for TLS. A database number may follow the host, and has no effect on messages. Sentinels with their own
 * password: `?sentinelUsername=…&sentinelPassword=…`.
 */
export interface RedisConfig {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  /** The addresses of the sentinels, if there are any, else of the servers. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The name by which the sentinels know the master. */
  readonly masterName: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

const form = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^@/?]*)@)?([^@/?]+)(?:\/([^?]*))?(?:\?(.*))?$/;
const sentinelParameters = new Set(['sentinelUsername', 'sentinelPassword']);

/** @throws Error that says what is wrong without quoting any part that may be secret */
export function parseRedisUrl(url: string): RedisConfig {
  const match = form.exec(url);
  if (match === null) {
    throw new Error(
      'must be redis://host:6379, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379,host:26379/master-name; rediss for TLS',
    );
  }
  const [, scheme, kind = 'single', login, hosts = '', path = '', query = ''] = match;
  const addresses = hosts.split(',').map((text) => parseAddress(text, kind === 'sentinel' ? 26379 : 6379));
  if (kind === 'single' && addresses.length > 1) {
    throw new Error('has several hosts: use redis+cluster:// or redis+sentinel://');
  }
  if (kind === 'sentinel' && path === '') {
    throw new Error('must end with the name of the master, as in redis+sentinel://host:26379/mymaster');
  }
  if (kind !== 'sentinel' && !/^\d*$/.test(path)) throw new Error('has something after the host');

  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (kind !== 'sentinel' || !sentinelParameters.has(name)) {
      throw new Error(`has an unknown parameter: ${name}`);
    }
  }
  // The password is everything after the first colon, since it may contain more of them.
  const [, username = '', password] = /^([^:]*)(?::(.*))?$/.exec(login ?? '') ?? [];
  return Object.freeze({
    kind: kind as RedisConfig['kind'],
    addresses,
    tls: scheme === 'rediss',
    username: decode(username) || undefined,
    password: password === undefined ? undefined : decode(password),
    masterName: kind === 'sentinel' ? decode(path) : undefined,
    sentinelUsername: parameters.get('sentinelUsername') ?? undefined,
    sentinelPassword: parameters.get('sentinelPassword') ?? undefined,
  });
}

function parseAddress(text: string, standardPort: number): { host: string; port: number } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(text);
  const port = Number(match?.[3] ?? standardPort);
  if (match === null || port < 1 || port > 65_535) {
    throw new Error('has an invalid host: write host, host:port or [address]:port, separated by commas');
  }
  return { host: match[1] ?? match[2] ?? '', port };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a % that is not followed by two hexadecimal digits');
  }
}
