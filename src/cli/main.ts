#!/usr/bin/env node
/** The program `jobtree`: what its commands are called and take. What they do is in commands/, loaded when it is needed. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Command, CommanderError, Option } from 'commander';
import { addApiKeyCommands } from './api-key-commands.ts';
import { jsonOption, urlOption } from './api-options.ts';
import { onBrokenPipe } from './broken-pipe.ts';
import { addCallbackCommands } from './callback-commands.ts';
import { reportError } from './command-error.ts';
import { exitCodes, exitCodesHelp } from './exit-codes.ts';
import {
  orNone,
  parseAlert,
  parseDuration,
  parseDurations,
  parseInstant,
  parseRate,
  parseSeconds,
  parseShare,
  parseTolerance,
  parseWholeNumber,
} from './figures.ts';
import { addItemCommands } from './item-commands.ts';
import { print, printError } from './output.ts';
import { addScheduleCommands } from './schedule-commands.ts';
import { addTypeCommands } from './type-commands.ts';

// Libraries check more and run slower unless they are told; the commands load them later.
process.env.NODE_ENV ??= 'production';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const settings = await settingsHelp();

const program = new Command('jobtree')
  .description('Asynchronous work as trees of jobs: the server, workers and tools.')
  .version(version)
  .exitOverride()
  .configureOutput({ writeOut: print, writeErr: printError })
  .showHelpAfterError('(--help says what there is)');

program
  .command('start')
  .description('Start the server. Its settings are environment variables.')
  .option('--processes <n>', 'how many processes serve, on one port', parseWholeNumber(1, 256), 1)
  .addHelpText('after', `${settings}${exitCodesHelp('success', 'failure', 'usage', 'unreachable')}`)
  .action(run('continue', async (options) => (await import('./commands/start.ts')).start(options)));

program
  .command('migrate')
  .description('Bring the database up to this version, which `start` does too.')
  .addHelpText('after', `${settings}${exitCodesHelp('success', 'failure', 'usage', 'unreachable')}`)
  .action(run('continue', async () => (await import('./commands/migrate.ts')).migrate()));

program
  .command('doctor')
  .description(
    'Say what is wrong with Postgres, Redis, the servers and the work, since when, and what to do.',
  )
  .addOption(
    new Option(
      '--url <url>',
      'the API of a server to ask; http://127.0.0.1:4000/graphql if one is there',
    ).env('JOBTREE_URL'),
  )
  .addOption(
    new Option('--patience <time>', 'how long a transaction may be open')
      .argParser(parseDuration)
      .default(300_000, '5m'),
  )
  .addOption(jsonOption('an object a line'))
  .addHelpText(
    'after',
    `
It only reads, needs no server, and takes some seconds. Give it the settings of the servers.

${settings}${exitCodesHelp('success', 'failure', 'usage', 'unreachable', 'warnings', 'sick')}`,
  )
  .action(run('end', async (options) => (await import('./commands/doctor.ts')).doctor(options)));

program
  .command('roles')
  .description('Print the SQL that makes the roles jobtree_enqueue, jobtree_work and jobtree_watch.')
  .option('--apply', 'run it in the database instead, as the owner of the schema')
  .addHelpText('after', `${settings}${exitCodesHelp('success', 'failure', 'usage', 'unreachable')}`)
  .action(run('end', async (options) => (await import('./commands/roles.ts')).roles(options)));

program
  .command('demo')
  .description('Show it all: server, workers, a tree of jobs and a CSV import.')
  .option('--exit', 'end when the work is done, instead of serving on')
  .addHelpText('after', `${settings}${exitCodesHelp('success', 'failure', 'usage', 'unreachable')}`)
  .action(run('continue', async (options) => (await import('./commands/demo.ts')).demo(options)));

program
  .command('import')
  .description('Make the rows of a file the items of a job, in their order, and print the id of the job.')
  .argument('<file>', 'the file; - reads standard input')
  .option('--type <type>', 'the type of the new job')
  .option('--job <id>', 'add to this job instead of a new one')
  .addOption(
    new Option(
      '--format <format>',
      'what the file is, if its extension (csv, ndjson, jsonl, json, txt) does not say',
    ).choices(['csv', 'ndjson', 'json', 'lines']),
  )
  .option('--delimiter <character>', 'what stands between the cells of a CSV row', ',')
  .option('--dedupe-key <key>', 'go on with the job that has this key, if there is one')
  .option('--serialize-key <field>', 'rows with one value of this field run one at a time, in their order')
  .option('--block-on-failure', 'a row that failed for good holds back those behind it until it is settled')
  .option(
    '--max-failures <n>',
    'an item that fails more often has failed for good',
    parseWholeNumber(0, 1_000),
  )
  .option(
    '--tolerate <failures>',
    'with more failed items than this, or than this share (5%), the job fails',
    parseTolerance,
  )
  .option('--backoff <times>', 'the waits after failures: 30s,5m,30m', parseDurations)
  .option('--priority <n>', 'higher goes first', parseWholeNumber(-32_768, 32_767))
  .option('--callback <endpoint...>', 'the endpoints to call when the job is complete')
  .option(
    '--retention <time>',
    'for how long the job is kept once it is complete: 30d, or never',
    parseSeconds,
  )
  .option('--upload', 'have the server read the file, so that this shell may be closed')
  .option('--no-upload', 'read the file here, however large it is')
  .option('--no-seal', 'leave the job open for more items')
  .option('--watch', 'then watch the job until it is complete')
  .addOption(
    new Option('--patience <time>', 'how long to try again while the server or its Postgres is away')
      .argParser(parseDuration)
      .default(60_000, '60s'),
  )
  .addOption(urlOption())
  .addOption(jsonOption('the outcome as JSON'))
  .addHelpText(
    'after',
    `
A CSV row becomes an object of texts, by the names in the header; a line of NDJSON the value it has; a plain line a text.
Empty lines are left out. If a row is bad or the import is broken off, the job that it made is cancelled.
A file of more than 10 MB is uploaded, unless --no-upload or another option stands against it: then the server reads it, and a bad row becomes
a failed item. So are files that end in .gz or .zst, and JSON arrays.
${exitCodesHelp('success', 'failure', 'usage', 'itemsFailed', 'notFound', 'unreachable', 'badFile')}`,
  )
  .action(
    run('continue', async (file, options) =>
      (await import('./commands/import.ts')).importFile(file, options),
    ),
  );

program
  .command('watch')
  .description('Show how far a job is, until it is complete.')
  .argument('<id>', 'the job')
  .option('--tree', 'show all jobs of its tree')
  .addOption(urlOption())
  .addOption(jsonOption('an object a line'))
  .addHelpText(
    'after',
    exitCodesHelp('success', 'failure', 'usage', 'itemsFailed', 'notFound', 'unreachable'),
  )
  .action(run('end', async (id, options) => (await import('./commands/watch.ts')).watch(id, options)));

program
  .command('export')
  .description('Write what a tree results in: its payloads and results, one JSON object a line.')
  .argument('<id>', 'a job of the tree')
  .option('--out <file>', 'where to, instead of standard output; compressed if its name ends in .gz')
  .option('--after <id>', 'go on behind this item, which was the last; with --out at the end of the file')
  .addOption(urlOption())
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
  .action(
    run('end', async (id, options) => (await import('./commands/export.ts')).exportResults(id, options)),
  );

program
  .command('work')
  .description('Work on items of a type by running a command for each.')
  .usage('[options] <type> -- <command> [args...]')
  .argument('<type>', 'the type of the jobs')
  .argument('<command...>', 'the command and its arguments, behind --')
  .option('--concurrency <n>', 'how many at once', parseWholeNumber(1, 10_000), availableParallelism())
  .option('--name <name>', 'the name of the worker, for failures and for who holds what')
  .option('--stop-when-idle <seconds>', 'end after this time without work', parseDuration)
  .addOption(
    new Option('--stop-timeout <seconds>', 'how long commands may take to finish after SIGTERM')
      .argParser(parseDuration)
      .default(30_000, '30'),
  )
  .addOption(urlOption())
  .addOption(jsonOption('each outcome as an object a line'))
  .addHelpText(
    'after',
    `
The command gets the payload as JSON on standard input. Its standard output is the result: JSON if it parses, else text;
null if it is empty. In its environment are JOBTREE_ITEM_ID, JOBTREE_JOB_ID, JOBTREE_TYPE, JOBTREE_ATTEMPT and JOBTREE_URL.

Exit codes of the command:
  0    success
  100  permanent failure: the item is not tried again
  any other, or the end by a signal: failure, with the end of standard error as its message

An item that is not wanted any more ends its command with SIGTERM, and 5 seconds later with SIGKILL. SIGTERM to the worker
lets commands finish within --stop-timeout and gives back the rest; a second one ends all at once.
${exitCodesHelp('success', 'failure', 'usage')}`,
  )
  .action(
    run('continue', async (type, command, options) =>
      (await import('./commands/work.ts')).work(type, command, options),
    ),
  );

program
  .command('jobs')
  .description('List jobs, the newest first.')
  .option('--type <type>', 'only jobs of this type')
  .addOption(
    new Option('--status <status>', 'only jobs of this status').choices(['waiting', 'running', 'completed']),
  )
  .addOption(
    new Option('--outcome <outcome>', 'only complete jobs of this outcome').choices([
      'succeeded',
      'failed',
      'cancelled',
    ]),
  )
  .option('--limit <n>', 'how many', parseWholeNumber(1, 1_000_000), 20)
  .option('--schedule <name>', 'only trees that this schedule made')
  .option(
    '--idle-since <time>',
    'only trees that are idle since then: a time, or how long ago (2d)',
    parseInstant,
  )
  .option('--all', 'also jobs below the roots of their trees')
  .addOption(urlOption())
  .addOption(jsonOption('an object a line'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'unreachable'))
  .action(run('end', async (options) => (await import('./commands/jobs.ts')).listJobs(options)));

program
  .command('queues')
  .description(
    'List the types that have settings, of which anything waits or runs, or was done in the last hour.',
  )
  .addOption(urlOption())
  .addOption(jsonOption('an object a line'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'unreachable'))
  .action(run('end', async (options) => (await import('./commands/queues.ts')).listQueues(options)));

program
  .command('top')
  .description('Show what is done of each type, how long it waits and takes, and what fails; until Ctrl-C.')
  .option('--once', 'show it once')
  .addOption(
    new Option('--interval <time>', 'how often to look').argParser(parseDuration).default(2_000, '2s'),
  )
  .option('--minutes <n>', 'rates, times and failures of so many minutes', parseWholeNumber(1, 1_440), 1)
  .addOption(urlOption())
  .addOption(jsonOption('an object a line for each type'))
  .addHelpText(
    'after',
    `
READY is in brackets while the type is paused; OLDEST is how long the first of it has waited; SLOW is how much of what runs has taken
far longer than is usual.
${exitCodesHelp('success', 'failure', 'usage', 'unreachable')}`,
  )
  .action(run('end', async (options) => (await import('./commands/top.ts')).top(options)));

program
  .command('queue')
  .description('Show a type: how much of it waits and runs, and its settings. With options, first set these.')
  .argument('<type>', 'the type')
  .addOption(new Option('--pause', 'give no item to workers').conflicts('resume'))
  .option('--resume', 'give items to workers again')
  .option(
    '--concurrency <n>',
    'how many items all workers hold at a time',
    orNone(parseWholeNumber(1, 1_000_000)),
  )
  .option('--rate <n/time>', 'how many items are claimed in any interval: 100/10s', orNone(parseRate))
  .option('--lifetime <time>', 'how long an item may wait for its first worker', orNone(parseDuration))
  .option(
    '--alert <endpoint:n/time>',
    'what to call when so many fail for good in such a time: ops:100/5m',
    orNone(parseAlert),
  )
  .option('--priority <n>', 'of new jobs that name none', orNone(parseWholeNumber(-32_768, 32_767)))
  .option('--max-failures <n>', 'of new jobs that name none', orNone(parseWholeNumber(0, 1_000)))
  .option('--backoff <times>', 'of new jobs that name none: 30s,5m,30m', orNone(parseDurations))
  .option('--backoff-jitter <share>', 'of new jobs that name none: 0 to 1', orNone(parseShare))
  .option('--heartbeat-interval <time>', 'of new jobs that name none', orNone(parseDuration))
  .addOption(urlOption())
  .addOption(jsonOption('the type as JSON'))
  .addHelpText(
    'after',
    `
What no option names stays as it is; the value none takes a setting away.
${exitCodesHelp('success', 'failure', 'usage', 'unreachable')}`,
  )
  .action(run('end', async (type, options) => (await import('./commands/queues.ts')).queue(type, options)));

program
  .command('keys')
  .description('List the serialize keys behind whose head most items wait, the longest line first.')
  .argument('[keys...]', 'only these keys, as far as they are in use')
  .option('--limit <n>', 'how many', parseWholeNumber(1, 1_000), 20)
  .addOption(urlOption())
  .addOption(jsonOption('an object a line'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'unreachable'))
  .action(run('end', async (keys, options) => (await import('./commands/keys.ts')).listKeys(keys, options)));

program
  .command('create')
  .description('Create a tree of jobs as a file says it, and print its id.')
  .argument('<file>', 'the tree in JSON or YAML, with the fields of JobInput; - for standard input')
  .option('--watch', 'show how far the root is, until it is complete')
  .addOption(urlOption())
  .addOption(jsonOption('the outcome as JSON'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'itemsFailed', 'unreachable', 'badFile'))
  .action(
    run('end', async (file, options) => (await import('./commands/create.ts')).createTree(file, options)),
  );

program
  .command('seal')
  .description('Say that no more items come into a job, so that it can be complete.')
  .argument('<id>', 'the job')
  .addOption(urlOption())
  .addOption(jsonOption('the outcome as JSON'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
  .action(run('end', async (id, options) => (await import('./commands/seal.ts')).sealJob(id, options)));

program
  .command('items')
  .description('List the items of a job, in their order.')
  .argument('<id>', 'the job')
  .addOption(
    new Option('--status <status>', 'only items of this status').choices([
      'pending',
      'succeeded',
      'failed',
      'cancelled',
    ]),
  )
  .option('--limit <n>', 'how many', parseWholeNumber(1, 1_000_000_000), 100)
  .addOption(urlOption())
  .addOption(jsonOption('an object a line, with results and failures'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
  .action(run('end', async (id, options) => (await import('./commands/items.ts')).listItems(id, options)));

program
  .command('cancel')
  .description(
    'Cancel a job and all below it. What is done stays; what is pending is not worked on any more.',
  )
  .argument('<id>', 'the job')
  .addOption(urlOption())
  .addOption(jsonOption('the outcome as JSON'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
  .action(run('end', async (id, options) => (await import('./commands/cancel.ts')).cancelJob(id, options)));

program
  .command('delete')
  .description('Delete a whole tree of jobs, with its items and results. What is pending is cancelled.')
  .argument('<id>', 'the root of the tree')
  .addOption(urlOption())
  .addOption(jsonOption('the outcome as JSON'))
  .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
  .action(run('end', async (id, options) => (await import('./commands/delete.ts')).deleteJob(id, options)));

program
  .command('retention')
  .description('Show for how long a tree is kept. With options, first set that.')
  .argument('<id>', 'the root of the tree')
  .option(
    '--keep <time>',
    'for how long once it is complete: 30d, 0 (it goes at once), or never',
    parseSeconds,
  )
  .option('--idle-expiry <time>', 'cancel it after being idle for so long: 2d, or never', parseSeconds)
  .addOption(urlOption())
  .addOption(jsonOption('the outcome as JSON'))
  .addHelpText(
    'after',
    `
With --keep never a tree stays until somebody deletes it; with --idle-expiry never it may stay idle.
${exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable')}`,
  )
  .action(
    run('end', async (id, options) => (await import('./commands/retention.ts')).retention(id, options)),
  );

addScheduleCommands(program, run);
addCallbackCommands(program, run);
addApiKeyCommands(program, run);

addItemCommands(program, run);
addTypeCommands(program, run);

/** A command's action: what it returns is the exit code. */
// biome-ignore lint/suspicious/noExplicitAny: commander gives arguments and options without types
function run(brokenPipe: 'end' | 'continue', command: (...args: any[]) => Promise<number>) {
  return async (...args: unknown[]) => {
    onBrokenPipe(brokenPipe);
    process.exitCode = await command(...args);
  };
}

/** Only for the commands that have settings: reading them takes longer than many a command does. */
async function settingsHelp(): Promise<string> {
  if (!['start', 'migrate', 'roles', 'demo'].includes(process.argv[2] ?? '')) return '';
  const { settingDescriptions } = await import('../config.ts');
  const lines = settingDescriptions.map(
    ({ name, meaning, standard }) => `  ${name} (${standard})\n      ${meaning}`,
  );
  return `\nSettings, as environment variables, with their defaults:\n${lines.join('\n')}\n`;
}

try {
  await program.parseAsync();
} catch (error) {
  // Commander has printed its help or complaint.
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
  else process.exitCode = reportError(error);
}
