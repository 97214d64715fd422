/** `jobtree start`: the server, until it is told to end; in this process, or in several. */
import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { readConfig, refuseOpen } from '../../config/config.ts';
import { encryptionProblems } from '../../config/encryption.ts';
import { createLogger } from '../../server/log.ts';
import { openDatabase } from '../database.ts';
import { printField } from '../fields.ts';
import { catchInterruption } from '../interruption.ts';
import { print } from '../output.ts';
import { serveForPrimary } from '../start/process.ts';
import { Processes } from '../start/processes.ts';
import { terminalLog } from '../terminal-log.ts';

/**
 * How much what is kept may grow until it is looked through for garbage, in percent. V8 would let it grow to several times its size while
 * answers of 1 MB are made, of which it keeps nothing: 46 MB became 350. With 100 it was 216 to 347, with 60 it is 201 to 243; less costs
 * workers too much of the processor.
 */
const heapGrowthPercent = 60;

export async function start(options: { processes: number }): Promise<number> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  if (cluster.isWorker) return serveForPrimary();
  const config = readConfig(process.env);
  refuseOpen(config);
  const logger = createLogger(config.logLevel, terminalLog());
  for (const problem of encryptionProblems(config)) logger.warn(problem);
  const { signal } = catchInterruption({ onEnd: () => processes?.kill() });
  // They load what they need while Postgres starts.
  const processes =
    options.processes === 1 ? undefined : new Processes({ count: options.processes, config, logger });
  const database = await openDatabase(config).catch((error) => {
    processes?.kill();
    throw error;
  });
  let isReady = false;
  const onReady = (url: string) => {
    isReady = true;
    printField('Postgres', database.description);
    printField('API', url);
    if (config.dashboard) printField('Dashboard', new URL('dashboard/', url).href);
    if (config.graphiql) printField('GraphiQL', `${url} in a browser`);
    if (config.auth.length === 0)
      printField('Access', 'open: anyone who can reach this address may do anything (JOBTREE_AUTH)');
    else printField('Access', `by ${config.auth.join(', ')}`);
    if (process.stdout.isTTY) print('Press Ctrl-C to stop.\n');
    logger.info({ url, processes: options.processes }, 'ready');
  };
  const serveAlone = async () => {
    const { serve } = await import('../start/serve.ts');
    return serve({ config, databaseUrl: database.url, logger, signal, onReady });
  };
  const exitCode = await (processes?.serve(database.url, signal, onReady) ?? serveAlone()).finally(() =>
    database.stop(),
  );
  // What a start that was broken off was just opening would keep the process.
  if (!isReady) process.exit(exitCode);
  return exitCode;
}
