/**
 * Whether the connections of this process to other services are encrypted, so that nobody on the network can read along or
 * pretend to be the service.
 */
import ipaddr from 'ipaddr.js';
import { eachHost } from './postgres-url.ts';
import type { RedisConfig } from './redis-url.ts';

/** LOCAL: nothing leaves the machine. UNVERIFIED: encrypted, but for whoever answers. */
export type Encryption = 'LOCAL' | 'VERIFIED' | 'UNVERIFIED' | 'NONE';

/** A name may lead anywhere, so the only name that counts is `localhost`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}

const asksForLibpq = /[?&]uselibpqcompat=true(&|$)/;

/**
 * Makes a Postgres URL that asks for TLS check the certificate, too: with libpq's meaning of `sslmode=require`, the password
 * could go to anybody. A URL with `uselibpqcompat=true` stays as it is.
 */
export function verifyTls(url: string): string {
  if (asksForLibpq.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

const worstFirst: readonly Encryption[] = ['NONE', 'UNVERIFIED', 'VERIFIED', 'LOCAL'];

/** Of several hosts the worst. @param url as `verifyTls` returned it */
export function encryptionOf(url: string): Encryption {
  const found = eachHost(url).map(encryptionOfHost);
  return worstFirst.find((encryption) => found.includes(encryption)) as Encryption;
}

function encryptionOfHost(url: string): Encryption {
  // Leaves a URL that can't be parsed for pg to refuse.
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

/** Problems for the log at the start, and for the doctor; empty if there are none. */
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
        `${name} leads to another host without TLS, so anybody on the network can read everything, passwords too: set ${remedy}.`,
      ];
    if (encryption === 'UNVERIFIED')
      return [
        `${name} uses TLS without checking the certificate, so anyone can impersonate that host: use ${remedy}.`,
      ];
    return [];
  });
}
