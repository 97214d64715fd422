/** `jobtree watch`: how far a job is, or a whole tree, until it is complete. */
import type { Client, JobProgress, JobTreeProgress } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption, type Interruption } from '../interruption.ts';
import { showJobs, showTree, typesOfTree } from '../job-progress.ts';
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
  const states: AsyncIterable<State> = ofTree
    ? client.watchTree(job.root.id, watching)
    : client.watchJob(job.id, watching);
  let final: State | undefined;
  try {
    for await (final of states) view.show(final);
  } finally {
    view.end();
  }
  let allWell = true;
  for (const progress of jobsOf(final)) {
    const type = types.get(progress.jobId) ?? '';
    const summary = await summarise(client, type, progress);
    if (options.json) printJson({ event: 'summary', ...summary });
    else printSummary(types.size > 1 ? `${oneLine(type)}: ` : '', summary);
    allWell &&= progress.succeeded === progress.itemCount && progress.outcome === 'SUCCEEDED';
  }
  return allWell ? exitCodes.success : exitCodes.itemsFailed;
}

/** Of a tree or of a job. */
type State = JobTreeProgress | JobProgress;

function jobsOf(state: State | undefined): readonly JobProgress[] {
  if (state === undefined) return [];
  return 'jobs' in state ? state.jobs : [state];
}

/** How what is watched is shown. */
interface View {
  show(state: State): void;
  disconnected(error: Error): void;
  connected(): void;
  end(): void;
}

class DrawnView implements View {
  readonly #display = createProgressDisplay(process.stderr, 250);
  readonly #types: ReadonlyMap<string, string>;
  readonly #retries: RetryWatch;
  readonly #standstills: Standstills;
  #state: State | undefined;

  constructor(client: Client, types: ReadonlyMap<string, string>) {
    this.#types = types;
    this.#retries = new RetryWatch(
      client,
      types,
      (notes) => this.#draw(notes),
      (text) => this.#display.say(text),
    );
    this.#standstills = new Standstills(client, types, (...standstill) =>
      this.#display.say(inWords(...standstill)),
    );
  }

  show(state: State): void {
    this.#state = state;
    this.#draw();
    this.#retries.changed(jobsOf(state));
    this.#standstills.changed(jobsOf(state));
  }

  #draw(notes?: ReadonlyMap<string, string>): void {
    const state = this.#state;
    if (state !== undefined && 'jobs' in state) showTree(this.#display, state, this.#types, notes);
    else showJobs(this.#display, jobsOf(state), this.#types, notes);
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
  show(state: State): void {
    for (const progress of jobsOf(state)) {
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
