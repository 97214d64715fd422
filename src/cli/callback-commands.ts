/** What `jobtree callbacks` and the commands below `jobtree callback` are called and take. */
import { type Command, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { exitCodesHelp } from './exit-codes.ts';
import { parseDuration, parseWholeNumber } from './figures.ts';

// biome-ignore lint/suspicious/noExplicitAny: commander gives arguments and options without types
type Run = (brokenPipe: 'end' | 'continue', command: (...args: any[]) => Promise<number>) => any;

export function addCallbackCommands(program: Command, run: Run): void {
  const commands = () => import('./commands/callbacks.ts');
  program
    .command('callbacks')
    .description('List what is or was sent to endpoints, the newest first.')
    .option('--endpoint <name>', 'only to this endpoint')
    .option('--job <id>', 'only about the tree of this root')
    .addOption(
      new Option('--status <status>', 'only deliveries of this status').choices([
        'pending',
        'delivered',
        'failed',
      ]),
    )
    .option('--limit <n>', 'how many', parseWholeNumber(1, 1_000_000), 20)
    .addOption(urlOption())
    .addOption(jsonOption('an object a line'))
    .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'unreachable'))
    .action(run('end', async (options) => (await commands()).listDeliveries(options)));

  const callback = program
    .command('callback')
    .description('Put, rotate, delete and list the endpoints of callbacks; show or retry a delivery.');
  const add = (name: string, description: string) =>
    callback
      .command(name)
      .description(description)
      .addOption(urlOption())
      .addOption(jsonOption('the outcome as JSON'))
      .addHelpText('after', exitCodesHelp('success', 'failure', 'usage', 'notFound', 'unreachable'));

  add('put', 'Create an endpoint and print its secret, which is never told again; or give one another URL.')
    .argument('<name>', 'the endpoint')
    .argument('<endpoint-url>', 'what is called')
    .action(run('end', async (name, url, options) => (await commands()).putEndpoint(name, url, options)));
  add('rotate', 'Give an endpoint a new secret, and print it.')
    .argument('<name>', 'the endpoint')
    .option('--keep <time>', 'how long the secret that it had signs, too (default: 24h)', parseDuration)
    .action(run('end', async (name, options) => (await commands()).rotateSecret(name, options)));
  add('delete', 'Delete an endpoint. What is still to be sent there fails.')
    .argument('<name>', 'the endpoint')
    .action(run('end', async (name, options) => (await commands()).deleteEndpoint(name, options)));
  add('endpoints', 'List the endpoints, by name.').action(
    run('end', async (options) => (await commands()).listEndpoints(options)),
  );
  add('show', 'Show a delivery: what is sent, and what came of the last attempts.')
    .argument('<id>', 'the delivery')
    .action(run('end', async (id, options) => (await commands()).showDelivery(id, options)));
  add('retry', 'Have a delivery sent at once, whatever came of it before.')
    .argument('<id>', 'the delivery')
    .action(run('end', async (id, options) => (await commands()).retryDelivery(id, options)));
}
