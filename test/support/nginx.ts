/** nginx with deploy/nginx.conf before servers. Without one on the PATH its tests are skipped, but never in CI. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';

export const withoutNginx = spawnSync('nginx', ['-v']).status !== 0 && process.env.CI !== 'true';
if (withoutNginx) console.log('Tests with nginx are skipped: install nginx-light.');

const configuration = new URL('../../deploy/nginx.conf', import.meta.url);
const temporaryPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface Nginx {
  readonly url: string;
  /** Sends nothing new to this server any more, as the documentation has operators do it before they shut one down. */
  drain(serverUrl: string): Promise<void>;
  stop(): Promise<void>;
}

/** The configuration as it is, but for addresses and files, and the path under which the servers are. */
export async function startNginx(serverUrls: readonly string[], prefix = '/'): Promise<Nginx> {
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-nginx-'));
  // Started by root, it changes to another user.
  await chmod(directory, 0o755);
  const port = await freePort();
  const hosts = serverUrls.map((url) => new URL(url).host);
  const files = [
    'access_log off;',
    ...temporaryPaths.map((name) => `${name}_temp_path ${directory}/${name};`),
  ];
  const text = (await readFile(configuration, 'utf8'))
    .replace('http {', `http {\n${files.join('\n')}`)
    .replace('location / {', `location ${prefix} {`)
    // With a path, nginx takes the prefix away.
    .replace('proxy_pass http://jobtree;', prefix === '/' ? '$&' : 'proxy_pass http://jobtree/;')
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace(/server-(\d):4000/g, (_, number) => hosts[number - 1] as string);
  const file = join(directory, 'nginx.conf');
  await writeFile(file, text);
  const globals = `daemon off; pid ${directory}/nginx.pid; error_log stderr notice;`;
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr', '-g', globals], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  while (!(await answers(`http://127.0.0.1:${port}${prefix}healthz`))) {
    if (child.exitCode !== null) throw new Error(`nginx ended:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url: `http://127.0.0.1:${port}${prefix}graphql`,
    drain: async (serverUrl) => {
      const server = `server ${new URL(serverUrl).host}`;
      await writeFile(file, text.replace(server, `${server} down`));
      output = '';
      child.kill('SIGHUP');
      while (!output.includes('gracefully shutting down'))
        await new Promise((resolve) => setTimeout(resolve, 10));
    },
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
