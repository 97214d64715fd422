/** What the commands that run and look after servers and their database are called and take. */
import { type Command, Option } from 'commander';
import { standardPatienceMs } from '../doctor/finding.ts';
import { jsonOption, urlOption } from './api-options.ts';
import { parseDuration, parseInstant, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

const settings = 'Settings are environment variables: `jobtree help settings`.';

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('Show a tree of jobs and a CSV import with two workers, then keep the server running.')
    .option('--exit', 'end when the work is done')
    .option('--detach', 'go on when the npx or `npm run` that started it has ended')
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'unreachable'], settings))
    .action(run('continue', async (options) => (await import('./commands/demo.ts')).demo(options)));
}

export function addStart(program: Command): void {
  program
    .command('start')
    .description('Run the server until Ctrl-C or SIGTERM.')
    .option('--processes <n>', 'how many processes share the port', parseWholeNumber(1, 256), 1)
    .option('--detach', 'go on when the npx or `npm run` that started it has ended')
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        `Without DATABASE_URL it starts a Postgres of its own, with its data in ./.jobtree. ${settings}`,
      ),
    )
    .action(run('continue', async (options) => (await import('./commands/start.ts')).start(options)));
}

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('Bring the database up to this version. `start` does this too.')
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'unreachable'], settings))
    .action(run('continue', async () => (await import('./commands/migrate.ts')).migrate()));
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Check Postgres, Redis, the servers and the work: what is wrong, since when, what to do.')
    .addOption(
      new Option(
        '--url <url>',
        'the API of a server to ask (default: where JOBTREE_HOST and JOBTREE_PORT say, if one answers there)',
      ).env('JOBTREE_URL'),
    )
    .addOption(
      new Option('--patience <time>', 'how long a transaction may stay open')
        .argParser(parseDuration)
        .default(standardPatienceMs, '5m'),
    )
    .addOption(jsonOption('one object per line'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable', 'warnings', 'sick'],
        `It changes nothing, needs no server and takes a few seconds. Give it the same settings as the servers. ${settings}`,
      ),
    )
    .action(run('end', async (options) => (await import('./commands/doctor.ts')).doctor(options)));
}

export function addPsql(program: Command): void {
  program
    .command('psql')
    .description('Open psql on the database of the settings; by default that is the embedded Postgres.')
    .usage('[options] [-- PSQL-OPTIONS…]')
    .argument('[args...]', 'options of psql, after --')
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'unreachable'],
        `In the embedded Postgres you are its superuser, postgres. The tables are in the schema jobtree, which is searched first. If no server runs in this folder, the embedded Postgres runs for as long as psql does. ${settings}`,
        "Examples:\n  jobtree psql\n  jobtree psql -- -c 'select * from queue_depths()'",
      ),
    )
    .action(run('continue', async (args) => (await import('./commands/psql.ts')).psql(args)));
}

export function addRoles(program: Command): void {
  program
    .command('roles')
    .description('Print the SQL that creates the roles jobtree_enqueue, jobtree_work and jobtree_watch.')
    .option('--apply', 'run it instead, as the owner of the schema')
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'unreachable'], settings))
    .action(run('end', async (options) => (await import('./commands/roles.ts')).roles(options)));
}

export function addAudit(program: Command): void {
  program
    .command('audit')
    .description('List privileged and irreversible actions, including refused ones, newest first.')
    .option('--actor <text>', 'only by callers whose name contains this, or by the key with this id')
    .option('--action <name>', 'only this mutation or command, such as deleteJob')
    .option('--subject <subject>', 'only actions on this, such as the id of a job')
    .option('--since <time>', 'only since this time, or this long ago (24h)', parseInstant)
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000_000), 50)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'unreachable']))
    .action(run('end', async (options) => (await import('./commands/audit.ts')).listAudit(options)));
}
