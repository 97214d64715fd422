/**
 * What one of several processes does (see processes.ts). It loads the server at once, while the primary starts Postgres, and
 * serves when the primary says from which database.
 *
 * It obeys its primary only, which may be told by a signal that reached all of them (Ctrl-C): so it takes signals for the same
 * wish, however many there are. Without its primary it ends at once, as if killed: Node sees to that.
 */
import { readConfig } from '../../config/config.ts';
import { createLogger } from '../../server/log.ts';
import { reportError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { aborted } from '../interruption.ts';
import { terminalLog } from '../terminal-log.ts';

export type FromPrimary = { readonly databaseUrl: string } | 'end';
/** A process says both, in this order. */
export type FromProcess = 'listening' | { readonly readyAt: string };

export async function serveForPrimary(): Promise<never> {
  const end = new AbortController();
  const databaseUrl = new Promise<string>((resolve) => {
    process.on('message', (message: FromPrimary) => {
      if (message === 'end') end.abort();
      else resolve(message.databaseUrl);
    });
  });
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => end.abort());
  say('listening');
  const exitCode = await serveFrom(databaseUrl, end.signal).catch(reportError);
  // The channel to the primary would keep it alive, and to close that would be taken for success.
  process.exit(exitCode);
}

async function serveFrom(database: Promise<string>, signal: AbortSignal): Promise<number> {
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel, terminalLog());
  const loaded = await Promise.race([Promise.all([import('./serve.ts'), database]), aborted(signal)]);
  if (loaded === undefined) return exitCodes.success;
  const [{ serve }, databaseUrl] = loaded;
  return serve({ config, databaseUrl, logger, signal, onReady: (url) => say({ readyAt: url }) });
}

function say(message: FromProcess): void {
  if (process.connected) process.send?.(message);
}
