/** What the commands that create, do, follow and change work are called and take. */
import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { itemStatuses } from '../domain/values/item-state.ts';
import { jsonOption, urlOption } from './api-options.ts';
import {
  parseDuration,
  parseDurations,
  parseDurationUpToDay,
  parseInstant,
  parseSeconds,
  parseTolerance,
  parseWholeNumber,
} from './figures.ts';
import { helpEnd } from './help-text.ts';
import { jobOrders } from './job-orders.ts';
import { run } from './run.ts';

const jobStatuses = ['waiting', 'running', 'completed', 'cancelled'];
const jobOutcomes = ['succeeded', 'partial', 'failed', 'cancelled'];

/** One more of several. */
function parseJobStatus(text: string, before: readonly string[] = []): string[] {
  if (jobStatuses.includes(text)) return [...before, text];
  const hint = ['failed', 'partial', 'succeeded'].includes(text)
    ? ` For what came of them: --outcome ${text}.`
    : '';
  throw new InvalidArgumentError(`Allowed choices are ${jobStatuses.join(', ')}.${hint}`);
}

/** What servers take, too. */
function parseDelimiter(text: string): string {
  if (/^[\t -~]$/.test(text)) return text;
  throw new InvalidArgumentError('Give one character of ASCII, or a tab.');
}

export function addProducerCommands(program: Command): void {
  program
    .command('import')
    .description('Turn the rows of a file into the items of a job, in their order, and print its id.')
    .argument('<file>', 'the file; - reads standard input')
    .option('--type <type>', 'the type of the new job')
    .option('--job <id>', 'add the items to this job; no new one is created')
    .addOption(
      new Option(
        '--format <format>',
        'the format, if the extension (csv, ndjson, jsonl, json, txt) does not say',
      ).choices(['csv', 'ndjson', 'json', 'lines']),
    )
    .option('--delimiter <character>', 'what separates the cells of a CSV row', parseDelimiter, ',')
    .option('--dedupe-key <key>', 'continue in the job that has this key, if there is one')
    .option('--serialize-key <field>', 'run rows with the same value in this field one at a time, in order')
    .option('--block-on-failure', 'hold back the rows behind one that failed for good until it is settled')
    .option(
      '--max-failures <n>',
      'how often an item may fail before it has failed for good',
      parseWholeNumber(0, 1_000),
    )
    .option(
      '--tolerate <failures>',
      'how many items, or what share of them (5%), may fail before the job fails',
      parseTolerance,
    )
    .option('--backoff <times>', 'how long to wait after each failure: 30s,5m,30m', parseDurations)
    .option('--priority <n>', 'higher priorities go first', parseWholeNumber(-32_768, 32_767))
    .option('--callback <endpoint...>', 'endpoints to call when the job is complete')
    .option('--retention <time>', 'how long to keep the job once it is complete: 30d, never', parseSeconds)
    .option('--upload', 'upload the file, so that you can close this shell')
    .option('--no-upload', 'read the file here, whatever its size')
    .option('--no-seal', 'leave the job open for more items')
    .option('--watch', 'then watch the job until it is complete')
    .addOption(
      new Option('--patience <time>', 'how long to keep trying while the server or its Postgres is away')
        .argParser(parseDuration)
        .default(60_000, '60s'),
    )
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'itemsFailed', 'notFound', 'unreachable', 'badFile'],
        'A CSV row becomes an object of strings, named by the header; a line of NDJSON becomes its value; a plain line becomes a string. Empty lines are left out. If a row is bad or the import is interrupted, the new job is cancelled.',
        'Files of more than 10 MB, files that end in .gz or .zst, and JSON arrays are uploaded: the server reads them, and a bad row becomes a failed item. --no-upload, and options that need the file to be read here, prevent it.',
      ),
    )
    .action(
      run('continue', async (file, options) =>
        (await import('./commands/import.ts')).importFile(file, options),
      ),
    );

  program
    .command('create')
    .description('Create a tree of jobs from a file, and print the id of its root.')
    .argument('<file>', 'the tree in JSON or YAML, with the fields of JobInput; - reads standard input')
    .option('--watch', 'watch the root until it is complete')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'itemsFailed', 'unreachable', 'badFile']))
    .action(
      run('end', async (file, options) => (await import('./commands/create.ts')).createTree(file, options)),
    );

  program
    .command('seal')
    .description('Declare that a job gets no more items, so that it can complete.')
    .argument('<id>', 'the job')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(run('end', async (id, options) => (await import('./commands/seal.ts')).sealJob(id, options)));
}

export function addWork(program: Command): void {
  program
    .command('work')
    .description('Work on items of a type by running a command for each.')
    .usage('[options] <type> -- <command> [args...]')
    .argument('<type>', 'the type of the jobs')
    .argument('<command...>', 'the command and its arguments, after --')
    .option(
      '--concurrency <n>',
      'how many commands run at once',
      parseWholeNumber(1, 10_000),
      availableParallelism(),
    )
    .option('--name <name>', 'its name in lists and failures (default: host, process and a random part)')
    .option('--stop-when-idle <time>', 'end after this long without work', parseDurationUpToDay('0s'))
    .addOption(
      new Option('--stop-timeout <time>', 'how long commands may take to finish after SIGTERM')
        .argParser(parseDurationUpToDay('0s'))
        .default(30_000, '30s'),
    )
    .option('--detach', 'go on when the npx or `npm run` that started it has ended')
    .option('--verbose', 'print a line for each item')
    .option('--pass-token', "give the command the worker's key, in JOBTREE_TOKEN")
    .addOption(urlOption())
    .addOption(jsonOption('each outcome as one object per line'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage'],
        "The command gets the payload as JSON on standard input. Its standard output is the result: JSON if it parses, otherwise text; null if it is empty. Its environment is the worker's without JOBTREE_TOKEN, and has JOBTREE_ITEM_ID, JOBTREE_JOB_ID, JOBTREE_TYPE, JOBTREE_ATTEMPT and JOBTREE_URL.",
        'Exit codes of the command:\n  0      success\n  100    permanent failure: the item is not tried again\n  other  failure, as is the end by a signal; the end of standard error is its message',
        'When an item is no longer wanted, its command gets SIGTERM, and SIGKILL 5 seconds later. SIGTERM to the worker lets commands finish within --stop-timeout and gives back the rest; a second one kills commands and gives their items back; a third one ends the worker without that.',
      ),
    )
    .action(
      run('continue', async (type, command, options) =>
        (await import('./commands/work.ts')).work(type, command, options),
      ),
    );

  program
    .command('workers')
    .description('List the workers that are connected or hold items.')
    .option('--type <type...>', 'only workers that do these types, or hold items of them')
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000_000), 100)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        'ITEMS is how many items a worker holds, of how many it runs at once. SEEN is how long ago a server heard from it, CONNECTED how long it has been connected.',
      ),
    )
    .action(run('end', async (options) => (await import('./commands/workers.ts')).listWorkers(options)));

  program
    .command('held')
    .description('List the items that workers hold, the longest held first.')
    .option('--type <type...>', 'only items of these types')
    .option('--worker <name...>', 'only items that these workers hold')
    .option('--slow', 'only items that have taken far longer than usual')
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000), 50)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        'HELD is how long ago the item was claimed, with a ! if it has taken far longer than usual. HEARD is how long ago its worker sent a heartbeat for it.',
      ),
    )
    .action(run('end', async (options) => (await import('./commands/held.ts')).listHeldItems(options)));
}

export function addWatchCommands(program: Command): void {
  program
    .command('watch')
    .description('Show the progress of a job until it is complete.')
    .argument('<id>', 'the job')
    .option('--tree', 'show all jobs of its tree: the default for a root with jobs below it')
    .option('--no-tree', 'show only this job')
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'itemsFailed', 'notFound', 'unreachable']))
    .action(run('end', async (id, options) => (await import('./commands/watch.ts')).watch(id, options)));

  whichTrees(program.command('jobs'))
    .description('List trees of jobs, each by its root, newest first; with --all, each job.')
    .addOption(
      new Option('--status <status...>', 'only trees with one of these statuses; with --all, only such jobs')
        .choices(jobStatuses)
        .argParser(parseJobStatus),
    )
    .addOption(
      new Option(
        '--outcome <outcome...>',
        'only complete trees with one of these outcomes; with --all, only such jobs',
      ).choices(jobOutcomes),
    )
    .addOption(
      new Option(
        '--order <order>',
        'failures and progress list only trees that have failures or are not complete',
      )
        .choices(Object.keys(jobOrders))
        .default('newest'),
    )
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000_000), 20)
    .option('--all', 'list each job, not whole trees')
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        'STATUS and ITEMS are those of whole trees: a tree runs until all its jobs are complete. With --all they are those of the job itself.',
      ),
    )
    .action(run('end', async (options) => (await import('./commands/jobs.ts')).listJobs(options)));

  program
    .command('items')
    .description('List the items of a job, in their order, or show one item.')
    .argument('<id>', 'the job, or the item')
    .addOption(
      new Option('--status <status...>', 'only items with these statuses').choices(
        itemStatuses.map((status) => status.toLowerCase()),
      ),
    )
    .addOption(
      new Option(
        '--find <text>',
        'only items with this in their payloads; looks at one after the other',
      ).conflicts('status'),
    )
    .option(
      '--path <path>',
      'only where exactly --find is under this key of the payload, such as customer.id',
    )
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000_000_000), 100)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line, with results and failures'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(run('end', async (id, options) => (await import('./commands/items.ts')).listItems(id, options)));

  program
    .command('why')
    .description('Say why a job, its whole tree, an item or a type is not running.')
    .argument('<id-or-type>', 'the job, of a root with its tree; the item; or the type')
    .addOption(urlOption())
    .addOption(jsonOption('one object per reason and line'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'notFound', 'unreachable'],
        'What most needs somebody to do something comes first.',
      ),
    )
    .action(run('end', async (of, options) => (await import('./commands/why.ts')).why(of, options)));

  program
    .command('results')
    .description('Write the payloads and results of a tree: those of its final stages.')
    .argument('<id>', 'any job of the tree')
    .option('--type <type...>', 'only results of jobs of these types')
    .option(
      '--limit <n>',
      'how many (default: 100 in a table, otherwise all)',
      parseWholeNumber(1, 1_000_000_000),
    )
    .option('--after <id>', 'start behind this item, the last one you have; --out then appends')
    .option('--out <file>', 'write to this file; compressed if its name ends in .gz')
    .addOption(urlOption())
    .addOption(jsonOption('one object per line, also on a terminal'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'notFound', 'unreachable'],
        'On a terminal it is a table. In a pipe, in a file or with --json each result is a line of JSON: {"itemId", "payload", "result"}. If they break off, the message says which --after continues them.',
      ),
    )
    .action(
      run('end', async (id, options) => (await import('./commands/results.ts')).readResults(id, options)),
    );

  program
    .command('watch-token')
    .description('Print a token with which a browser can watch one tree, and nothing else.')
    .argument('<id>', 'the root of the tree')
    .addOption(
      new Option('--sees <what>', 'what it shows: progress, also items, or also results')
        .choices(['progress', 'items', 'results'])
        .default('progress'),
    )
    .addOption(
      new Option('--expires <time>', 'how long it is valid: 10s to 1d')
        .argParser(parseDurationUpToDay('10s'))
        .default(900_000, '15m'),
    )
    .option('--revoke', 'revoke all tokens of the tree instead')
    .addOption(urlOption())
    .addOption(jsonOption('the token, and when it expires, as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(
      run('end', async (id, options) => (await import('./commands/watch-token.ts')).watchToken(id, options)),
    );
}

export function addChangeCommands(program: Command): void {
  whichTrees(program.command('cancel'))
    .description(
      'Cancel a job and all jobs below it, or all trees that match the options. What is done stays.',
    )
    .argument('[id]', 'the job; without it, give options that say which trees')
    .addOption(
      new Option('--status <status...>', 'only trees with one of these statuses').choices([
        'waiting',
        'running',
      ]),
    )
    .option('--yes', 'do not ask for confirmation')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(run('end', async (id, options) => (await import('./commands/cancel.ts')).cancel(id, options)));

  whichTrees(program.command('delete'))
    .description(
      'Delete a tree with its items and results, or all trees that match the options. What is pending is cancelled first.',
    )
    .argument('[id]', 'the root of the tree; without it, give options that say which trees')
    .addOption(
      new Option('--status <status...>', 'only trees with one of these statuses')
        .choices(jobStatuses)
        .argParser(parseJobStatus),
    )
    .addOption(
      new Option('--outcome <outcome...>', 'only complete trees with one of these outcomes').choices(
        jobOutcomes,
      ),
    )
    .option('--yes', 'do not ask for confirmation')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(run('end', async (id, options) => (await import('./commands/delete.ts')).remove(id, options)));

  program
    .command('retention')
    .description('Show how long a tree is kept. Options change it first.')
    .argument('<id>', 'the root of the tree')
    .option(
      '--keep <time>',
      'how long to keep it once it is complete: 30d, never, or 0 to delete it at once',
      parseSeconds,
    )
    .option('--idle-expiry <time>', 'cancel it when it has been idle for this long: 2d, never', parseSeconds)
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(
      run('end', async (id, options) => (await import('./commands/retention.ts')).retention(id, options)),
    );
}

/** What lists and operations on trees have in common. */
function whichTrees(command: Command): Command {
  return command
    .option('--type <type...>', 'only jobs of these types')
    .option('--since <time>', 'only those created since this time, or this long ago (2h)', parseInstant)
    .option('--until <time>', 'only those created before this time, or longer ago than this', parseInstant)
    .option('--completed-since <time>', 'only those complete since this time, or this long ago', parseInstant)
    .option('--completed-until <time>', 'only those complete since before this time', parseInstant)
    .option('--dedupe-key <beginning>', 'only those whose dedupe key begins so')
    .option('--failures', 'only those with items that failed for good')
    .option('--no-failures', 'only those without')
    .option('--schedule <name>', 'only trees that this schedule created')
    .option(
      '--idle-since <time>',
      'only trees that have been idle since this time, or for this long (2d)',
      parseInstant,
    );
}
