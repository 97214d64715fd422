/** `jobtree start`: the server, until it is told to end; in this process, or in several. */
import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { readConfig } from '../../config.ts';
import { createLogger } from '../../server/log.ts';
import { openDatabase } from '../database.ts';
import { catchInterruption } from '../interruption.ts';
import { Processes, serveForPrimary } from '../start/processes.ts';
import { serve } from '../start/serve.ts';

/**
 * How much what is kept may grow until it is looked through for garbage, in percent. V8 would let it grow to several times its size while
 * answers of 1 MB are made, of which it keeps nothing: 46 MB became 350.
 */
const heapGrowthPercent = 100;

export async function start({ processes }: { processes: number }): Promise<number> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel);
  if (cluster.isWorker) return serveForPrimary(config, config.databaseUrl ?? '', logger);
  let killAll = () => {};
  const { signal } = catchInterruption(() => killAll());
  const database = await openDatabase(config);
  try {
    const onReady = (url: string) => {
      say(`Postgres  ${database.description}`);
      say(`API       ${url}`);
      if (config.graphiql) say(`GraphiQL  ${url} in a browser`);
      logger.info({ url, processes }, 'ready');
    };
    if (processes === 1) return await serve({ config, databaseUrl: database.url, logger, signal, onReady });
    const all = new Processes({ count: processes, databaseUrl: database.url, config, logger });
    killAll = () => all.kill();
    const started = await all.start();
    if ('exitCode' in started) return started.exitCode;
    onReady(started.url);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return await all.end();
  } finally {
    await database.stop();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
