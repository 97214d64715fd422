/** What `jobtree schedules` and the commands below `jobtree schedule` are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { parseDuration, parseTime, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

export function addSchedules(program: Command): void {
  program
    .command('schedules')
    .description('List schedules, by name.')
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000_000), 1_000)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'unreachable']))
    .action(run('end', async (options) => (await import('./commands/schedules.ts')).listSchedules(options)));
}

export function addSchedule(program: Command): void {
  const schedule = program
    .command('schedule')
    .description('Create, change, show, pause, resume, run, skip or delete a schedule.');
  const commands = () => import('./commands/schedule.ts');
  const add = (name: string, description: string) =>
    schedule
      .command(name)
      .description(description)
      .addOption(urlOption())
      .addOption(jsonOption('the outcome as JSON'))
      .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable', 'badFile']));

  const put = add('put', 'Create a schedule, or replace the one with this name.').argument(
    '<name>',
    'the schedule',
  );
  withPlan(put).action(run('end', async (name, options) => (await commands()).putSchedule(name, options)));
  add('sync', 'Create or replace all schedules in a file, or none.')
    .argument(
      '<file>',
      'a JSON list of what client.schedules.sync takes, such as {"name": "nightly", "cron": "30 2 * * *", "template": {"type": "bill", "sealed": true}}; - reads standard input',
    )
    .option('--delete-others', 'delete schedules that are not in the file')
    .option('--prefix <text>', 'with --delete-others: only those whose names begin with this')
    .action(run('end', async (file, options) => (await commands()).syncSchedules(file, options)));
  add('show', 'Show a schedule, its next occurrences and its last one.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).showSchedule(name, options)));
  add('pause', 'Pause a schedule.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).pauseSchedule(name, options)));
  add('resume', 'Resume a paused schedule.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).resumeSchedule(name, options)));
  add('run', 'Create the tree of a schedule now, and print the id of its root.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).runSchedule(name, options)));
  add('skip', 'Skip the next occurrence of a schedule.')
    .argument('<name>', 'the schedule')
    .option('--at <instant>', 'this occurrence, if it is next or queued', parseTime)
    .action(run('end', async (name, options) => (await commands()).skipOccurrence(name, options)));
  add('delete', 'Delete a schedule. The trees it has created stay.')
    .argument('<name>', 'the schedule')
    .action(run('end', async (name, options) => (await commands()).deleteSchedule(name, options)));
}

/** When a schedule is due, and what it creates. */
function withPlan(command: Command): Command {
  return command
    .option('--cron <fields>', "when it is due: '30 2 * * *', optionally with seconds first")
    .option('--time-zone <zone>', 'the time zone of --cron: Europe/Berlin (default: UTC)')
    .option('--every <time>', 'an interval instead of --cron: 90s, 10m, 24h', parseDuration)
    .option('--start-at <instant>', 'no occurrence before this: 2026-03-01T09:30:00Z', parseTime)
    .addOption(
      new Option(
        '--missed <policy>',
        'what to do about occurrences missed while no server ran (default: run-once)',
      ).choices(['skip', 'run-once', 'run-all']),
    )
    .addOption(
      new Option(
        '--overlap <policy>',
        'what to do about an occurrence while an earlier tree is not complete (default: allow)',
      ).choices(['allow', 'skip', 'queue']),
    )
    .option('--paused', 'pause it (default: unchanged)')
    .option('--no-paused', 'resume it')
    .option('--template <file>', 'the job that each occurrence creates, as JSON; - reads standard input')
    .option('--type <type>', 'instead of --template: a sealed job of this type with one item')
    .option('--payload <json>', 'the payload of that item');
}
