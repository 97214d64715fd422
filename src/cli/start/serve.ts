/** One server in this process, until it is told to end, or until a fault that nobody caught. */
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { type App, createApp } from '../../server/create-app.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchFaults } from '../faults.ts';
import { aborted } from '../interruption.ts';
import { shutdownTimeMs } from './shutdown-time.ts';

/** Resolves to the exit code. A start that is broken off leaves what it was about to open: end the process. */
export async function serve(options: {
  config: Config;
  databaseUrl: string;
  logger: Logger;
  /** Aborts when the server is to end. */
  signal: AbortSignal;
  onReady: (url: string) => void;
}): Promise<number> {
  const { config, databaseUrl, logger, signal, onReady } = options;
  const ended = Promise.race([
    aborted(signal).then(() => exitCodes.success),
    new Promise<number>((resolve) => catchFaults(logger, () => resolve(exitCodes.failure))),
  ]);
  const app = await Promise.race([createApp({ config, databaseUrl, logger }), ended]);
  if (typeof app === 'number') return app;
  onReady(app.url);
  const exitCode = await ended;
  logger.info('shutting down');
  endAfter(shutdownTimeMs(config), app, logger);
  await app.close();
  logger.info('stopped');
  return exitCode;
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
