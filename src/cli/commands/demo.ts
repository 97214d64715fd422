/** `jobtree demo`: everything at once, to look at. Database and server run in this process, the workers in their own. */
import { type Client, createClient } from '../../client/index.ts';
import { type Config, readConfig } from '../../config/config.ts';
import { type App, createApp } from '../../server/create-app.ts';
import { createLogger } from '../../server/log.ts';
import { openDatabase, type UsedDatabase } from '../database.ts';
import { runAirports } from '../demo/airports.ts';
import type { Outcome } from '../demo/outcome.ts';
import { runPayroll } from '../demo/payroll.ts';
import { openShop } from '../demo/shop.ts';
import { startWorkerProcess, type WorkerProcess } from '../demo/worker-process.ts';
import { exitCodes } from '../exit-codes.ts';
import { printField } from '../fields.ts';
import { catchInterruption } from '../interruption.ts';
import { print } from '../output.ts';
import { terminalLog } from '../terminal-log.ts';
import { fitted } from '../width.ts';

export interface DemoOptions {
  readonly exit?: true;
}

const workerProcesses = 2;

export async function demo(options: DemoOptions): Promise<number> {
  const config = readConfig(process.env);
  const interruption = catchInterruption();
  const { signal } = interruption;
  say('jobtree demo\n');
  const database = await openDatabase(config);
  const closing: (() => Promise<void>)[] = [() => database.stop()];
  try {
    const app = await serveSomewhere(config, database);
    closing.unshift(() => app.close());
    const client = createClient({ url: app.url });
    closing.unshift(() => client.close());
    const workers: WorkerProcess[] = [];
    closing.unshift(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
    while (workers.length < workerProcesses) workers.push(await startWorkerProcess(app.url));
    printField('  Postgres', database.description);
    printField('  API', app.url);
    printField('  Dashboard', new URL('dashboard/', app.url).href);
    printField('  GraphiQL', `${app.url} in a browser`);
    printField('  Workers', `processes ${workers.map((worker) => worker.pid).join(' and ')}`);

    const problems = await Promise.race([run(client, signal), ...workers.map((worker) => worker.lost)]);
    say(problems.length === 0 ? '\nEverything came out right.' : `\nNot everything came out right:`);
    for (const problem of problems) say(`  ${problem}`);
    if (!options.exit) {
      closing.unshift(await openShop(client));
      say(
        '\n3. A shop, to look at while it works: orders that are charged and shipped, some of which fail, a customer',
      );
      say(
        '   whose orders are held up, a schedule, and a newsletter that is paused. Look at it in the dashboard:\n',
      );
      say(`   ${new URL('dashboard/', app.url).href}`);
      say(`\nThe server keeps running at ${app.url} until you press Ctrl-C.`);
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
    return problems.length === 0 ? exitCodes.success : exitCodes.failure;
  } catch (error) {
    if (signal.aborted) return interruption.exitCode;
    throw error;
  } finally {
    if (signal.aborted) say(`\nStopping. The jobs of the demo stay in Postgres (${database.description}).`);
    for (const close of closing) await close();
  }
}

async function run(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  say('\n1. A tree of jobs: every payroll that is calculated becomes a check to send.');
  say('   One of them fails at first, and is tried again.\n');
  const payroll = report(await runPayroll(client, signal));

  say('\n2. A CSV file, line by line: which big airport is nearest to each airport?\n');
  const airports = report(await runAirports(client, signal));
  return [...payroll.problems, ...airports.problems];
}

function report(outcome: Outcome): Outcome {
  for (const line of outcome.report) say(line);
  return outcome;
}

/** At the configured port, or, if somebody else has it, at a free one. */
async function serveSomewhere(config: Config, database: UsedDatabase): Promise<App> {
  // Its log would tear the bars apart; who wants it anyway sets the level.
  const logger = createLogger(process.env.JOBTREE_LOG_LEVEL ? config.logLevel : 'error', terminalLog());
  try {
    return await createApp({ config, databaseUrl: database.url, logger });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    say(`  Port ${config.port} is in use, so the server uses a free one.`);
    return await createApp({ config: { ...config, port: 0 }, databaseUrl: database.url, logger });
  }
}

function say(line: string): void {
  print(`${fitted(line, process.stdout)}\n`);
}
