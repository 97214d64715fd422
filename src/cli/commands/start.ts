/** `jobtree start`: the server, until it is told to end. */
import { readConfig } from '../../config.ts';
import { createLogger } from '../../server/log.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption } from '../interruption.ts';
import { openDatabase, serve } from '../serving.ts';

/** Beyond the time that requests in flight are given. */
const shutdownMarginMs = 5_000;

export async function start(): Promise<number> {
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel);
  const { signal } = catchInterruption();
  const database = await openDatabase(config);
  const app = await serve(config, database, logger);
  process.stdout.write(
    `Postgres  ${database.description}\nAPI       ${app.url}\n${config.graphiql ? `GraphiQL  ${app.url} in a browser\n` : ''}`,
  );
  logger.info({ url: app.url }, 'ready');
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));

  logger.info('shutting down');
  const deadline = setTimeout(() => {
    logger.error('shutting down took too long');
    process.exit(exitCodes.failure);
  }, config.shutdownTimeoutMs + shutdownMarginMs);
  await app.close();
  await database.stop();
  clearTimeout(deadline);
  logger.info('stopped');
  return exitCodes.success;
}
