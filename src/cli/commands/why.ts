/** `jobtree why`: why a job with its tree, an item or a type is not running. */
import type { Client, Standstill } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { oneLine, print, printText } from '../output.ts';
import { complaintOfUnknown } from '../standstills.ts';

export async function why(of: string, options: ApiOptions): Promise<number> {
  const standstills = await withClient(options, (client) => readStandstills(client, of));
  if (options.json) for (const standstill of standstills) print(`${JSON.stringify(standstill)}\n`);
  else if (standstills.length === 0) printText('Nothing keeps it from running.\n');
  else for (const standstill of standstills) printText(`${inWords(standstill, of)}\n`);
  return exitCodes.success;
}

async function readStandstills(client: Client, of: string): Promise<Standstill[]> {
  if (/^Job(Item)?:/.test(of)) return client.standstills(of);
  const found = await client.queues.standstills(of);
  const complaint = found.length === 0 ? await complaintOfUnknown(client, of) : undefined;
  if (complaint !== undefined) throw new CommandError(exitCodes.notFound, complaint);
  return found;
}

/** With what it is true of, unless that is what was asked about. */
function inWords({ message, type, itemCount, hasMore }: Standstill, of: string): string {
  const sentence = oneLine(message);
  if (of.startsWith('JobItem:')) return sentence;
  if (itemCount === 0) return `${oneLine(type)}: ${sentence}`;
  return `${oneLine(type)}, ${hasMore ? 'more than ' : ''}${counted(itemCount, 'item')}: ${sentence}`;
}
