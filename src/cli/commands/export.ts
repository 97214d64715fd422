/** `jobtree export`: what a tree results in, a line for each item. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption } from '../interruption.ts';
import { printError } from '../output.ts';

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
  let last: string | undefined;
  let failure: unknown;
  /** Ends where the results break off, so that all that came before is written, and a compressed file is whole. */
  async function* text(lines: AsyncIterable<string>) {
    try {
      for await (const line of lines) {
        yield `${line}\n`;
        last = line;
      }
    } catch (error) {
      failure = error;
    }
  }
  try {
    // A server that is not there from the start is most likely the wrong one, and not worth that patience.
    await withClient({ url }, (client) => client.job(id, { signal }));
    const complete = await withClient({ url, retryMs }, async (client) => {
      const results = await client.exportResults(id, { after, signal });
      const source = Readable.from(text(results.lines), { objectMode: false });
      const file =
        out === undefined
          ? process.stdout
          : createWriteStream(out, { flags: after === undefined ? 'w' : 'a' });
      await (out?.endsWith('.gz') ? pipeline(source, createGzip(), file) : pipeline(source, file));
      return results.complete;
    });
    if (failure !== undefined) {
      const itemId = last === undefined ? after : (JSON.parse(last) as { itemId: string }).itemId;
      if (itemId !== undefined) printError(`Go on with --after ${itemId}\n`);
      throw failure;
    }
    if (!complete) printError('The tree is not complete: these are its results so far.\n');
    return exitCodes.success;
  } catch (error) {
    if (signal.aborted) return interruption.exitCode;
    throw error;
  }
}
