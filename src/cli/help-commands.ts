/** `jobtree --help`, `jobtree help` and `jobtree completion`. */
import { Argument, type Command } from 'commander';
import { CommandError } from './command-error.ts';
import { completionScript, shells } from './completion.ts';
import { type ExitCodeName, exitCodes } from './exit-codes.ts';
import { definitions, exitCodeList, helpEnd, helpWidth } from './help-text.ts';
import { print, write } from './output.ts';
import { run } from './run.ts';
import { wrap } from './width.ts';

export function addHelpCommands(program: Command): void {
  program
    .command('help')
    .description('Explain a command, or one of: commands, settings, exit-codes.')
    .argument('[topic...]', 'a command, or commands, settings [WORD], exit-codes')
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'usage'],
        'settings lists the environment variables of the server; with a word, such as redis, only those that mention it.',
      ),
    )
    .action(run('end', (topic) => help(program, topic)));
  program
    .command('completion')
    .description('Print a script that completes commands and options in your shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'usage'],
        'Add it to the start of your shell:\n  bash  echo \'eval "$(jobtree completion bash)"\' >> ~/.bashrc\n  zsh   echo \'eval "$(jobtree completion zsh)"\' >> ~/.zshrc  (after compinit)\n  fish  jobtree completion fish > ~/.config/fish/completions/jobtree.fish',
      ),
    )
    .action(
      run('end', async (shell) => {
        write(completionScript(program, shell));
        return exitCodes.success;
      }),
    );
}

/** Fits a screen of 24 lines of 80 characters. */
export function shortHelp(program: Command): string {
  const names = groupsOf(program).map(
    ([what, commands]) => [what, commands.map((command) => command.name()).join('  ')] as const,
  );
  const examples = [
    ['jobtree start', 'a server, with a Postgres of its own'],
    ['jobtree work upper -- tr a-z A-Z', 'a worker: runs a command for each item'],
    ['jobtree import people.csv --type upper', 'a job with an item for each row'],
    ['jobtree results ID', 'what came out'],
  ] as const;
  return [
    wrap(`${program.description()} Usage: jobtree COMMAND [OPTIONS]`, helpWidth()),
    '',
    'Commands:',
    definitions(names),
    '',
    'For example:',
    definitions(examples),
    '',
    wrap('More: jobtree COMMAND --help, jobtree help commands, jobtree help settings', helpWidth()),
    '',
  ].join('\n');
}

async function help(program: Command, [topic, ...rest]: string[]): Promise<number> {
  if (topic === undefined) write(shortHelp(program));
  else if (topic === 'commands') print(`${commandList(program)}\n`);
  else if (topic === 'exit-codes') print(`${exitCodeList(Object.keys(exitCodes) as ExitCodeName[])}\n`);
  else if (topic === 'settings') print(await settingList(rest.join(' ')));
  else commandOf(program, [topic, ...rest]).outputHelp();
  return exitCodes.success;
}

/** The commands by what people do with them. */
function groupsOf(program: Command): [string, Command[]][] {
  const groups = new Map<string, Command[]>();
  for (const command of program.commands) {
    const what = command.helpGroup();
    groups.set(what, [...(groups.get(what) ?? []), command]);
  }
  return [...groups];
}

function commandList(program: Command): string {
  return groupsOf(program)
    .map(
      ([what, commands]) =>
        `${what}:\n${definitions(commands.map((command) => [command.name(), command.description()]))}`,
    )
    .join('\n\n');
}

function commandOf(program: Command, names: readonly string[]): Command {
  let command = program;
  for (const name of names) {
    const next = command.commands.find((one) => one.name() === name);
    if (next === undefined)
      throw new CommandError(
        exitCodes.usage,
        `There is no command or topic ${names.join(' ')}. \`jobtree help\` lists the commands.`,
      );
    command = next;
  }
  return command;
}

async function settingList(word: string): Promise<string> {
  const { settingDescriptions } = await import('../config/settings.ts');
  const found = settingDescriptions.filter(({ name, meaning }) =>
    `${name} ${meaning}`.toLowerCase().includes(word.toLowerCase()),
  );
  if (found.length === 0) throw new CommandError(exitCodes.usage, `No setting mentions ${word}.`);
  const about = found.map(({ name, meaning, standard }) => {
    const text = wrap(`      ${meaning}`, helpWidth(), '      ');
    return `${wrap(`  ${name} (${standard})`, helpWidth(), '      ')}\n${text}\n`;
  });
  const title = 'Environment variables of the server, with their defaults:';
  return `${wrap(title, helpWidth())}\n\n${about.join('')}`;
}
