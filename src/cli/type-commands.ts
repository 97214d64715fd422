/** What `jobtree types` and the commands below `jobtree type` are called and take. */
import type { Command } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

const version = parseWholeNumber(1, 1_000_000);

export function addTypeCommands(program: Command): void {
  program
    .command('types')
    .description('Write TypeScript for the payloads and results of types that have schemas.')
    .argument('[types...]', 'only these types')
    .option('--out <file>', 'write to this file instead of standard output')
    .addOption(urlOption())
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(
      run('end', async (types, options) => (await import('./commands/types.ts')).writeTypes(types, options)),
    );

  const type = program.command('type').description('Register, show or delete the schemas of a type.');
  const commands = () => import('./commands/type.ts');
  const add = (name: string, description: string) =>
    type
      .command(name)
      .description(description)
      .argument('<type>', 'the type')
      .addOption(urlOption())
      .addOption(jsonOption('the outcome as JSON'))
      .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable', 'badFile']));

  add('put', 'Register a version of a type, with JSON Schemas.')
    .argument('[version]', 'the version', version, 1)
    .option('--payload <file>', 'the JSON Schema of payloads; - reads standard input')
    .option('--result <file>', 'the JSON Schema of results')
    .action(run('end', async (type, version, options) => (await commands()).putType(type, version, options)));
  add('show', 'Show all versions of a type with their schemas.').action(
    run('end', async (type, options) => (await commands()).showType(type, options)),
  );
  add('delete', 'Delete a version of a type. Items added before stay.')
    .argument('<version>', 'the version', version)
    .action(
      run('end', async (type, version, options) => (await commands()).deleteType(type, version, options)),
    );
}
