/** `jobtree results`: what a tree results in: lines of JSON for programs, a table on a terminal. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client, ResultLines } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { fromJson, toJson } from '../exact-json.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { catchInterruption } from '../interruption.ts';
import { typesOfTree } from '../job-progress.ts';
import { cannotWrite } from '../json-file.ts';
import { printError, visible } from '../output.ts';
import { Table } from '../table.ts';

export interface ResultsOptions extends ApiOptions {
  readonly out?: string;
  readonly after?: string;
  readonly type?: readonly string[];
  readonly limit?: number;
}

/** A server that restarts is away for some seconds; much that is read should not end over that. */
const retryMs = 60_000;
/** How many rows a table has unless the caller says it. */
const usualRows = 100;
const pageRows = 50;

export async function readResults(id: string, options: ResultsOptions): Promise<number> {
  const { url, after } = options;
  const interruption = catchInterruption();
  const { signal } = interruption;
  const isTable = options.out === undefined && !options.json && process.stdout.isTTY;
  try {
    // A server that is not there from the start is most likely the wrong one, and not worth that patience.
    const isWanted = await withClient({ url }, async (client) => wanted(client, id, options, signal));
    return await withClient({ url, retryMs }, async (client) => {
      const results = await client.exportResults(id, { after, signal });
      const limit = options.limit ?? (isTable ? usualRows : Number.POSITIVE_INFINITY);
      const lines = new Lines(results, isWanted, limit, after);
      await (isTable ? showTable(lines) : writeLines(lines, options));
      if (options.out !== undefined)
        printError(`${counted(lines.count, 'result')} written to ${options.out}.\n`);
      if (lines.failure !== undefined) {
        if (lines.last !== undefined) printError(`Continue with --after ${lines.last}\n`);
        throw lines.failure;
      }
      if (lines.isCut) printError(`There are more: continue with --after ${lines.last}\n`);
      const none = `There are no ${after === undefined ? '' : 'more '}results`;
      if (isTable && lines.count === 0)
        printError(`${none}${results.complete ? '' : ' yet: the tree is not complete'}.\n`);
      else if (!results.complete) printError('The tree is not complete: these are its results so far.\n');
      return exitCodes.success;
    });
  } catch (error) {
    if (signal.aborted) return interruption.exitCode;
    throw error;
  }
}

/** Whether a line is of a type that was asked for. */
async function wanted(
  client: Client,
  id: string,
  { type }: ResultsOptions,
  signal: AbortSignal,
): Promise<(itemId: string) => boolean> {
  const { root } = await client.job(id, { signal });
  if (type === undefined) return () => true;
  const types = await typesOfTree(client, root.id, signal);
  const missing = type.find((one) => ![...types.values()].includes(one));
  if (missing !== undefined)
    throw new CommandError(exitCodes.notFound, `The tree has no job of the type ${missing}.`);
  return (itemId) => type.includes(types.get(jobOf(itemId)) ?? '');
}

/** `JobItem:<job>:<position>` is of `Job:<job>`. */
function jobOf(itemId: string): string {
  return `Job:${itemId.split(':')[1]}`;
}

/** The lines that are wanted. They end where the results break off, so that all that came before is written, and a compressed file is whole. */
class Lines {
  failure: unknown;
  /** Whether there are more than the limit. */
  isCut = false;
  /** How many were passed on. */
  count = 0;
  /** The id of the last item that was passed on, or that the caller had. */
  last: string | undefined;
  readonly #results: ResultLines;
  readonly #isWanted: (itemId: string) => boolean;
  readonly #limit: number;

  constructor(
    results: ResultLines,
    isWanted: (itemId: string) => boolean,
    limit: number,
    after: string | undefined,
  ) {
    this.#results = results;
    this.#isWanted = isWanted;
    this.#limit = limit;
    this.last = after;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    let left = this.#limit;
    try {
      for await (const line of this.#results.lines) {
        const itemId = /^{"itemId":"([^"]*)"/.exec(line)?.[1] ?? '';
        if (this.#isWanted(itemId)) {
          if (left-- === 0) {
            this.isCut = true;
            return;
          }
          this.count++;
          yield line;
        }
        this.last = itemId;
      }
    } catch (error) {
      this.failure = error;
    }
  }
}

/** Standard output may be a terminal: there control characters are written as JSON allows, too. */
async function writeLines(lines: Lines, { out, after }: ResultsOptions): Promise<void> {
  async function* text() {
    for await (const line of lines) yield `${out === undefined ? visible(line) : line}\n`;
  }
  const source = Readable.from(text(), { objectMode: false });
  if (out === undefined) return pipeline(source, process.stdout);
  const file = createWriteStream(out, { flags: after === undefined ? 'w' : 'a' });
  try {
    // What can't be opened needs no results.
    await once(file, 'open');
    await (out.endsWith('.gz') ? pipeline(source, createGzip(), file) : pipeline(source, file));
  } catch (error) {
    throw cannotWrite(out, error);
  }
}

async function showTable(lines: Lines): Promise<void> {
  const columns = [
    { title: 'ITEM' },
    { title: 'PAYLOAD', cut: 'end' },
    { title: 'RESULT', cut: 'end' },
  ] as const;
  const table = new Table(columns, '');
  let page: string[][] = [];
  for await (const line of lines) {
    const { itemId, payload, result } = fromJson(line) as Record<string, unknown>;
    page.push([String(itemId), toJson(payload), toJson(result)]);
    if (page.length < pageRows) continue;
    table.print(page);
    page = [];
  }
  if (page.length > 0) table.print(page);
}
