/** A server in this process, or in one of its own that can be killed; both over real HTTP and WebSocket. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { readConfig } from '../../src/config/config.ts';
import type { AppOptions } from '../../src/server/app-options.ts';
import { type App, createApp } from '../../src/server/create-app.ts';
import { freePort } from './ports.ts';

/** Starts the service in this process, on a free port. */
export function startServer(
  databaseUrl: string,
  env: Record<string, string> = {},
  options: Pick<AppOptions, 'lookUp' | 'parkedClaims' | 'times'> = {},
): Promise<App> {
  const config = readConfig({ JOBTREE_PORT: '0', ...env });
  const logger = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });
  return createApp({ config, databaseUrl, logger, ...options });
}

export { freePort };

export interface ServerProcess {
  readonly url: string;
  readonly process: ChildProcess;
  /** What it printed so far. */
  readonly output: () => string;
  /** Sends a signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** The compiled program, which `npm test` builds first. */
export const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Starts `jobtree start` in a process of its own, and waits until it is ready. `program`: of another release. */
export async function startServerProcess(
  databaseUrl: string,
  env: Record<string, string> = {},
  options: readonly string[] = [],
  program: string = cli,
): Promise<ServerProcess> {
  const port = env.JOBTREE_PORT ?? String(await freePort());
  const child = spawn(process.execPath, [program, 'start', ...options], {
    env: { ...process.env, DATABASE_URL: databaseUrl, ...env, JOBTREE_PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, 'exit');
    }
    return child.exitCode;
  };
  const scheme = env.JOBTREE_TLS_CERT_FILE === undefined ? 'http' : 'https';
  while (!(await isReady(scheme, port))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`The server ended with ${child.exitCode ?? child.signalCode}:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url: `${scheme}://127.0.0.1:${port}/graphql`, process: child, output: () => output, end };
}

function isReady(scheme: 'http' | 'https', port: string): Promise<boolean> {
  const url = `${scheme}://127.0.0.1:${port}/readyz`;
  return new Promise((resolve) => {
    const onAnswer = (response: IncomingMessage) => resolve(response.resume().statusCode === 200);
    const request =
      scheme === 'http'
        ? getPlain(url, { agent: false }, onAnswer)
        : get(url, { agent: false, rejectUnauthorized: false }, onAnswer);
    request.on('error', () => resolve(false));
  });
}
