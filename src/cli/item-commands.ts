/** What the commands about single items and dead letters are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import type { OperateOptions } from './commands/operate.ts';
import { exitCodesHelp } from './exit-codes.ts';
import { orNone, parseInstant, parseJson, parseRunAt, parseWholeNumber } from './figures.ts';
import type { Run } from './schedule-commands.ts';

export function addItemCommands(program: Command, run: Run): void {
  program
    .command('dead-letters')
    .description('List what failed for good, in groups of the same failure; or one group, with its items.')
    .argument('[group]', 'the group to show')
    .option('--type <type...>', 'only these types')
    .option('--since <time>', 'only what failed since then: a time, or how long ago (2h)', parseInstant)
    .option('--limit <n>', 'how many groups, or items of the group', parseWholeNumber(1, 1_000), 20)
    .addOption(urlOption())
    .addOption(jsonOption('an object a line'))
    .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
    .action(
      run('end', async (group, options) =>
        (await import('./commands/dead-letters.ts')).listDeadLetters(group, options),
      ),
    );

  whichDeadLetters(program.command('replay'))
    .description('Try dead letters again: those that meet all that is given. Their jobs are open again.')
    .option('--payload <json>', 'a corrected payload, for one --item', parseJson)
    .action(run('end', (options) => operate('REPLAY', options)));

  whichDeadLetters(program.command('discard'))
    .description('Settle dead letters that nobody will try again: those that meet all that is given.')
    .action(run('end', (options) => operate('DISCARD', options)));

  program
    .command('note')
    .description('Keep a note on a group of dead letters, in place of an earlier one.')
    .argument('<group>', 'the group')
    .argument('[text]', 'the note; without it there is none any more')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
    .action(
      run('end', async (group, text, options) =>
        (await import('./commands/note.ts')).noteDeadLetters(group, text, options),
      ),
    );

  whichItems(program.command('cancel-items'), 'that were added')
    .description('Cancel pending items: those that meet all that is given. Their jobs go on.')
    .addOption(
      new Option('--state <state...>', 'that stand there').choices([
        'waiting',
        'scheduled',
        'ready',
        'blocked',
        'held',
      ]),
    )
    .action(run('end', (options) => operate('CANCEL', options)));

  program
    .command('update-item')
    .description('Change an item that waits: when it is due, its priority, its payload.')
    .argument('<id>', 'the item')
    .option('--run-at <time>', 'when it is due: now, a time, or in how long (2h)', parseRunAt)
    .option(
      '--priority <n>',
      'higher goes first; none for that of its job',
      orNone(parseWholeNumber(-32_768, 32_767)),
    )
    .option('--payload <json>', 'another payload', parseJson)
    .addOption(urlOption())
    .addOption(jsonOption('the item as JSON'))
    .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'))
    .action(
      run('end', async (id, options) => (await import('./commands/update-item.ts')).updateItem(id, options)),
    );
}

async function operate(kind: 'REPLAY' | 'DISCARD' | 'CANCEL', options: OperateOptions): Promise<number> {
  return (await import('./commands/operate.ts')).operate(kind, options);
}

/** What replay and discard have in common. */
function whichDeadLetters(command: Command): Command {
  return whichItems(command, 'that failed for good').option('--group <id...>', 'of these groups');
}

/** What all operations have in common. */
function whichItems(command: Command, since: string): Command {
  return command
    .option('--job <id>', 'of this job and all below it')
    .option('--type <type...>', 'of these types')
    .option('--code <code...>', 'whose last failure has one of these codes')
    .option('--item <id...>', 'these items')
    .option('--dedupe-key <key...>', 'with these dedupe keys')
    .option('--since <time>', `${since} since then: a time, or how long ago (2h)`, parseInstant)
    .option('--until <time>', `${since} before`, parseInstant)
    .option('--yes', 'do not ask back, however many there are')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'));
}
