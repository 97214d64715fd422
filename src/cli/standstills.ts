/** Types with work that nobody does. A job that stands still may have nobody to work on it, or its type is paused: that is said once for each type. */
import type { Client, JobProgress } from '../client/index.ts';
import { oneLine } from './output.ts';

const againMs = 3_000;
/** A tree with more types than this has other things to show. */
const mostTypes = 10;

/** One request tells of no more. */
const mostAsked = 1_000;

/** Those of these types that no worker handles or holds items of; none for those who may not list workers. */
export async function typesWithoutWorker(
  client: Pick<Client, 'workers'>,
  types: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  if (types.length === 0 || types.length > mostAsked) return new Set();
  const workers = await client
    .workers({ types: [...types], first: mostAsked, signal })
    .catch(() => undefined);
  if (workers === undefined || workers.length === mostAsked) return new Set();
  const handled = new Set(workers.flatMap((worker) => worker.types.map(({ type }) => type)));
  return new Set(types.filter((type) => !handled.has(type)));
}

/** What is to be said of a type that is most likely misspelt; undefined if there is a job or a worker of it, or who asks may not know. */
export async function complaintOfUnknown(client: Client, type: string): Promise<string | undefined> {
  const jobs = await client
    .jobs({ filter: { types: [type], rootsOnly: false }, first: 1 })
    .catch(() => undefined);
  if (jobs === undefined || jobs.nodes.length > 0) return undefined;
  if (!(await typesWithoutWorker(client, [type])).has(type)) return undefined;
  return `No job and no worker of the type ${oneLine(type)} is known. Is it spelled right?`;
}

/** Why no worker gets the items of a type. */
export type Standstill = 'no worker' | 'paused';

export class Standstills {
  readonly #client: Client;
  readonly #types: ReadonlyMap<string, string>;
  readonly #onStandstill: (type: string, reason: Standstill) => void;
  readonly #told = new Set<string>();
  #jobs: readonly JobProgress[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #hasEnded = false;

  /** `types`: those of the jobs, by their ids. */
  constructor(
    client: Client,
    types: ReadonlyMap<string, string>,
    onStandstill: (type: string, reason: Standstill) => void,
  ) {
    this.#client = client;
    this.#types = types;
    this.#onStandstill = onStandstill;
  }

  /** The jobs have changed. The first time looks at once, and later changes do not put off the next look: a job may stand still beside busy ones. */
  changed(jobs: readonly JobProgress[]): void {
    this.#jobs = jobs;
    if (this.#timer === undefined && !this.#isLooking) void this.#look();
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const types = this.#openTypes();
    for (const type of types.size > mostTypes ? [] : types) {
      const reason = await this.#reason(type);
      if (this.#hasEnded) return;
      if (reason === undefined || this.#told.has(`${reason} ${type}`) || !this.#openTypes().has(type))
        continue;
      this.#told.add(`${reason} ${type}`);
      this.#onStandstill(type, reason);
    }
    this.#isLooking = false;
    this.#timer = setTimeout(() => void this.#look(), againMs);
  }

  #openTypes(): ReadonlySet<string> {
    const open = this.#jobs.filter(
      ({ completedAt, itemProgress, itemCount }) => completedAt == null && itemProgress < itemCount,
    );
    return new Set(open.map(({ jobId }) => this.#types.get(jobId) ?? ''));
  }

  /** None for those who may see neither. */
  async #reason(type: string): Promise<Standstill | undefined> {
    const queue = await this.#client.queues.get(type).catch(() => undefined);
    if (queue?.paused === true) return 'paused';
    return (await typesWithoutWorker(this.#client, [type])).has(type) ? 'no worker' : undefined;
  }
}
