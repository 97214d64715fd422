/** The image has every file that the program reads: what its Dockerfile copies is put together here, and run. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { createDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');

it('the image can migrate a database and set up its roles', async () => {
  const image = mkdtempSync(join(tmpdir(), 'jobtree-image-'));
  const db = await createDatabase();
  onTestFinished(async () => {
    rmSync(image, { recursive: true });
    await db.drop();
  });
  const copies = dockerfile.matchAll(/^COPY --from=build \/jobtree\/(\S+) (\S+)$/gm);
  for (const [, from = '', to = ''] of copies) {
    const target = to.endsWith('/') ? join(image, to, from.split('/').at(-1) ?? '') : join(image, to);
    mkdirSync(resolve(target, '..'), { recursive: true });
    if (from === 'node_modules') symlinkSync(join(root, from), target);
    else cpSync(join(root, from), target, { recursive: true });
  }
  const run = (...args: string[]) =>
    execFileSync(process.execPath, ['dist/cli/main.js', ...args], {
      cwd: image,
      env: { ...process.env, DATABASE_URL: db.url },
      encoding: 'utf8',
    });
  expect(run('--version').trim()).toMatch(/^\d+\.\d+\.\d+/);
  run('migrate');
  expect(run('roles')).toContain("'jobtree_work'");
});

it.each(['http', 'https'])('its health check asks whether the server is ready, by %s', async (scheme) => {
  const check: string[] = JSON.parse(/^HEALTHCHECK .*\\\n {2}CMD (.*)$/m.exec(dockerfile)?.[1] ?? '');
  const db = await createDatabase();
  onTestFinished(() => db.drop());
  const env: Record<string, string> = {};
  if (scheme === 'https') {
    const authority = createAuthority();
    onTestFinished(() => authority.remove());
    const { certFile, keyFile } = authority.issue(['DNS:jobs.example']);
    Object.assign(env, { JOBTREE_TLS_CERT_FILE: certFile, JOBTREE_TLS_KEY_FILE: keyFile });
  }
  const app = await startServer(db.url, env);
  let isOpen = true;
  onTestFinished(async () => void (isOpen && (await app.close())));
  const isHealthy = async () => {
    const [program = '', ...args] = check;
    const child = spawn(program, args, {
      env: { ...process.env, ...env, JOBTREE_PORT: new URL(app.url).port },
    });
    return (await once(child, 'exit'))[0] === 0;
  };
  expect(await isHealthy()).toBe(true);
  await app.close();
  isOpen = false;
  expect(await isHealthy()).toBe(false);
});
