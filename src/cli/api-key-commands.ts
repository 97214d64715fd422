/** What the commands below `jobtree api-keys` are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption } from './api-options.ts';
import { exitCodesHelp } from './exit-codes.ts';
import { parseDuration, parseEnd } from './figures.ts';

// biome-ignore lint/suspicious/noExplicitAny: commander gives arguments and options without types
type Run = (brokenPipe: 'end' | 'continue', command: (...args: any[]) => Promise<number>) => any;

export function addApiKeyCommands(program: Command, run: Run): void {
  const commands = () => import('./commands/api-keys.ts');
  const apiKeys = program
    .command('api-keys')
    .description(
      'Make, list, rotate and revoke the keys of the API. Works on the database, also without a server.',
    );
  const add = (name: string, description: string) =>
    apiKeys
      .command(name)
      .description(description)
      .addOption(jsonOption('the outcome as JSON'))
      .addHelpText(
        'after',
        `
It takes DATABASE_URL and the other settings of the database as \`jobtree start\` does.
${exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable')}`,
      );

  add('create', 'Make a key and print it. It is never told again.')
    .argument('<name>', 'what it is called, for people')
    .addOption(
      new Option('--role <role...>', 'what it is for')
        .choices(['admin', 'producer', 'worker', 'watcher'])
        .makeOptionMandatory(),
    )
    .option(
      '--type <type...>',
      'only jobs of these types: names, or beginnings of names with a * behind them',
    )
    .option('--tenant <name>', 'the tenant that its callers belong to; by default none, and they see all')
    .option('--tree <id...>', 'only the trees of these roots')
    .option(
      '--expires <time>',
      'until when it is good: a time, or in how long (90d); for ever by default',
      parseEnd,
    )
    .option('--requests-per-second <n>', 'how many operations it may send a second', Number)
    .option('--cost-per-second <n>', 'how much its operations may cost a second', Number)
    .option('--connections <n>', 'how many sockets and event streams it may have', Number)
    .option('--subscriptions <n>', 'how many subscriptions it may have', Number)
    .action(run('end', async (name, options) => (await commands()).createKey(name, options)));
  add('list', 'List the keys by name, also those that are revoked or over.').action(
    run('end', async (options) => (await commands()).listApiKeys(options)),
  );
  add('rotate', 'Give a key another text, and print it.')
    .argument('<id>', 'the id of the key')
    .option('--keep <time>', 'how long the text that it had is good, too (default: 24h)', parseDuration)
    .action(run('end', async (id, options) => (await commands()).rotateKey(id, options)));
  add('revoke', 'Revoke a key, for good. Servers notice it within five seconds.')
    .argument('<id>', 'the id of the key')
    .action(run('end', async (id, options) => (await commands()).revokeKey(id, options)));
}
