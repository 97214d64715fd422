/** What stands between this process and what it connects to: whether others on the network can read along, or pretend to be it. */
import ipaddr from 'ipaddr.js';
import type { RedisConfig } from './redis-url.ts';

/** LOCAL: nothing leaves the machine. UNVERIFIED: it is encrypted, for whoever answers. */
export type Encryption = 'LOCAL' | 'VERIFIED' | 'UNVERIFIED' | 'NONE';

/** A name may lead anywhere, so of names only `localhost` counts. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}

const asksForLibpq = /[?&]uselibpqcompat=true(&|$)/;

/**
 * A URL of Postgres, with the certificate checked wherever it asks for TLS: whom a `sslmode=require` of libpq would send its password to,
 * nobody knows. Unless it says otherwise itself.
 */
export function verifyTls(url: string): string {
  if (asksForLibpq.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/** Of a URL that `verifyTls` gave. */
export function encryptionOf(url: string): Encryption {
  // One that URL does not take is for pg to refuse.
  if (!URL.canParse(url)) return 'VERIFIED';
  const { hostname, searchParams } = new URL(url);
  const host = decodeURIComponent(searchParams.get('host') ?? hostname).replace(/^\[(.*)\]$/, '$1');
  if (host === '' || host.startsWith('/') || isLoopback(host)) return 'LOCAL';
  const mode = searchParams.get('sslmode');
  if (mode === 'disable') return 'NONE';
  if (mode === 'no-verify' || (asksForLibpq.test(url) && mode !== null && mode !== 'verify-full'))
    return 'UNVERIFIED';
  const hasTls =
    mode !== null ||
    ['true', '1'].includes(searchParams.get('ssl') ?? '') ||
    searchParams.has('sslrootcert') ||
    searchParams.get('sslnegotiation') === 'direct';
  return hasTls ? 'VERIFIED' : 'NONE';
}

export function redisEncryption({ tls, addresses }: RedisConfig): Encryption {
  if (tls) return 'VERIFIED';
  return addresses.every(({ host }) => isLoopback(host)) ? 'LOCAL' : 'NONE';
}

/** For the log at the start, and the doctor; nothing if there is nothing to say. */
export function encryptionProblems(config: {
  readonly databaseUrl: string | undefined;
  readonly directDatabaseUrl: string | undefined;
  readonly redis: RedisConfig | undefined;
}): string[] {
  const { databaseUrl, directDatabaseUrl, redis } = config;
  const found: [name: string, encryption: Encryption, remedy: string][] = [
    ['DATABASE_URL', databaseUrl ? encryptionOf(databaseUrl) : 'LOCAL', 'sslmode=verify-full'],
    [
      'JOBTREE_DIRECT_DATABASE_URL',
      directDatabaseUrl ? encryptionOf(directDatabaseUrl) : 'LOCAL',
      'sslmode=verify-full',
    ],
    ['REDIS_URL', redis ? redisEncryption(redis) : 'LOCAL', 'rediss://'],
  ];
  return found.flatMap(([name, encryption, remedy]) => {
    if (encryption === 'NONE')
      return [
        `${name} leads to another host without TLS, so the network can read everything, passwords too: use ${remedy}.`,
      ];
    if (encryption === 'UNVERIFIED')
      return [
        `${name} uses TLS without checking the certificate, so anyone can impersonate that host: use ${remedy}.`,
      ];
    return [];
  });
}
