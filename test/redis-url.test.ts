import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { parseRedisUrl } from '../src/config/redis-url.ts';

describe('REDIS_URL', () => {
  it.each([
    ['redis://h', { kind: 'single', addresses: [{ host: 'h', port: 6379 }], tls: false }],
    ['rediss://h:1', { addresses: [{ host: 'h', port: 1 }], tls: true }],
    ['redis://[::1]:7/2', { addresses: [{ host: '::1', port: 7 }] }],
    ['redis://:p%40%2F@h', { username: undefined, password: 'p@/' }],
    ['redis://u:a:b@h', { username: 'u', password: 'a:b' }],
    [
      'redis+cluster://u:p@a,b:2',
      {
        kind: 'cluster',
        username: 'u',
        addresses: [
          { host: 'a', port: 6379 },
          { host: 'b', port: 2 },
        ],
      },
    ],
    [
      'rediss+sentinel://p@a,b:2/main?sentinelPassword=s%20t',
      {
        kind: 'sentinel',
        tls: true,
        masterName: 'main',
        sentinelPassword: 's t',
        sentinelUsername: undefined,
        addresses: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 2 },
        ],
      },
    ],
  ])('%s', (url, parts) => expect(parseRedisUrl(url)).toMatchObject(parts));

  it.each([
    ['http://h', 'must be redis://'],
    ['redis://', 'must be redis://'],
    ['redis://a,b', 'several hosts'],
    ['redis://h/name', 'after the host'],
    ['redis://h?db=1', 'unknown parameter: db'],
    ['redis://h:99999', 'an invalid host'],
    ['redis+cluster://a,,b', 'an invalid host'],
    ['redis+sentinel://a', 'name of the master'],
    ['redis://:%zz@h', 'hexadecimal'],
  ])('%s is refused', (url, message) => {
    expect(() => parseRedisUrl(url)).toThrow(message);
    expect(() => readConfig({ REDIS_URL: url })).toThrow(/REDIS_URL:? .+/);
  });

  it('is part of the configuration, with the prefix, and its secrets are in no message', () => {
    expect(readConfig({}).redis).toBeUndefined();
    expect(readConfig({ REDIS_URL: 'redis://h', JOBTREE_REDIS_PREFIX: 'p' }).redis).toMatchObject({
      kind: 'single',
      prefix: 'p',
    });
    expect(() => readConfig({ REDIS_URL: 'redis://u:hemlig@a,b' })).toThrow(/^((?!hemlig)[\s\S])*$/);
    expect(() => readConfig({ JOBTREE_REDIS_PREFIX: 'a b' })).toThrow('JOBTREE_REDIS_PREFIX');
    expect(() => readConfig({ JOBTREE_DIRECT_DATABASE_URL: 'postgres://h' })).toThrow('DATABASE_URL');
  });
});
