/** A job that stands still may wait for the retries of items that failed: what to say of that. */
import type { Client, JobProgress } from '../client/index.ts';
import { counted } from './figures.ts';

const quietMs = 2_000;
const againMs = 5_000;
/** A tree with more open jobs than this has other things to show. */
const mostJobs = 10;

/** Looks for items that wait, once nothing has changed for a while, and calls `onNotes` with what to say of each job. */
export class RetryWatch {
  readonly #client: Client;
  readonly #types: ReadonlyMap<string, string>;
  readonly #onNotes: (notes: ReadonlyMap<string, string>) => void;
  #timer: NodeJS.Timeout | undefined;
  #round = 0;

  constructor(
    client: Client,
    types: ReadonlyMap<string, string>,
    onNotes: (notes: ReadonlyMap<string, string>) => void,
  ) {
    this.#client = client;
    this.#types = types;
    this.#onNotes = onNotes;
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
    const count = (state: 'RETRYING' | 'SCHEDULED') =>
      this.#client.pendingItemCount({ jobId, types, states: [state] });
    const [retrying, scheduled] = await Promise.all([count('RETRYING'), count('SCHEDULED')]);
    const waiting = retrying + scheduled;
    if (waiting === 0) return undefined;
    const verb = waiting === 1 ? 'waits' : 'wait';
    return `${counted(waiting, 'item')} ${verb} ${scheduled === 0 ? 'for a retry' : 'to be due'}`;
  }
}
