/** What nobody caught: a fault of the program itself, after which its state is not to be trusted. */
import type { Logger } from 'pino';
import { reportFault } from './command-error.ts';

/** Logs such faults, the first one loudly, which also calls `onFault`: the command then ends in good order. */
export function catchFaults(logger: Logger, onFault: () => void): void {
  let hasFailed = false;
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.off(event, reportFault);
    process.on(event, (error: unknown) => {
      if (hasFailed) {
        logger.error({ err: error }, 'another uncaught fault');
        return;
      }
      hasFailed = true;
      logger.fatal({ err: error }, 'uncaught fault: the server finishes the requests that it has, and stops');
      onFault();
    });
  }
}
