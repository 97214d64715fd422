/**
 * A page of rows as a subscription shows it. It is read again when something has changed, and now and then anyway, and
 * compared with what was told: so nothing can be missed for long, whatever is lost on the way. Reading takes at most a
 * tenth of the time, and waits its turn among all pages.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Live } from './live.ts';
import type { Semaphore } from './semaphore.ts';

export interface PageRow {
  readonly id: string;
  /** Differs whenever what is shown of the row may differ. */
  readonly mark: string;
}

export interface Page<Row extends PageRow> {
  readonly rows: readonly Row[];
  /** Nothing of it will change any more. */
  readonly final: boolean;
}

export interface PageChange<Row extends PageRow> {
  /** The whole page, in order. */
  readonly rows: readonly Row[];
  /** Of these, what is new or different. */
  readonly changed: readonly Row[];
  /** What is no longer on the page. */
  readonly gone: readonly string[];
}

export interface LivePageOptions<Row extends PageRow> {
  readonly read: () => Promise<Page<Row>>;
  readonly intervalMs: number;
  readonly onClose: (page: LivePage<Row>) => void;
  readonly slots: Semaphore;
  readonly logger: Logger;
}

/** A page that nothing is heard of is read again after this. */
const silenceMs = 2_000;
const readingShare = 0.1;

export class LivePage<Row extends PageRow> extends Live<PageChange<Row>> {
  readonly #options: LivePageOptions<Row>;
  readonly #stopped = new AbortController();
  #rows: readonly Row[] = [];
  #told = new Map<string, string>();
  #toldRows: readonly Row[] = [];
  #poked = true;
  #wake = () => {};

  constructor(options: LivePageOptions<Row>) {
    super(options.intervalMs);
    this.#options = options;
    void this.#keepReading();
  }

  /** Something may have changed. */
  poke(): void {
    this.#poked = true;
    this.#wake();
  }

  override snapshot(): PageChange<Row> {
    return { rows: this.#toldRows, changed: this.#toldRows, gone: [] };
  }

  protected override take(): PageChange<Row> {
    const changed = this.#rows.filter(({ id, mark }) => this.#told.get(id) !== mark);
    const marks = new Map(this.#rows.map(({ id, mark }) => [id, mark]));
    const gone = [...this.#told.keys()].filter((id) => !marks.has(id));
    this.#told = marks;
    this.#toldRows = this.#rows;
    return { rows: this.#rows, changed, gone };
  }

  protected override onClose(): void {
    this.#stopped.abort();
    this.#wake();
    this.#options.onClose(this);
  }

  async #keepReading(): Promise<void> {
    const { intervalMs, slots, logger } = this.#options;
    const { signal } = this.#stopped;
    let first = true;
    while (!signal.aborted) {
      let tookMs = 0;
      try {
        const page = await slots.run(async () => {
          if (signal.aborted) return undefined;
          const startedAt = performance.now();
          this.#poked = false;
          try {
            return await this.#options.read();
          } finally {
            tookMs = performance.now() - startedAt;
          }
        });
        if (page === undefined) return;
        const { rows, final } = page;
        const isNews = first || !sameRows(rows, this.#rows);
        first = false;
        this.#rows = rows;
        if (isNews) this.changed();
        if (final) return this.end();
      } catch (error) {
        logger.warn({ err: error }, 'reading a watched page failed; it is tried again');
      }
      await this.#pause(Math.max(intervalMs, tookMs / readingShare) - tookMs);
      if (!this.#poked) await this.#untilPoked();
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
  }

  async #untilPoked(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      if (this.isClosed) return resolve();
      this.#wake = resolve;
      timer = setTimeout(resolve, silenceMs);
    });
    clearTimeout(timer);
  }
}

function sameRows(a: readonly PageRow[], b: readonly PageRow[]): boolean {
  return a.length === b.length && a.every(({ id, mark }, i) => id === b[i]?.id && mark === b[i]?.mark);
}
