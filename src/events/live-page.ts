/**
 * A page of rows as a subscription shows it. It is read again when something has changed, and from time to time anyway, and
 * compared with what its readers were told, so nothing is missed for long, whatever is lost on the way. Reading takes up at most
 * a tenth of the time, and only so many pages are read at once: tenants and callers take turns, and of a caller the pages that were never read
 * go first.
 */
import type { Logger } from 'pino';
import type { Owner } from '../concurrency/fair-queue.ts';
import type { FairSemaphore } from '../concurrency/fair-semaphore.ts';
import { Signal } from '../concurrency/signal.ts';
import { Live } from './live.ts';

export interface PageRow {
  readonly id: string;
  /** Differs whenever the visible content of the row may differ. */
  readonly mark: string;
}

export interface Page<Row extends PageRow> {
  readonly rows: readonly Row[];
  /** Whether nothing on the page will change any more. */
  readonly final: boolean;
}

export interface PageChange<Row extends PageRow> {
  /** The whole page, in order. */
  readonly rows: readonly Row[];
  /** The rows that are new or different. */
  readonly changed: readonly Row[];
  /** The ids of rows that are no longer on the page. */
  readonly gone: readonly string[];
}

export interface LivePageOptions<Row extends PageRow> {
  readonly read: () => Promise<Page<Row>>;
  readonly intervalMs: number;
  readonly onClose: (page: LivePage<Row>) => void;
  readonly turns: FairSemaphore;
  readonly owner: Owner;
  readonly logger: Logger;
}

/** A page without a sign of change is read again after this time. */
const silenceMs = 2_000;
const readingShare = 0.1;
/** Of rows that left, while some reader is late: it costs less to begin again than to be told of more. */
const mostGone = 1_000;
/** Replaces the mark of a row that some readers know in a newer state than others. */
const toldApart = '';

export class LivePage<Row extends PageRow> extends Live<PageChange<Row>> {
  readonly #options: LivePageOptions<Row>;
  readonly #signal = new Signal();
  #rows: readonly Row[] = [];
  #told = new Map<string, string>();
  /** Ids of rows that have left the page since all readers were last up to date. */
  readonly #gone = new Set<string>();
  #poked = true;
  #edition = 0;
  /** Those who wait for a read that begins after they came. */
  #waiting: (() => void)[] = [];

  constructor(options: LivePageOptions<Row>) {
    super(options.intervalMs);
    this.#options = options;
    void this.#keepReading();
  }

  override get edition(): number {
    return this.#edition;
  }

  /** Something may have changed. */
  poke(): void {
    this.#poked = true;
    this.#signal.fire();
  }

  /** Does not wait for the interval, since it serves a reader that has been told nothing yet. */
  override async refresh(): Promise<void> {
    if (this.isClosed) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.poke();
    });
  }

  /**
   * Also marks every row that the other readers know differently or not at all, so that the next event tells all of them: the row
   * may change back before then.
   */
  override snapshot(): PageChange<Row> {
    const marks = marksOf(this.#rows);
    for (const id of new Set([...this.#told.keys(), ...marks.keys()])) {
      if (this.#told.get(id) !== marks.get(id)) this.#told.set(id, toldApart);
    }
    const gone = [...new Set([...this.#gone, ...this.#told.keys()])].filter((id) => !marks.has(id));
    return { rows: this.#rows, changed: this.#rows, gone };
  }

  override settled(): void {
    this.#gone.clear();
  }

  override get isFull(): boolean {
    return this.#gone.size > mostGone;
  }

  protected override take(): PageChange<Row> {
    const changed = this.#rows.filter(({ id, mark }) => this.#told.get(id) !== mark);
    const marks = marksOf(this.#rows);
    const gone = [...this.#told.keys()].filter((id) => !marks.has(id));
    for (const id of gone) this.#gone.add(id);
    this.#told = marks;
    return { rows: this.#rows, changed, gone };
  }

  protected override onClose(): void {
    this.#signal.fire();
    for (const resolve of this.#waiting.splice(0)) resolve();
    this.#options.onClose(this);
  }

  async #keepReading(): Promise<void> {
    const { intervalMs, turns, owner } = this.#options;
    const { tenant, account } = owner;
    for (let first = true; !this.isClosed; ) {
      const read = await turns.run({ tenant, account, goesFirst: first }, () => this.#read());
      if (read.page !== undefined) {
        const { rows, final } = read.page;
        const isNews = first || !sameRows(rows, this.#rows);
        first = false;
        this.#rows = rows;
        if (isNews) {
          this.#edition++;
          this.changed();
        }
        for (const resolve of read.waiting) resolve();
        if (final) return this.complete();
      }
      await this.#rest(read.tookMs / readingShare - read.tookMs, () => false);
      await this.#rest(intervalMs - read.tookMs / readingShare, () => this.#waiting.length > 0);
      await this.#rest(silenceMs, () => this.#poked);
    }
  }

  /** Returns no page if the read failed, or if nobody wants it any more. */
  async #read(): Promise<{ page?: Page<Row>; waiting: (() => void)[]; tookMs: number }> {
    const waiting = this.#waiting.splice(0);
    if (this.isClosed) return { waiting, tookMs: 0 };
    const startedAt = performance.now();
    this.#poked = false;
    try {
      const page = await this.#options.read();
      return { page, waiting, tookMs: performance.now() - startedAt };
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'reading a watched page failed; trying again');
      this.#waiting.unshift(...waiting);
      return { waiting: [], tookMs: performance.now() - startedAt };
    }
  }

  async #rest(ms: number, isOver: () => boolean): Promise<void> {
    const end = performance.now() + ms;
    for (let left = ms; left > 0 && !this.isClosed && !isOver(); left = end - performance.now()) {
      await this.#signal.wait(left);
    }
  }
}

function marksOf(rows: readonly PageRow[]): Map<string, string> {
  return new Map(rows.map(({ id, mark }) => [id, mark]));
}

function sameRows(a: readonly PageRow[], b: readonly PageRow[]): boolean {
  return a.length === b.length && a.every(({ id, mark }, i) => id === b[i]?.id && mark === b[i]?.mark);
}
