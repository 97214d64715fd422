/** The tree of all commands: what they are called and take. What they do is in commands/, loaded when it is needed. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addApiKeyCommands } from './api-key-commands.ts';
import { addCallbackCommands } from './callback-commands.ts';
import { addCancel, addDelete, addRetention } from './change-commands.ts';
import { addHelpCommands, shortHelp } from './help-commands.ts';
import { commandUsage, formatItem, helpWidth, visibleOptions } from './help-text.ts';
import { addDeadLetterCommands, addPendingItemCommands } from './item-commands.ts';
import { print, printError } from './output.ts';
import { addCreate, addImport, addSeal } from './producer-commands.ts';
import { addKeys, addQueue, addQueues, addTop } from './queue-commands.ts';
import { addSchedule, addSchedules } from './schedule-commands.ts';
import { addAudit, addDemo, addDoctor, addMigrate, addPsql, addRoles, addStart } from './server-commands.ts';
import { addTypeCommands } from './type-commands.ts';
import { explainUsage } from './usage-errors.ts';
import { addItems, addJobs, addResults, addWatch, addWatchToken, addWhy } from './watch-commands.ts';
import { addHeld, addWork, addWorkers } from './work-commands.ts';

/** What people do, and the commands for it, in the order of the help. */
const groups: readonly (readonly [what: string, ...add: ((program: Command) => void)[]])[] = [
  ['Try it', addDemo],
  ['Run servers', addStart, addMigrate, addDoctor, addPsql, addRoles],
  ['Create work', addImport, addCreate, addSeal, addSchedules, addSchedule],
  ['Do the work', addWork, addWorkers, addHeld],
  ['Follow it', addWatch, addJobs, addItems, addWhy, addResults, addWatchToken],
  ['Change it', addCancel, addDelete, addRetention, addPendingItemCommands],
  ['Look after types', addTop, addQueues, addQueue, addKeys, addTypeCommands],
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
