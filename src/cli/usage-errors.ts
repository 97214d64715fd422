/** What commander says of a command line that can't be used, in the words of our other errors: which value, which rule, what to do. */
import type { Command } from 'commander';
import { printComplaint } from './command-error.ts';
import { withHint } from './guessed-commands.ts';

/** What follows the colon begins small. */
const wrongValue = (name: string, value: string, rule: string) =>
  `${name} is "${value}": ${rule.toLowerCase()}`;

const phrases: readonly (readonly [theirs: RegExp, ours: (...parts: string[]) => string])[] = [
  [
    /^option '(--[\w-]+)[^']*' argument '(.*)' is invalid\. (.)/s,
    (name = '', value = '', rule = '') => wrongValue(name, value, rule),
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '([\w-]+)'\. (.)/s,
    (value = '', name = '', rule = '') => wrongValue(name, value, rule),
  ],
  [
    /^option '(--[\w-]+) ([^']*)' argument missing/,
    (name, value) => `${name} needs a value: ${name} ${value}`,
  ],
  [/^required option '([^']*)' not specified/, (flags) => `missing required option '${flags}'`],
  [
    /^option '(--[\w-]+)[^']*' cannot be used with option '(--[\w-]+)[^']*'/,
    (one, other) => `${one} can't be combined with ${other}.`,
  ],
];

function ofUsage(theirs: string): string {
  const text = theirs.replace(/^error: /, '');
  const known = phrases.find(([pattern]) => pattern.test(text));
  if (known === undefined) return text;
  const [pattern, ours] = known;
  return text.replace(pattern, (_all, ...parts: string[]) => ours(...parts));
}

/** For a command and all below it. The help that explains the command is named behind the error. */
export function explainUsage(command: Command, path = 'jobtree'): void {
  const isProgram = command.parent === null;
  const isServer = ['start', 'migrate', 'demo'].includes(command.name());
  const help = isProgram ? 'jobtree help' : `${path} --help`;
  const what = command.commands.length > 0 ? 'lists the commands' : 'explains the arguments and options';
  command.showHelpAfterError(`\`${help}\` ${what}.`);
  command.configureOutput({
    outputError: (text) => printComplaint(ofUsage(isServer || isProgram ? withHint(text) : text).trimEnd()),
  });
  if (!isProgram && command.commands.length > 0) command.helpCommand('help [command]', 'Explain a command.');
  for (const one of command.commands) explainUsage(one, `${path} ${one.name()}`);
}
