/** The bytes to import: a file or standard input, decoded on the way. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';

export interface Input {
  /** For messages. */
  readonly name: string;
  /** In bytes; undefined for what has no size beforehand. */
  readonly size: number | undefined;
  /** The text, piece by piece. */
  readonly text: AsyncGenerator<string, void, undefined>;
  readonly bytesRead: () => number;
}

/** What is wrong with the file, and where. */
export function badFile(name: string, where: string, why: string): CommandError {
  return new CommandError(exitCodes.badFile, `${name}${where === '' ? '' : `, ${where}`}: ${why}`);
}

/** The signal ends the reading: standard input may keep silent for ever. */
export async function openInput(file: string, signal: AbortSignal): Promise<Input> {
  const fromStdin = file === '-';
  const name = fromStdin ? 'standard input' : file;
  const size = fromStdin ? undefined : await sizeOf(file);
  const chunks: AsyncIterable<Buffer> = addAbortSignal(
    signal,
    fromStdin ? process.stdin : createReadStream(file),
  );
  let bytesRead = 0;
  const text = decode(name, chunks, (bytes) => {
    bytesRead += bytes;
  });
  return { name, size, text, bytesRead: () => bytesRead };
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw badFile(file, '', 'it is a directory.');
    if (found.isFile() && found.size === 0) throw badFile(file, '', 'the file is empty.');
    return found.isFile() ? found.size : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw badFile(file, '', 'there is no such file.');
    if (code === 'EACCES') throw badFile(file, '', 'you may not read it.');
    throw error;
  }
}

/** Text that is not UTF-8 would be changed silently on its way into JSON, so it is refused. A byte order mark is dropped. */
async function* decode(
  name: string,
  chunks: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  let offset = 0;
  for await (const chunk of chunks) {
    let text: string;
    try {
      text = decoder.decode(chunk, { stream: true });
    } catch {
      const good = validLength(chunk);
      const where = `line ${line + newlines(chunk.subarray(0, good))}`;
      throw badFile(name, where, `not UTF-8 (byte ${offset + good} of the file).`);
    }
    line += newlines(chunk);
    offset += chunk.length;
    onBytes(chunk.length);
    if (text !== '') yield text;
  }
  try {
    decoder.decode();
  } catch {
    throw badFile(name, `line ${line}`, 'not UTF-8: the file ends within a character.');
  }
}

function newlines(bytes: Uint8Array): number {
  let found = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) found++;
  return found;
}

/**
 * The length of the longest beginning that is UTF-8. It may start within a character, with up to three bytes that only
 * make sense after the chunk before; if the fault lies there, the answer is the start.
 */
function validLength(chunk: Buffer): number {
  let start = 0;
  while (start < 3 && ((chunk[start] ?? 0) & 0b1100_0000) === 0b1000_0000) start++;
  const isValid = (length: number) => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(chunk.subarray(start, length), { stream: true });
      return true;
    } catch {
      return false;
    }
  };
  let good = start;
  let bad = chunk.length + 1;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isValid(middle)) good = middle;
    else bad = middle;
  }
  // A character that is broken off by what follows is a part of the fault.
  while (!isUtf8(chunk.subarray(start, good))) good--;
  return good;
}
