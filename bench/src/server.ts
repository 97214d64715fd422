/** A jobtree server: the built program in its own process, as an operator would start it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { atEnd } from './closers.ts';

export const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Server {
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

export async function startServer(
  databaseUrl: string,
  options: {
    readonly redisUrl?: string | undefined;
    readonly nodeArgs?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Server> {
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), program, 'start'], {
    env: {
      ...cleanEnvironment(),
      DATABASE_URL: databaseUrl,
      ...(options.redisUrl !== undefined && { REDIS_URL: options.redisUrl }),
      JOBTREE_PORT: '0',
      JOBTREE_LOG_LEVEL: 'warn',
      JOBTREE_GRAPHIQL: 'false',
      // All subscribers come from one address, and so does the worker.
      JOBTREE_CALLER_CONNECTIONS: '100000',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  };
  atEnd(stop);
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const found = /^API\s+(\S+)/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then(([code]) => reject(new Error(`The server ended at once, with ${code}.`)));
  });
  return { pid: child.pid as number, url, stop };
}

/** The environment without settings for jobtree, which the user may have for a server of their own. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const isSetting = (name: string) => name.startsWith('JOBTREE_') || name === 'REDIS_URL';
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
}
