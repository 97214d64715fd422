/** `jobtree export`: what a tree results in, a line for each item. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption } from '../interruption.ts';

export interface ExportOptions {
  readonly url: string;
  readonly out?: string;
  readonly after?: string;
}

/** A server that restarts is away for some seconds; a long export should not end over that. */
const retryMs = 60_000;

export async function exportResults(id: string, { url, out, after }: ExportOptions): Promise<number> {
  const interruption = catchInterruption();
  const { signal } = interruption;
  // A server that is not there from the start is most likely the wrong one, and not worth that patience.
  await withClient({ url }, (client) => client.job(id, { signal }));
  return withClient({ url, retryMs }, async (client) => {
    const { complete, lines } = await client.exportResults(id, { after, signal });
    let last = after;
    async function* text() {
      for await (const line of lines) {
        yield `${line}\n`;
        last = line;
      }
    }
    const file =
      out === undefined ? process.stdout : createWriteStream(out, { flags: after === undefined ? 'w' : 'a' });
    const source = Readable.from(text(), { objectMode: false });
    try {
      await (out?.endsWith('.gz') ? pipeline(source, createGzip(), file) : pipeline(source, file));
    } catch (error) {
      if (last !== undefined) process.stderr.write(`Go on with --after ${idIn(last)}\n`);
      if (signal.aborted) return interruption.exitCode;
      throw error;
    }
    if (!complete) process.stderr.write('The tree is not complete: these are its results so far.\n');
    return exitCodes.success;
  });
}

function idIn(line: string): string {
  return line.startsWith('{') ? (JSON.parse(line) as { itemId: string }).itemId : line;
}
