/** What `jobtree callbacks` and the commands below `jobtree callback` are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { parseDuration, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

export function addCallbackCommands(program: Command): void {
  const commands = () => import('./commands/callbacks.ts');
  program
    .command('callbacks')
    .description('List callback deliveries, newest first.')
    .option('--endpoint <name>', 'only deliveries to this endpoint')
    .option('--job <id>', 'only deliveries about the tree with this root')
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices([
        'pending',
        'delivered',
        'failed',
      ]),
    )
    .option('--limit <n>', 'how many to list', parseWholeNumber(1, 1_000_000), 20)
    .addOption(urlOption())
    .addOption(jsonOption('one object per line'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'unreachable']))
    .action(run('end', async (options) => (await commands()).listDeliveries(options)));

  const callback = program
    .command('callback')
    .description('Manage the endpoints of callbacks, and show or retry a delivery.');
  const add = (name: string, description: string) =>
    callback
      .command(name)
      .description(description)
      .addOption(urlOption())
      .addOption(jsonOption('the outcome as JSON'))
      .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']));

  add('put', 'Create an endpoint and print its secret, which is shown only once; or change its URL.')
    .argument('<name>', 'the endpoint')
    .argument('<endpoint-url>', 'the URL to call')
    .action(run('end', async (name, url, options) => (await commands()).putEndpoint(name, url, options)));
  add('rotate', 'Give an endpoint a new secret, and print it.')
    .argument('<name>', 'the endpoint')
    .option('--keep <time>', 'how long the old secret also signs (default: 24h)', parseDuration)
    .action(run('end', async (name, options) => (await commands()).rotateSecret(name, options)));
  add('delete', 'Delete an endpoint. Pending deliveries to it fail.')
    .argument('<name>', 'the endpoint')
    .action(run('end', async (name, options) => (await commands()).deleteEndpoint(name, options)));
  add('endpoints', 'List endpoints, by name.').action(
    run('end', async (options) => (await commands()).listEndpoints(options)),
  );
  add('show', 'Show a delivery: what is sent, and how the last attempts ended.')
    .argument('<id>', 'the delivery')
    .action(run('end', async (id, options) => (await commands()).showDelivery(id, options)));
  add('retry', 'Send a delivery now, however it ended before.')
    .argument('<id>', 'the delivery')
    .action(run('end', async (id, options) => (await commands()).retryDelivery(id, options)));
}
