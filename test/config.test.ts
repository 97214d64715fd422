import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig, refuseOpen } from '../src/config/config.ts';
import { settingDescriptions } from '../src/config/settings.ts';

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

  it('lists every problem at once: invalid values and unknown names', () => {
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

  it.each(['x', '-1', '0', '1.5', '1e30', ' '])('says the rule that %j breaks, of each setting', (value) => {
    for (const { name } of settingDescriptions) {
      let message = '';
      try {
        readConfig({ [name]: value });
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message, name).not.toMatch(/expected|received|invalid/i);
    }
  });

  it('treats an empty value as not set', () => {
    expect(readConfig({ JOBTREE_PORT: '', DATABASE_URL: '' })).toMatchObject({
      port: 4000,
      databaseUrl: undefined,
    });
  });

  it.each(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', 'localhost'])('may be open on %s', (host) => {
    expect(readConfig({ JOBTREE_HOST: host }).auth).toEqual([]);
    expect(() => refuseOpen(readConfig({ JOBTREE_HOST: host }))).not.toThrow();
  });

  it.each(['0.0.0.0', '::', '192.168.1.2', 'jobs.example.com', 'localhost.example.com'])(
    'may be open on %s only explicitly',
    (host) => {
      expect(() => refuseOpen(readConfig({ JOBTREE_HOST: host }))).toThrow(ConfigError);
      for (const JOBTREE_AUTH of ['none', 'keys', 'keys,proxy'])
        expect(() =>
          refuseOpen(readConfig({ JOBTREE_HOST: host, JOBTREE_AUTH, JOBTREE_PROXY_NETWORKS: '10.0.0.1/32' })),
        ).not.toThrow();
    },
  );

  it('refuses unknown ways to authenticate', () => {
    for (const JOBTREE_AUTH of ['password', 'none,keys', 'keys,', 'KEYS'])
      expect(() => readConfig({ JOBTREE_AUTH })).toThrow(/JOBTREE_AUTH/);
  });

  it('says which settings a way to authenticate requires', () => {
    expect(() => readConfig({ JOBTREE_AUTH: 'jwt' })).toThrow(/JWT_ISSUER.*JWT_AUDIENCE.*JWT_JWKS_URL/s);
    expect(() => readConfig({ JOBTREE_AUTH: 'proxy' })).toThrow(/PROXY_SECRET.*PROXY_NETWORKS/);
    for (const algorithm of ['none', 'HS256', 'RS256,HS256', 'RS257'])
      expect(() => readConfig({ JOBTREE_JWT_ALGORITHMS: algorithm })).toThrow(/JOBTREE_JWT_ALGORITHMS/);
    expect(() => readConfig({ JOBTREE_PROXY_SECRET: 'short' })).toThrow(/32 characters/);
  });

  it('lets people sign in to the dashboard at an issuer that a browser can be sent to', () => {
    const jwt = {
      JOBTREE_AUTH: 'jwt',
      JOBTREE_JWT_ISSUER: 'https://login.example.com/realm',
      JOBTREE_JWT_AUDIENCE: 'jobtree',
      JOBTREE_JWT_JWKS_URL: 'https://login.example.com/keys',
    };
    expect(readConfig(jwt).openId).toBeUndefined();
    const JOBTREE_DASHBOARD_CLIENT_ID = 'dashboard';
    const read = (env: Record<string, string>) => readConfig({ ...jwt, JOBTREE_DASHBOARD_CLIENT_ID, ...env });
    expect(read({ JOBTREE_DASHBOARD_SIGN_IN_PARAMETERS: 'audience=jobtree' }).openId).toEqual({
      issuer: 'https://login.example.com/realm',
      clientId: 'dashboard',
      scope: 'openid',
      parameters: 'audience=jobtree',
      usesIdToken: false,
    });
    expect(read({ JOBTREE_JWT_AUDIENCE: 'dashboard' }).openId?.usesIdToken).toBe(true);
    for (const JOBTREE_JWT_ISSUER of ['http://localhost:8080', 'http://127.0.0.1:1'])
      expect(read({ JOBTREE_JWT_ISSUER }).openId).toBeDefined();
    for (const JOBTREE_JWT_ISSUER of ['login', 'http://login.example.com', 'ftp://login.example.com'])
      expect(() => read({ JOBTREE_JWT_ISSUER })).toThrow(/JOBTREE_JWT_ISSUER must be the https URL/);
    expect(() => readConfig({ JOBTREE_DASHBOARD_CLIENT_ID })).toThrow(/JOBTREE_AUTH must include jwt/);
    expect(() => read({ JOBTREE_DASHBOARD_SCOPE: 'profile' })).toThrow(/JOBTREE_DASHBOARD_SCOPE/);
    expect(() => read({ JOBTREE_DASHBOARD_SIGN_IN_PARAMETERS: 'a b' })).toThrow(/SIGN_IN_PARAMETERS/);
  });

  it('reads the store of uploads from the variables that AWS programs use', () => {
    const read = (env: Record<string, string>) => readConfig(env).uploadStore;
    expect(read({})).toBeUndefined();
    expect(
      read({ JOBTREE_UPLOAD_STORE_URL: 's3://my-bucket/a/b/', JOBTREE_UPLOAD_STORE_REGION: 'eu-central-1' }),
    ).toEqual({
      name: 's3://my-bucket/a/b',
      bucket: 'my-bucket',
      prefix: 'a/b/',
      endpoint: undefined,
      region: 'eu-central-1',
      pathStyle: false,
    });
    expect(
      read({
        JOBTREE_UPLOAD_STORE_URL: 's3://my-bucket',
        JOBTREE_UPLOAD_STORE_ENDPOINT: 'https://minio.example.com:9000/',
        JOBTREE_UPLOAD_STORE_PATH_STYLE: 'true',
      }),
    ).toMatchObject({
      name: 's3://my-bucket at https://minio.example.com:9000',
      prefix: '',
      region: 'us-east-1',
      pathStyle: true,
    });
    expect(read({ JOBTREE_UPLOAD_STORE_URL: 's3://my-bucket', AWS_REGION: 'eu-west-1' })?.region).toBe(
      'eu-west-1',
    );
  });

  it.each([
    [{ JOBTREE_UPLOAD_STORE_URL: 'https://key:s3cret@host/bucket' }, 'must be s3://bucket'],
    [{ JOBTREE_UPLOAD_STORE_URL: 's3://key:s3cret@bucket' }, 'must be s3://bucket'],
    [{ JOBTREE_UPLOAD_STORE_URL: 's3://my-bucket' }, 'needs JOBTREE_UPLOAD_STORE_REGION'],
    [{ JOBTREE_UPLOAD_STORE_REGION: 'eu-central-1' }, 'belongs to a JOBTREE_UPLOAD_STORE_URL'],
    [{ JOBTREE_UPLOAD_STORE_PATH_STYLE: 'false' }, 'belongs to a JOBTREE_UPLOAD_STORE_URL'],
    [
      {
        JOBTREE_UPLOAD_STORE_URL: 's3://my-bucket',
        JOBTREE_UPLOAD_STORE_ENDPOINT: 'https://key:s3cret@host',
      },
      'without credentials',
    ],
    [
      {
        JOBTREE_UPLOAD_STORE_URL: 's3://my-bucket',
        AWS_REGION: 'eu-west-1',
        AWS_SECRET_ACCESS_KEY: 's3cret',
      },
      'AWS_SECRET_ACCESS_KEY: belongs to AWS_ACCESS_KEY_ID, which is not set',
    ],
  ])('refuses an incomplete or invalid store of uploads and quotes no secret: %j', (env, message) => {
    const read = () => readConfig(env);
    expect(read).toThrow(message);
    expect(read).not.toThrow('s3cret');
  });
});
