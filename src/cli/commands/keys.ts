/** `jobtree keys`: the serialize keys behind whose head most items wait, or those that are named. */
import type { SerializeKey } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count } from '../figures.ts';
import { print } from '../output.ts';
import { Table } from '../table.ts';

export interface KeysOptions extends ApiOptions {
  readonly limit: number;
}

const columns = [
  { title: 'KEY' },
  { title: 'BLOCKED', align: 'right' },
  { title: 'STATE' },
  { title: 'TYPE', cut: 'middle' },
  { title: 'HEAD' },
] as const;

export async function listKeys(names: readonly string[], options: KeysOptions): Promise<number> {
  const keys = await withClient(options, (client) =>
    client.serializeKeys({ first: options.limit, keys: names.length === 0 ? undefined : names }),
  );
  if (options.json) for (const key of keys) print(`${JSON.stringify(key)}\n`);
  else new Table(columns, 'No item is blocked by a key.').print(keys.map(toCells));
  return exitCodes.success;
}

function toCells({ key, blocked, held, head }: SerializeKey): string[] {
  const state = held
    ? 'held by a failure'
    : head?.assignment == null
      ? 'next'
      : `at ${head.assignment.worker}`;
  return [key, count(blocked), state, head?.job.type ?? '', head?.id ?? ''];
}
