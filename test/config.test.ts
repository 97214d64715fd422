import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../src/config.ts';

describe('configuration', () => {
  it('has a default for everything, and is frozen', () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      databaseUrl: undefined,
      port: 4000,
      host: '127.0.0.1',
      dataDirectory: './.jobtree',
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('lists every problem at once: bad values, and names that there are not', () => {
    const read = () =>
      readConfig({
        JOBTREE_PORT: '99999',
        JOBTREE_PROT: '1',
        DATABASE_URL: 'mysql://x',
        JOBTREE_LOG_LEVEL: 'loud',
        JOBTREE_CALLBACK_NETWORKS: '10.0.0.0/8,localhost',
        PATH: '/bin',
      });
    expect(read).toThrow(ConfigError);
    const names = [
      'JOBTREE_PORT',
      'JOBTREE_PROT',
      'DATABASE_URL',
      'JOBTREE_LOG_LEVEL',
      'JOBTREE_CALLBACK_NETWORKS',
    ];
    for (const name of names) expect(read).toThrow(name);
    expect(read).not.toThrow('PATH');
  });

  it('takes an empty value for not set', () => {
    expect(readConfig({ JOBTREE_PORT: '', DATABASE_URL: '' })).toMatchObject({
      port: 4000,
      databaseUrl: undefined,
    });
  });
});
