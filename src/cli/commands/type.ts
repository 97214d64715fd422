/** `jobtree type put|show|delete`: the schemas of a type. */
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { readJsonFile } from '../json-file.ts';
import { print, printOutcome } from '../output.ts';

interface PutOptions extends ApiOptions {
  readonly payload?: string;
  readonly result?: string;
}

export async function putType(
  type: string,
  version: number,
  { payload, result, ...options }: PutOptions,
): Promise<number> {
  const spec = {
    type,
    version,
    payload: payload === undefined ? undefined : readJsonFile(payload),
    result: result === undefined ? undefined : readJsonFile(result),
  };
  const { created } = await withClient(options, (client) => client.types.register(spec));
  const text = created
    ? `Registered version ${version} of ${type}.`
    : `Version ${version} of ${type} was already registered.`;
  printOutcome(options.json, { created }, text);
  return exitCodes.success;
}

export async function showType(type: string, options: ApiOptions): Promise<number> {
  const versions = await withClient(options, (client) => client.types.versions(type));
  if (versions.length === 0) throw new CommandError(exitCodes.notFound, `${type} has no schemas.`);
  for (const version of versions)
    print(`${JSON.stringify(version, undefined, options.json ? undefined : 2)}\n`);
  return exitCodes.success;
}

export async function deleteType(type: string, version: number, options: ApiOptions): Promise<number> {
  const { deleted } = await withClient(options, (client) => client.types.delete(type, version));
  if (!deleted) throw new CommandError(exitCodes.notFound, `${type} has no version ${version}.`);
  printOutcome(options.json, { deleted }, 'Deleted.');
  return exitCodes.success;
}
