/** API keys, created as an operator creates them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { cleanEnvironment, program } from './server.ts';

export async function createKey(
  databaseUrl: string,
  {
    roles,
    types = [],
    tenant,
  }: { readonly roles: readonly string[]; readonly types?: readonly string[]; readonly tenant?: string },
): Promise<string> {
  const scope = [...roles.flatMap((role) => ['--role', role]), ...types.flatMap((type) => ['--type', type])];
  if (tenant !== undefined) scope.push('--tenant', tenant);
  const env = { ...cleanEnvironment(), DATABASE_URL: databaseUrl };
  const words = [program, 'api-keys', 'create', 'bench', ...scope];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  const [key] = /jobtree_\w+/.exec(stdout) ?? [];
  if (key === undefined) throw new Error(`The output has no key: ${stdout}`);
  return key;
}
