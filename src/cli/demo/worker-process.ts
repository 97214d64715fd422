/** Starts a worker process of the demonstration. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface WorkerProcess {
  readonly pid: number;
  /** Rejects if it ends without being told to. */
  readonly lost: Promise<never>;
  /** Lets it finish what it has in hand. */
  stop(): Promise<void>;
}

/** Resolves when the worker has reached the server. */
export async function startWorkerProcess(url: string): Promise<WorkerProcess> {
  // Beside this file, and of its kind: compiled or not.
  const program = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));
  const child = fork(program, [url], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  let stopping = false;
  const lost = new Promise<never>((_, reject) => {
    child.on('exit', (code, signal) => {
      if (!stopping) reject(new Error(`A worker process ended with ${signal ?? code}.`));
    });
  });
  lost.catch(() => {}); // whoever waits for it is told
  await Promise.race([once(child, 'message'), lost]);
  return {
    pid: child.pid ?? 0,
    lost,
    stop: async () => {
      stopping = true;
      if (child.connected) child.disconnect();
      if (child.exitCode === null && child.signalCode === null) await ended;
    },
  };
}
