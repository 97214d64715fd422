/** What the commands that change trees are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { parseSeconds } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';
import { jobOutcomes, jobStatuses, parseJobStatus, whichTrees } from './which-trees.ts';

export function addCancel(program: Command): void {
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
}

export function addDelete(program: Command): void {
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
}

export function addRetention(program: Command): void {
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
