/** JSON that a command reads: from a file, standard input, or an argument. */
import { readFileSync } from 'node:fs';
import { CommandError } from './command-error.ts';
import { exitCodes } from './exit-codes.ts';

/** @param file its name; - for standard input */
export function readJsonFile(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new CommandError(exitCodes.badFile, `${file} can't be read: ${(error as Error).message}`);
  }
  return parseJson(text, file, exitCodes.badFile);
}

/** @param what what to call it in an error */
export function parseJson(text: string, what: string, exitCode: number = exitCodes.usage): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(exitCode, `${what} is not valid JSON: ${(error as Error).message}`);
  }
}
