/** `jobtree watch`: how far a job is, or a whole tree, until it is complete. */
import type { Client, JobProgress, WatchOptions } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption, type Interruption } from '../interruption.ts';
import { showJobs, typesOfTree } from '../job-progress.ts';
import { oneLine, print } from '../output.ts';
import { createProgressDisplay } from '../progress-display.ts';
import { RetryWatch } from '../retries.ts';
import { type Standstill, Standstills } from '../standstills.ts';
import { printSummary, summarise } from '../summary.ts';

export interface WatchCommandOptions extends ApiOptions {
  /** Whether to show all jobs of the tree; by default those of a root. */
  readonly tree?: boolean;
}

export async function watch(
  id: string,
  options: WatchCommandOptions,
  interruption: Interruption = catchInterruption(),
): Promise<number> {
  const { signal } = interruption;
  try {
    return await withClient(options, (client) => follow(client, id, options, signal));
  } catch (error) {
    if (signal.aborted) return interruption.exitCode;
    throw error;
  }
}

async function follow(
  client: Client,
  id: string,
  options: WatchCommandOptions,
  signal: AbortSignal,
): Promise<number> {
  // Asked first, since a subscription would wait for a server that is not there.
  const job = await client.job(id, { signal });
  const isRoot = job.id === job.root.id && job.children.length > 0;
  // Whoever may not see all of a tree has no progress of it.
  const ofTree = options.tree ?? (isRoot && job.treeProgress != null);
  const types = ofTree ? await typesOfTree(client, job.root.id, signal) : new Map([[job.id, job.type]]);
  const view = options.json ? new JsonView(types) : new DrawnView(client, types);
  const watching = {
    signal,
    onDisconnected: (error: Error) => view.disconnected(error),
    onConnected: () => view.connected(),
  };
  const states = ofTree ? treeStates(client, job.root.id, watching) : jobStates(client, job.id, watching);
  let final: readonly JobProgress[] = [];
  try {
    for await (final of states) view.show(final);
  } finally {
    view.end();
  }
  let allWell = true;
  for (const progress of final) {
    const type = types.get(progress.jobId) ?? '';
    const summary = await summarise(client, type, progress);
    if (options.json) printJson({ event: 'summary', ...summary });
    else printSummary(types.size > 1 ? `${oneLine(type)}: ` : '', summary);
    allWell &&= progress.succeeded === progress.itemCount && progress.outcome === 'SUCCEEDED';
  }
  return allWell ? exitCodes.success : exitCodes.itemsFailed;
}

type States = AsyncGenerator<readonly JobProgress[], void, undefined>;

async function* jobStates(client: Client, id: string, options: WatchOptions): States {
  for await (const progress of client.watchJob(id, options)) yield [progress];
}

async function* treeStates(client: Client, rootId: string, options: WatchOptions): States {
  for await (const tree of client.watchTree(rootId, options)) yield tree.jobs;
}

/** How what is watched is shown. */
interface View {
  show(jobs: readonly JobProgress[]): void;
  disconnected(error: Error): void;
  connected(): void;
  end(): void;
}

class DrawnView implements View {
  readonly #display = createProgressDisplay(process.stdout, 250);
  readonly #types: ReadonlyMap<string, string>;
  readonly #retries: RetryWatch;
  readonly #standstills: Standstills;
  #jobs: readonly JobProgress[] = [];

  constructor(client: Client, types: ReadonlyMap<string, string>) {
    this.#types = types;
    this.#retries = new RetryWatch(
      client,
      types,
      (notes) => showJobs(this.#display, this.#jobs, types, notes),
      (text) => this.#display.say(text),
    );
    this.#standstills = new Standstills(client, types, (...standstill) =>
      this.#display.say(inWords(...standstill)),
    );
  }

  show(jobs: readonly JobProgress[]): void {
    this.#jobs = jobs;
    showJobs(this.#display, jobs, this.#types);
    this.#retries.changed(jobs);
    this.#standstills.changed(jobs);
  }

  disconnected(error: Error): void {
    this.#display.say(`${error.message} Trying again…`);
  }

  connected(): void {
    this.#display.say('The server is back.');
  }

  end(): void {
    this.#retries.end();
    this.#standstills.end();
    this.#display.end();
  }
}

/** What is to be copied into a shell has only names that mean nothing to shells. */
function inWords(type: string, reason: Standstill): string {
  const name = /^[\w.-]+$/.test(type) ? type : 'TYPE';
  if (reason === 'paused') return `${type} is paused. To resume it: \`jobtree queue ${name} --resume\``;
  return `No worker is connected for ${type}. To start one: \`jobtree work ${name} -- COMMAND\``;
}

class JsonView implements View {
  readonly #types: ReadonlyMap<string, string>;
  readonly #printed = new Map<string, JobProgress>();

  constructor(types: ReadonlyMap<string, string>) {
    this.#types = types;
  }

  /** Only what has changed since the line before. */
  show(jobs: readonly JobProgress[]): void {
    for (const progress of jobs) {
      if (this.#printed.get(progress.jobId) === progress) continue;
      this.#printed.set(progress.jobId, progress);
      printJson({ event: 'progress', type: this.#types.get(progress.jobId), ...progress });
    }
  }

  disconnected({ message }: Error): void {
    printJson({ event: 'disconnected', message });
  }

  connected(): void {
    printJson({ event: 'connected' });
  }

  end(): void {}
}

function printJson(line: object): void {
  print(`${JSON.stringify(line)}\n`);
}
