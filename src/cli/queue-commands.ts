/** What the commands about types and their queues are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import {
  orNone,
  parseAlert,
  parseDuration,
  parseDurations,
  parseDurationUpToDay,
  parseRate,
  parseShare,
  parseWholeNumber,
} from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

export function addTop(program: Command): void {
  program
    .command('top')
    .description('Show live how much of each type is done, how long it waits and takes, and what fails.')
    .option('--once', 'show it once')
    .addOption(
      new Option('--interval <time>', 'how often to refresh, from 100ms on')
        .argParser(parseDurationUpToDay('100ms'))
        .default(2_000, '2s'),
    )
    .option(
      '--minutes <n>',
      'show rates, times and failures of this many minutes',
      parseWholeNumber(1, 1_440),
      1,
    )
    .addOption(urlOption())
    .addOption(jsonOption('one object per line and type'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        'READY is in brackets while the type is paused, and has a ! if no worker for the type is connected. OLDEST is how long the first ready item has waited. SLOW counts running items that have taken far longer than usual. Why items FAILED, also those that are tried again: `jobtree dead-letters --type TYPE`, and `jobtree items ID` of a job.',
      ),
    )
    .action(run('end', async (options) => (await import('./commands/top.ts')).top(options)));
}

export function addQueues(program: Command): void {
  program
    .command('queues')
    .description(
      'List types: those with settings, with waiting or running items, or with work in the last hour.',
    )
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        'REMARKS has the limits of a type, and no worker if items are ready and no worker for the type is connected.',
      ),
    )
    .action(run('end', async (options) => (await import('./commands/queues.ts')).listQueues(options)));
}

export function addQueue(program: Command): void {
  program
    .command('queue')
    .description('Show how much of a type waits and runs, and its settings. Options change them first.')
    .argument('<type>', 'the type')
    .addOption(new Option('--pause', 'give no items to workers').conflicts('resume'))
    .option('--resume', 'give items to workers again')
    .option(
      '--concurrency <n>',
      'how many items all workers together may hold',
      orNone(parseWholeNumber(1, 1_000_000)),
    )
    .option('--rate <n/time>', 'how many items may be claimed in any interval: 100/10s', orNone(parseRate))
    .option('--lifetime <time>', 'how long an item may wait for its first worker', orNone(parseDuration))
    .option(
      '--alert <endpoint:n/time>',
      'which endpoint to call after how many dead letters in what time: ops:100/5m',
      orNone(parseAlert),
    )
    .option(
      '--priority <n>',
      'for new jobs: higher priorities go first',
      orNone(parseWholeNumber(-32_768, 32_767)),
    )
    .option(
      '--max-failures <n>',
      'for new jobs: how often an item may fail before it has failed for good',
      orNone(parseWholeNumber(0, 1_000)),
    )
    .option(
      '--backoff <times>',
      'for new jobs: how long to wait after each failure: 30s,5m,30m',
      orNone(parseDurations),
    )
    .option(
      '--backoff-jitter <share>',
      'for new jobs: up to which share of it is added to each backoff, at random: 0 to 1',
      orNone(parseShare),
    )
    .option(
      '--heartbeat-interval <time>',
      'for new jobs: how often workers send heartbeats',
      orNone(parseDuration),
    )
    .addOption(urlOption())
    .addOption(jsonOption('the type as JSON'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        'What no option names stays as it is. The value none removes a setting.',
      ),
    )
    .action(run('end', async (type, options) => (await import('./commands/queues.ts')).queue(type, options)));
}

export function addKeys(program: Command): void {
  program
    .command('keys')
    .description('List the serialize keys with the most blocked items.')
    .argument('[keys...]', 'only these keys, if they are in use')
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000), 20)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'unreachable']))
    .action(
      run('end', async (keys, options) => (await import('./commands/keys.ts')).listKeys(keys, options)),
    );
}
