/** What `jobtree schedules` and the commands below `jobtree schedule` are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { exitCodesHelp } from './exit-codes.ts';
import { parseDuration, parseWholeNumber } from './figures.ts';

/** How `main.ts` makes the action of a command. */
// biome-ignore lint/suspicious/noExplicitAny: commander gives arguments and options without types
export type Run = (brokenPipe: 'end' | 'continue', command: (...args: any[]) => Promise<number>) => any;

export function addScheduleCommands(program: Command, run: Run): void {
  program
    .command('schedules')
    .description('List schedules, by name.')
    .option('--limit <n>', 'how many', parseWholeNumber(1, 1_000_000), 1_000)
    .addOption(urlOption())
    .addOption(jsonOption('an object a line'))
    .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'unreachable'))
    .action(run('end', async (options) => (await import('./commands/schedules.ts')).listSchedules(options)));

  const schedule = program
    .command('schedule')
    .description('State, show, pause, resume, run, skip or delete a schedule.');
  const commands = () => import('./commands/schedule.ts');
  const add = (name: string, description: string) =>
    schedule
      .command(name)
      .description(description)
      .addOption(urlOption())
      .addOption(jsonOption('the outcome as JSON'))
      .addHelpText(
        'after',
        exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable', 'badFile'),
      );

  add('put', 'Create a schedule, or change the one of this name to what is given.')
    .argument('<name>', 'the schedule')
    .option('--cron <fields>', "when it is due: '30 2 * * *', perhaps with seconds first")
    .option('--time-zone <zone>', 'the zone of the cron: Europe/Berlin (default: UTC)')
    .option('--every <time>', 'the interval instead of a cron: 90s, 10m, 24h', parseDuration)
    .option('--start-at <instant>', 'no occurrence is before this: 2026-03-01T09:30:00Z')
    .addOption(
      new Option(
        '--missed <policy>',
        'what becomes of occurrences while no server ran (default: run-once)',
      ).choices(['skip', 'run-once', 'run-all']),
    )
    .addOption(
      new Option(
        '--overlap <policy>',
        'what becomes of an occurrence while a tree before it is not complete (default: allow)',
      ).choices(['allow', 'skip', 'queue']),
    )
    .option('--paused', 'paused from now on (default: as it is)')
    .option('--no-paused', 'not paused from now on')
    .option('--template <file>', 'what each occurrence makes, as JSON of a job; - reads standard input')
    .option('--type <type>', 'instead of a template: a sealed job of this type with one item')
    .option('--payload <json>', 'the payload of that item')
    .action(run('end', async (name, options) => (await commands()).putSchedule(name, options)));
  add('sync', 'Put all schedules of a file, or none.')
    .argument('<file>', 'a JSON list of schedules; - reads standard input')
    .option('--delete-others', 'delete schedules that the file does not name')
    .option('--prefix <text>', 'of those others, delete only the ones whose names begin so')
    .action(run('end', async (file, options) => (await commands()).syncSchedules(file, options)));
  add('show', 'Show a schedule, its next occurrences and what came of the last one.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).showSchedule(name, options)));
  add('pause', 'Have a schedule make nothing until it is resumed.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).pauseSchedule(name, options)));
  add('resume', 'Have a paused schedule go on.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).resumeSchedule(name, options)));
  add('run', 'Make a tree of a schedule now, and print the id of its root.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).runSchedule(name, options)));
  add('skip', 'Leave out the next occurrence of a schedule.')
    .argument('<name>', 'the schedule')
    .option('--at <instant>', 'this occurrence, if it is next or queued')
    .action(run('end', async (name, options) => (await commands()).skipOccurrence(name, options)));
  add('delete', 'Delete a schedule. The trees that it made stay.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).deleteSchedule(name, options)));
}
