import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { encryptionOf, encryptionProblems, verifyTls } from '../src/config/encryption.ts';

const at = 'postgres://user:secret@db.example/jobs';

describe('a URL of Postgres', () => {
  it.each([
    [`${at}?sslmode=require`, `${at}?sslmode=verify-full`],
    [`${at}?application_name=x&sslmode=prefer&a=b`, `${at}?application_name=x&sslmode=verify-full&a=b`],
    [`${at}?sslmode=verify-ca&sslrootcert=/ca.pem`, `${at}?sslmode=verify-full&sslrootcert=/ca.pem`],
  ])('that requires TLS has the certificate verified: %s', (url, checked) => {
    expect(verifyTls(url)).toBe(checked);
    expect(encryptionOf(checked)).toBe('VERIFIED');
    expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(checked);
  });

  it.each([
    [at, 'NONE'],
    [`${at}?sslmode=disable`, 'NONE'],
    [`${at}?sslmode=no-verify`, 'UNVERIFIED'],
    [`${at}?uselibpqcompat=true&sslmode=require`, 'UNVERIFIED'],
    [`${at}?uselibpqcompat=true&sslmode=verify-full`, 'VERIFIED'],
    [`${at}?ssl=true`, 'VERIFIED'],
    [`${at}?sslrootcert=/ca.pem`, 'VERIFIED'],
    ['postgres://user@127.0.0.1/jobs', 'LOCAL'],
    ['postgres://user@[::1]:5433/jobs', 'LOCAL'],
    ['postgres://localhost/jobs', 'LOCAL'],
    ['postgres:///jobs?host=/var/run/postgresql', 'LOCAL'],
    ['postgres://localhost/jobs?host=db.example', 'NONE'],
    ['postgres://10.0.0.7/jobs', 'NONE'],
    ['postgres://127.0.0.1:5432,10.0.0.7:5432/jobs', 'NONE'],
    ['postgres://10.0.0.7,10.0.0.8/jobs?sslmode=verify-full', 'VERIFIED'],
    ['postgres://a,b:c,d@127.0.0.1/jobs', 'LOCAL'],
    ['postgres://user:p@ss,word@127.0.0.1,[::1]:5433/jobs', 'LOCAL'],
  ])('%s: %s', (url, encryption) => {
    expect(verifyTls(url)).toBe(url);
    expect(encryptionOf(url)).toBe(encryption);
  });
});

it('connections without TLS to other machines are reported by the name of their setting', () => {
  const problems = (env: Record<string, string>) => encryptionProblems(readConfig(env));
  expect(problems({})).toEqual([]);
  expect(
    problems({ DATABASE_URL: `${at}?sslmode=require`, REDIS_URL: 'rediss://:secret@redis.example' }),
  ).toEqual([]);
  expect(problems({ REDIS_URL: 'redis://localhost' })).toEqual([]);
  const found = problems({
    DATABASE_URL: `${at}?sslmode=no-verify`,
    JOBTREE_DIRECT_DATABASE_URL: at,
    REDIS_URL: 'redis://:secret@redis.example',
  });
  expect(found).toMatchObject([
    expect.stringMatching(/^DATABASE_URL uses TLS without checking/),
    expect.stringMatching(/^JOBTREE_DIRECT_DATABASE_URL leads to another host without TLS/),
    expect.stringMatching(/^REDIS_URL leads to another host without TLS.*rediss/),
  ]);
  expect(found.join()).not.toContain('secret');
});
