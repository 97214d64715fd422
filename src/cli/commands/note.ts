/** `jobtree note`: keeps a note on a group of dead letters. */
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { printOutcome } from '../output.ts';

export async function noteDeadLetters(
  groupId: string,
  text: string | undefined,
  options: ApiOptions,
): Promise<number> {
  const note = text === undefined || text === '' ? null : text;
  await withClient(options, (client) => client.noteDeadLetters(groupId, note));
  const said = note === null ? 'Note removed.' : 'Noted.';
  printOutcome(options.json, { groupId, note }, said);
  return exitCodes.success;
}
