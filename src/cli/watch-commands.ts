/** What the commands that follow work are called and take. */
import { type Command, Option } from 'commander';
import { itemStatuses } from '../domain/items/item-state.ts';
import { jsonOption, urlOption } from './api-options.ts';
import { parseDurationUpToDay, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { jobOrders } from './job-orders.ts';
import { run } from './run.ts';
import { jobOutcomes, jobStatuses, parseJobStatus, whichTrees } from './which-trees.ts';

export function addWatch(program: Command): void {
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
}

export function addJobs(program: Command): void {
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
}

export function addItems(program: Command): void {
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
    .addOption(
      new Option('--code <code...>', 'only items whose last failure has one of these codes').conflicts(
        'status',
      ),
    )
    .addOption(new Option('--dedupe-key <key...>', 'only items with these dedupe keys').conflicts('status'))
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000_000_000), 100)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line, with results and failures'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(run('end', async (id, options) => (await import('./commands/items.ts')).listItems(id, options)));
}

export function addWhy(program: Command): void {
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
}

export function addResults(program: Command): void {
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
}

export function addWatchToken(program: Command): void {
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
