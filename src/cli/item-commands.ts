/** What the commands about single items and dead letters are called and take. */
import { type Command, Option } from 'commander';
import { pendingStatuses } from '../domain/items/item-state.ts';
import { jsonOption, urlOption } from './api-options.ts';
import type { OperateOptions, OperationKind } from './commands/operate.ts';
import { orNone, parseInstant, parseJson, parseRunAt, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

export function addDeadLetterCommands(program: Command): void {
  program
    .command('dead-letters')
    .description('List what failed for good, grouped by failure, or show one group with its items.')
    .argument('[group]', 'the group to show')
    .option('--type <type...>', 'only these types')
    .option('--since <time>', 'only what failed since this time, or this long ago (2h)', parseInstant)
    .option('--limit <n>', 'how many groups, or items of the group, to list', parseWholeNumber(1, 1_000), 20)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(
      run('end', async (group, options) =>
        (await import('./commands/dead-letters.ts')).listDeadLetters(group, options),
      ),
    );

  whichDeadLetters(program.command('replay'))
    .description('Try dead letters again: those that match all options. This reopens their jobs.')
    .option('--payload <json>', 'a corrected payload, for a single --item', parseJson)
    .option(
      '--payload-patch <json>',
      'an object whose keys replace those of each payload; null removes one',
      parseJson,
    )
    .action(run('end', (options) => operate('REPLAY', options)));

  whichDeadLetters(program.command('discard'))
    .description('Settle dead letters without trying them again: those that match all options.')
    .action(run('end', (options) => operate('DISCARD', options)));

  program
    .command('note')
    .description('Put a note on a group of dead letters, in place of the previous one.')
    .argument('<group>', 'the group')
    .argument('[text]', 'the note; without it the note is removed')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(
      run('end', async (group, text, options) =>
        (await import('./commands/note.ts')).noteDeadLetters(group, text, options),
      ),
    );
}

export function addPendingItemCommands(program: Command): void {
  whichItems(program.command('cancel-items'), 'added')
    .description('Cancel pending items: those that match all options. Their jobs continue.')
    .addOption(
      new Option('--status <status...>', 'with these statuses').choices(
        pendingStatuses.map((status) => status.toLowerCase()),
      ),
    )
    .action(run('end', (options) => operate('CANCEL', options)));

  whichItems(program.command('promote-items'), 'added')
    .description('Try items now that wait for their next attempt: those that match all options.')
    .addOption(
      new Option(
        '--status <status...>',
        'with these statuses: retrying, after a failure (the default), or scheduled',
      ).choices(['retrying', 'scheduled']),
    )
    .action(run('end', (options) => operate('PROMOTE', options)));

  program
    .command('update-item')
    .description('Change a waiting item: when it is due, its priority, its payload.')
    .argument('<id>', 'the item')
    .option('--run-at <time>', 'when it is due: now, a time, or how long from now (2h)', parseRunAt)
    .option(
      '--priority <n>',
      'higher priorities go first; none takes that of the job',
      orNone(parseWholeNumber(-32_768, 32_767)),
    )
    .option('--payload <json>', 'the new payload', parseJson)
    .addOption(urlOption())
    .addOption(jsonOption('the item as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(
      run('end', async (id, options) => (await import('./commands/update-item.ts')).updateItem(id, options)),
    );
}

async function operate(kind: OperationKind, options: OperateOptions): Promise<number> {
  return (await import('./commands/operate.ts')).operate(kind, options);
}

/** What replay and discard have in common. */
function whichDeadLetters(command: Command): Command {
  return whichItems(command, 'failed for good').option('--group <id...>', 'of these groups');
}

/** What all operations have in common. */
function whichItems(command: Command, since: string): Command {
  return command
    .option('--job <id>', 'of this job and all below it')
    .option('--type <type...>', 'of these types')
    .option('--code <code...>', 'whose last failure has one of these codes')
    .option('--item <id...>', 'these items')
    .option('--dedupe-key <key...>', 'with these dedupe keys')
    .option('--since <time>', `${since} since this time, or this long ago (2h)`, parseInstant)
    .option('--until <time>', `${since} before this time, or longer ago than this`, parseInstant)
    .option('--yes', 'do not ask for confirmation')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']));
}
