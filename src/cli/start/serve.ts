/** One server in this process, until it is told to end, or until a fault that nobody caught. */
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { type App, createApp } from '../../server/create-app.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchFaults } from '../faults.ts';

/** Beyond the time that requests in flight are given. */
export const shutdownMarginMs = 5_000;

export async function serve(options: {
  config: Config;
  databaseUrl: string;
  logger: Logger;
  /** Aborts when the server is to end. */
  signal: AbortSignal;
  onReady: (url: string) => void;
}): Promise<number> {
  const { config, databaseUrl, logger, signal, onReady } = options;
  const faulted = new Promise<number>((resolve) => {
    catchFaults(logger, () => resolve(exitCodes.failure));
  });
  const app = await createApp({ config, databaseUrl, logger });
  onReady(app.url);
  const exitCode = await Promise.race([aborted(signal), faulted]);
  logger.info('shutting down');
  endAfter(config.shutdownDelayMs + config.shutdownTimeoutMs + shutdownMarginMs, app, logger);
  await app.close();
  logger.info('stopped');
  return exitCode;
}

function aborted(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    const end = () => resolve(exitCodes.success);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** For a shutdown that hangs, as with a database that does not answer. */
function endAfter(ms: number, app: App, logger: Logger): void {
  const timer = setTimeout(() => {
    logger.error(
      { part: app.stopping, active: process.getActiveResourcesInfo() },
      'shutting down took too long',
    );
    process.exit(exitCodes.failure);
  }, ms);
  timer.unref();
}
