/** Certificates of an authority of the tests' own, made with openssl. Tests that need it are skipped where there is none, but never in CI. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const withoutOpenssl = spawnSync('openssl', ['version']).status !== 0 && process.env.CI !== 'true';

export interface IssuedCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Authority {
  readonly file: string;
  readonly cert: string;
  /** Of these names and addresses, such as `DNS:localhost`; over since yesterday with `isOver`. */
  issue(
    names: readonly string[],
    options?: { isOver?: boolean; owner?: number | undefined },
  ): IssuedCertificate;
  remove(): void;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'jobtree-tls-'));
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  // Its key is for nobody else.
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-days',
    '30',
    '-subj',
    '/CN=authority',
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
  );
  let count = 0;
  return {
    file: path('ca.pem'),
    cert: readFileSync(path('ca.pem'), 'utf8'),
    issue: (names, { isOver = false, owner } = {}) => {
      const name = `${++count}`;
      const [certFile, keyFile] = [path(`${name}.pem`), path(`${name}.key`)];
      openssl('req', ...newKey, '-subj', '/CN=server', '-keyout', keyFile, '-out', path(`${name}.csr`));
      writeFileSync(path(`${name}.ext`), `subjectAltName=${names.join(',')}`);
      openssl(
        'x509',
        '-req',
        '-in',
        path(`${name}.csr`),
        '-CA',
        path('ca.pem'),
        '-CAkey',
        path('ca.key'),
        '-days',
        isOver ? '-1' : '30',
        '-extfile',
        path(`${name}.ext`),
        '-out',
        certFile,
      );
      if (owner !== undefined) for (const file of [certFile, keyFile]) chownSync(file, owner, owner);
      return { certFile, keyFile };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
