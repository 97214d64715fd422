/** The settings of the object store for uploads: a bucket of S3, or of anything that speaks its protocol. */

export interface ObjectStoreConfig {
  /** The name of the store in Postgres, which each upload remembers. */
  readonly name: string;
  readonly bucket: string;
  /** The beginning of all keys: empty, or a text that ends with a slash. */
  readonly prefix: string;
  /** Undefined for AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly pathStyle: boolean;
}

const names = {
  url: 'JOBTREE_UPLOAD_STORE_URL',
  endpoint: 'JOBTREE_UPLOAD_STORE_ENDPOINT',
  region: 'JOBTREE_UPLOAD_STORE_REGION',
  pathStyle: 'JOBTREE_UPLOAD_STORE_PATH_STYLE',
} as const;

/** Most stores other than AWS accept any region. */
const anyRegion = 'us-east-1';

/** The URL of a bucket, or of a folder in one. Error messages never quote a wrong URL, since it may contain a secret. */
export function isStoreUrl(text: string): boolean {
  return /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9!_.*'()-]+)*\/?$/.test(text);
}

export function isEndpoint(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/** Undefined if there is no store. Calls `refuse` for settings that contradict each other. */
export function readObjectStore(
  env: Readonly<Record<string, string | undefined>>,
  refuse: (problem: string) => void,
): ObjectStoreConfig | undefined {
  const url = env[names.url];
  if (url === undefined) {
    for (const name of Object.values(names))
      if (env[name] !== undefined) refuse(`${name}: belongs to a ${names.url}, which is not set`);
    return undefined;
  }
  const [bucket = '', ...folders] = url
    .replace(/^s3:\/\//, '')
    .replace(/\/$/, '')
    .split('/');
  const endpoint = env[names.endpoint]?.replace(/\/$/, '');
  const region =
    env[names.region] ??
    env.AWS_REGION ??
    env.AWS_DEFAULT_REGION ??
    (endpoint === undefined ? undefined : anyRegion);
  if (region === undefined) {
    refuse(
      `${names.url}: needs ${names.region} (or AWS_REGION), or the ${names.endpoint} of a store other than AWS`,
    );
    return undefined;
  }
  const [id, secret] = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const;
  if ((env[id] === undefined) !== (env[secret] === undefined)) {
    const [given, missing] = env[id] === undefined ? [secret, id] : [id, secret];
    refuse(`${given}: belongs to ${missing}, which is not set`);
  }
  const path = [bucket, ...folders].join('/');
  return Object.freeze({
    name: `s3://${path}${endpoint === undefined ? '' : ` at ${endpoint}`}`,
    bucket,
    prefix: folders.map((folder) => `${folder}/`).join(''),
    endpoint,
    region,
    pathStyle: env[names.pathStyle] === 'true',
  });
}
