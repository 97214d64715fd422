/** What the commands that do work, and show who does it, are called and take. */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { parseDurationUpToDay, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

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
}

export function addWorkers(program: Command): void {
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
}

export function addHeld(program: Command): void {
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
