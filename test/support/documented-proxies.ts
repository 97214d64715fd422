/** nginx and Caddy with the configurations of the documentation. Where they are missing their tests are skipped, but never in CI. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { IssuedCertificate } from './certificates.ts';
import { example } from './documentation.ts';
import { freePort } from './ports.ts';

export const withoutProgram = (program: string, option: string) =>
  spawnSync(program, [option]).status !== 0 && process.env.CI !== 'true';

export interface DocumentedProxy {
  readonly port: number;
  stop(): Promise<void>;
}

/** The example as it is, but for addresses, files and the secret; `addresses` has what stands in place of those that it names. */
export async function startDocumentedProxy(
  name: string,
  { certFile, keyFile }: IssuedCertificate,
  { secret, addresses }: { secret: string; addresses: Record<string, string> },
): Promise<DocumentedProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtree-proxied-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  let text = example(name.endsWith('-auth') ? 'authentication.md' : 'security.md', name).replaceAll(
    'the value of JOBTREE_PROXY_SECRET',
    secret,
  );
  for (const [documented, address] of Object.entries(addresses))
    text = text.replaceAll(documented, new URL(address).host);
  const file = join(folder, 'configuration');
  const command = name.startsWith('nginx') ? 'nginx' : 'caddy';
  if (command === 'nginx') {
    const own = text
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('/etc/nginx/tls.crt', certFile)
      .replace('/etc/nginx/tls.key', keyFile);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (path) => `${path}_temp_path ${folder}/${path};`,
    );
    writeFileSync(file, `events {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${own}}\n`);
  } else {
    const own = text.replace(
      'jobs.example.com {',
      `jobs.example.com:${port} {\n  bind 127.0.0.1\n  tls ${certFile} ${keyFile}`,
    );
    writeFileSync(file, `{\n  admin off\n  auto_https disable_redirects\n}\n${own}`);
  }
  const globals = `daemon off; pid ${folder}/pid; error_log stderr notice;`;
  const child =
    command === 'nginx'
      ? spawn('nginx', ['-p', folder, '-c', file, '-e', 'stderr', '-g', globals], { stdio: 'pipe' })
      : spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
          stdio: 'pipe',
          env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
        });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`${command} ended:\n${said}`);
    await delay(20);
  }
  return {
    port,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
