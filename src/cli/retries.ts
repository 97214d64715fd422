/** A job that stands still may wait for the retries of items that failed: what to say of that. */
import type { Client, JobProgress } from '../client/index.ts';
import { counted } from './figures.ts';
import { oneLine } from './output.ts';
import { shorten } from './width.ts';

const quietMs = 2_000;
const againMs = 5_000;
/** Of a cause, in columns. `jobtree items` shows all of it. */
const longest = 200;
/** A tree with more open jobs than this has other things to show. */
const mostJobs = 10;

/** Looks for items that wait, once nothing has changed for a while, and calls `onNotes` with what to say of each job. */
export class RetryWatch {
  readonly #client: Client;
  readonly #types: ReadonlyMap<string, string>;
  readonly #onNotes: (notes: ReadonlyMap<string, string>) => void;
  readonly #onCause: (text: string) => void;
  /** The jobs and codes that were told of. */
  readonly #told = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #round = 0;

  constructor(
    client: Client,
    types: ReadonlyMap<string, string>,
    onNotes: (notes: ReadonlyMap<string, string>) => void,
    onCause: (text: string) => void,
  ) {
    this.#client = client;
    this.#types = types;
    this.#onNotes = onNotes;
    this.#onCause = onCause;
  }

  /** The jobs have changed. */
  changed(jobs: readonly JobProgress[]): void {
    this.#schedule(jobs, quietMs);
  }

  end(): void {
    this.#round++;
    clearTimeout(this.#timer);
  }

  #schedule(jobs: readonly JobProgress[], waitMs: number): void {
    this.end();
    const round = this.#round;
    const open = jobs.filter(({ status }) => status === 'RUNNING');
    if (open.length === 0 || open.length > mostJobs) return;
    this.#timer = setTimeout(async () => {
      const notes = new Map<string, string>();
      for (const { jobId } of open) {
        const note = await this.#noteOf(jobId).catch(() => undefined);
        if (note !== undefined) notes.set(jobId, note);
      }
      if (round !== this.#round) return;
      this.#onNotes(notes);
      this.#schedule(jobs, againMs);
    }, waitMs);
  }

  async #noteOf(jobId: string): Promise<string | undefined> {
    const types = [this.#types.get(jobId) ?? ''];
    const count = (status: 'RETRYING' | 'SCHEDULED') =>
      this.#client.pendingItemCount({ jobId, types, statuses: [status] });
    const [retrying, scheduled] = await Promise.all([count('RETRYING'), count('SCHEDULED')]);
    const waiting = retrying + scheduled;
    if (waiting === 0) return undefined;
    if (retrying > 0) await this.#tellCause(jobId);
    const verb = waiting === 1 ? 'waits' : 'wait';
    return `${counted(waiting, 'item')} ${verb} ${scheduled === 0 ? 'for a retry' : 'to be due'}`;
  }

  /** Of one item: usually they all fail alike. Each code is told once. */
  async #tellCause(jobId: string): Promise<void> {
    const { nodes } = await this.#client.items(jobId, { statuses: ['RETRYING'], first: 1 });
    const [item] = nodes;
    const { code, message } = item?.failures.at(-1) ?? {};
    const key = `${jobId} ${code}`;
    if (item === undefined || this.#told.has(key)) return;
    this.#told.add(key);
    this.#onCause(
      `${item.id} waits for a retry after ${shorten(oneLine(`${code}: ${message}`), longest, 'end')}`,
    );
  }
}
