/** JSON that a command reads: from a file, standard input, or an argument. */
import { readFileSync } from 'node:fs';
import { CommandError } from './command-error.ts';
import { fromJson } from './exact-json.ts';
import { exitCodes } from './exit-codes.ts';

/** @param file its name; - for standard input */
export function readJsonFile(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw cannotRead(file, error);
  }
  return parseJson(text, file, exitCodes.badFile);
}

export function cannotRead(file: string, error: unknown): CommandError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EACCES: 'you may not read it',
    EISDIR: 'it is a directory',
  };
  return new CommandError(exitCodes.badFile, `${file} can't be read: ${reasons[code] ?? message}.`);
}

export function cannotWrite(file: string, error: unknown): Error {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such folder',
    EACCES: 'you may not write it',
    EISDIR: 'it is a directory',
    ENOSPC: 'the disk is full',
  };
  const reason = reasons[code] ?? message;
  return new CommandError(exitCodes.failure, `${file} can't be written: ${reason}.`);
}

/** @param what what to call it in an error */
export function parseJson(text: string, what: string, exitCode: number = exitCodes.usage): unknown {
  try {
    return fromJson(text);
  } catch (error) {
    throw new CommandError(exitCode, `${what} is not valid JSON: ${(error as Error).message}`);
  }
}
