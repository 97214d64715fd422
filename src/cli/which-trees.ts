/** The options of lists and operations on trees that say which. */
import { type Command, InvalidArgumentError } from 'commander';
import { parseInstant } from './figures.ts';

export const jobStatuses = ['waiting', 'running', 'completed', 'cancelled'];
export const jobOutcomes = ['succeeded', 'partial', 'failed', 'cancelled'];

/** One more of several. */
export function parseJobStatus(text: string, before: readonly string[] = []): string[] {
  if (jobStatuses.includes(text)) return [...before, text];
  const hint = ['failed', 'partial', 'succeeded'].includes(text)
    ? ` For what came of them: --outcome ${text}.`
    : '';
  throw new InvalidArgumentError(`Allowed choices are ${jobStatuses.join(', ')}.${hint}`);
}

/** What lists and operations on trees have in common. */
export function whichTrees(command: Command): Command {
  return command
    .option('--type <type...>', 'only jobs of these types')
    .option('--since <time>', 'only those created since this time, or this long ago (2h)', parseInstant)
    .option('--until <time>', 'only those created before this time, or longer ago than this', parseInstant)
    .option('--completed-since <time>', 'only those complete since this time, or this long ago', parseInstant)
    .option('--completed-until <time>', 'only those complete since before this time', parseInstant)
    .option('--dedupe-key <beginning>', 'only those whose dedupe key begins so')
    .option('--failures', 'only those with items that failed for good')
    .option('--no-failures', 'only those without')
    .option('--schedule <name>', 'only trees that this schedule created')
    .option(
      '--idle-since <time>',
      'only trees that have been idle since this time, or for this long (2d)',
      parseInstant,
    );
}
