/** The tree of all commands: what they are called and take. What they do is in commands/, loaded when it is needed. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addApiKeyCommands } from './api-key-commands.ts';
import { addCallbackCommands } from './callback-commands.ts';
import { addHelpCommands, shortHelp } from './help-commands.ts';
import { commandUsage, formatItem, helpWidth, visibleOptions } from './help-text.ts';
import { addDeadLetterCommands, addPendingItemCommands } from './item-commands.ts';
import { addChangeCommands, addProducerCommands, addWatchCommands, addWork } from './job-commands.ts';
import { print, printError } from './output.ts';
import { addQueueCommands } from './queue-commands.ts';
import { addScheduleCommands } from './schedule-commands.ts';
import { addAudit, addDemo, addServerCommands } from './server-commands.ts';
import { addTypeCommands } from './type-commands.ts';
import { explainUsage } from './usage-errors.ts';

/** What people do, and the commands for it, in the order of the help. */
const groups: readonly (readonly [what: string, ...add: ((program: Command) => void)[]])[] = [
  ['Try it', addDemo],
  ['Run servers', addServerCommands],
  ['Create work', addProducerCommands, addScheduleCommands],
  ['Do the work', addWork],
  ['Follow it', addWatchCommands],
  ['Change it', addChangeCommands, addPendingItemCommands],
  ['Look after types', addQueueCommands, addTypeCommands],
  ['Settle failures', addDeadLetterCommands],
  ['Call back', addCallbackCommands],
  ['Control access', addApiKeyCommands, addAudit],
  ['Get help', addHelpCommands],
];

export function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const program = new Command('jobtree')
    .description('Asynchronous work as trees of jobs.')
    .version(version)
    .helpCommand(false)
    .helpOption('-h, --help', 'show this help')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: printError })
    .configureHelp({ helpWidth: helpWidth(), formatItem, commandUsage, visibleOptions });
  for (const [what, ...add] of groups) {
    program.commandsGroup(what);
    for (const addTo of add) addTo(program);
  }
  explainUsage(program);
  program.helpInformation = () => shortHelp(program);
  return program;
}
