/** Starts a worker process of the demonstration. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface WorkerProcess {
  readonly pid: number;
  /** Lets it finish what it has in hand. */
  stop(): Promise<void>;
}

/** Resolves when the worker has reached the server. */
export async function startWorkerProcess(url: string): Promise<WorkerProcess> {
  // Beside this file, and of its kind: compiled or not.
  const program = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));
  const child = fork(program, [url], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  await Promise.race([
    once(child, 'message'),
    ended.then(([code]) => Promise.reject(new Error(`A worker process ended with ${code}.`))),
  ]);
  return {
    pid: child.pid ?? 0,
    stop: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
