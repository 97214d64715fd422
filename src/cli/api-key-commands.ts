/** What the commands below `jobtree api-keys` are called and take. */
import { type Command, Option } from 'commander';
import { roles } from '../domain/access/rights.ts';
import { jsonOption } from './api-options.ts';
import { parseDuration, parseEnd, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

export function addApiKeyCommands(program: Command): void {
  const commands = () => import('./commands/api-keys.ts');
  const apiKeys = program
    .command('api-keys')
    .description('Create, list, rotate and revoke API keys, in the database itself: no server is needed.');
  const add = (name: string, description: string) =>
    apiKeys
      .command(name)
      .description(description)
      .addOption(jsonOption('the outcome as JSON'))
      .addHelpText(
        'after',
        helpEnd(
          ['success', 'failure', 'usage', 'notFound', 'unreachable'],
          'It reads DATABASE_URL and the other settings of the database, as `jobtree start` does: `jobtree help settings`.',
        ),
      );

  const create = add('create', 'Create a key and print it. It is shown only once.')
    .argument('<name>', 'a name, for people')
    .addOption(new Option('--role <role...>', 'what it may do').choices([...roles]).makeOptionMandatory())
    .option('--type <type...>', 'only jobs of these types: names, or prefixes that end in *')
    .option('--tenant <name>', 'the tenant of its callers (default: none, they see everything)')
    .option('--tree <id...>', 'only the trees with these roots')
    .option(
      '--expires <time>',
      'when it expires: a time, or how long from now (90d) (default: never)',
      parseEnd,
    );
  withLimits(create).action(run('end', async (name, options) => (await commands()).createKey(name, options)));
  add('list', 'List keys by name, including revoked and expired ones.').action(
    run('end', async (options) => (await commands()).listApiKeys(options)),
  );
  add('rotate', 'Replace the secret text of a key, and print the new one.')
    .argument('<id>', 'the id of the key')
    .option('--keep <time>', 'how long the old one stays valid (default: 24h)', parseDuration)
    .action(run('end', async (id, options) => (await commands()).rotateKey(id, options)));
  add('revoke', 'Revoke a key for good. Servers notice within five seconds.')
    .argument('<id>', 'the id of the key')
    .action(run('end', async (id, options) => (await commands()).revokeKey(id, options)));
}

/** The limits of one key. */
function withLimits(command: Command): Command {
  return command
    .option(
      '--requests-per-second <n>',
      'how many operations it may send per second',
      parseWholeNumber(1, 1_000_000_000),
    )
    .option(
      '--cost-per-second <n>',
      'how much its operations may cost per second',
      parseWholeNumber(1, 1_000_000_000),
    )
    .option(
      '--connections <n>',
      'how many sockets and event streams it may have open',
      parseWholeNumber(1, 1_000_000_000),
    )
    .option('--subscriptions <n>', 'how many subscriptions it may have', parseWholeNumber(1, 1_000_000_000))
    .option(
      '--stored-items <n>',
      'how many items its tenant may have stored before it can add no more',
      parseWholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .option(
      '--stored-bytes <n>',
      'the same for bytes of payloads, results and uploads',
      parseWholeNumber(1, Number.MAX_SAFE_INTEGER),
    );
}
