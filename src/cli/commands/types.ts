/** `jobtree types`: the registered types as TypeScript. */
import { writeFile } from 'node:fs/promises';
import type { TypeSchema } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { cannotWrite } from '../json-file.ts';
import { print, printError } from '../output.ts';
import { toTypeScript } from '../typescript.ts';

export async function writeTypes(
  names: readonly string[],
  { out, ...options }: ApiOptions & { readonly out?: string },
): Promise<number> {
  const types = await withClient(options, async (client) => {
    const found: (readonly TypeSchema[])[] = [];
    for (const name of names.length > 0 ? names : await client.types.list()) {
      const versions = await client.types.versions(name);
      if (versions.length > 0) found.push(versions);
      else if (names.length > 0) throw new CommandError(exitCodes.notFound, `${name} has no schemas.`);
    }
    return found;
  });
  const text = await toTypeScript(types);
  if (out === undefined) print(text);
  else {
    await writeFile(out, text).catch((error) => {
      throw cannotWrite(out, error);
    });
    printError(`${counted(types.length, 'type')} written to ${out}.\n`);
  }
  return exitCodes.success;
}
