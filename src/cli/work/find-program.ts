/** Whether a command can be run at all, asked before the first item is claimed: a typing error is not the items' failure. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export function isRunnable(program: string): boolean {
  // Windows has rules of its own for what it runs; there the first item tells.
  if (process.platform === 'win32') return true;
  if (program.includes('/')) return isExecutable(program);
  return (process.env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, program)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
