/** `jobtree start`: the server, until it is told to end. */
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { readConfig } from '../../config.ts';
import { createApp } from '../../server/create-app.ts';
import { createLogger } from '../../server/log.ts';
import { openDatabase } from '../database.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption } from '../interruption.ts';

/** Beyond the time that requests in flight are given. */
const shutdownMarginMs = 5_000;

/**
 * How much what is kept may grow until it is looked through for garbage, in percent. V8 would let it grow to several times its size while
 * answers of 1 MB are made, of which it keeps nothing: 46 MB became 350.
 */
const heapGrowthPercent = 50;

export async function start(): Promise<number> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel);
  const { signal } = catchInterruption();
  const database = await openDatabase(config);
  try {
    const app = await createApp({ config, databaseUrl: database.url, logger });
    say(`Postgres  ${database.description}`);
    say(`API       ${app.url}`);
    if (config.graphiql) say(`GraphiQL  ${app.url} in a browser`);
    logger.info({ url: app.url }, 'ready');
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    logger.info('shutting down');
    endAfter(config.shutdownDelayMs + config.shutdownTimeoutMs + shutdownMarginMs, logger);
    await app.close();
  } finally {
    await database.stop();
  }
  logger.info('stopped');
  return exitCodes.success;
}

/** For a shutdown that hangs, as with a database that does not answer. */
function endAfter(ms: number, logger: Logger): void {
  const timer = setTimeout(() => {
    logger.error('shutting down took too long');
    process.exit(exitCodes.failure);
  }, ms);
  timer.unref();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
