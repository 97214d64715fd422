/**
 * Reads uploads into jobs. Every server does it: imports are leased in the database, so that none is read by two of them, and where a server
 * dies, another one goes on. It deletes uploads, too, that nobody needs any more.
 */
import type { Logger } from 'pino';
import type { Engine } from '../domain/engine.ts';
import { importsWait, type LeasedImport, leaseImports } from '../domain/file-imports.ts';
import type { Uploads } from '../domain/uploads.ts';
import { Signal } from '../events/signal.ts';
import { importFile } from '../files/import-file.ts';

/** So often it looks for imports that wait. */
const pollMs = 1_000;
/** So often it looks for uploads whose time is over. */
const pruneEveryMs = 10_000;
/** Each takes a connection while its rows are added. */
const mostAtOnce = 4;

export class Importer {
  readonly #engine: Engine;
  readonly #uploads: Uploads;
  readonly #maxTextBytes: number;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #othersWait = false;
  /** Something may be new since it looked last. */
  #isPoked = false;
  readonly #woken = new Signal();
  #loop: Promise<void> | undefined;
  #pruneAt = 0;

  constructor(options: { engine: Engine; uploads: Uploads; maxTextBytes: number; logger: Logger }) {
    this.#engine = options.engine;
    this.#uploads = options.uploads;
    this.#maxTextBytes = options.maxTextBytes;
    this.#logger = options.logger;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** There is something to import. */
  poke(): void {
    this.#isPoked = true;
    this.#woken.fire();
  }

  /** What is under way is given back, and another server goes on with it. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#woken.fire();
    await this.#loop;
    await Promise.all(this.#underWay);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#isPoked = false;
      try {
        await this.#look();
        if (performance.now() >= this.#pruneAt) await this.#prune();
      } catch (error) {
        this.#logger.warn({ err: error }, 'imports could not be looked at; it is tried again');
      }
      if (!this.#isPoked && !signal.aborted) await this.#woken.wait(pollMs);
    }
  }

  async #look(): Promise<void> {
    const free = mostAtOnce - this.#underWay.size;
    this.#othersWait = free === 0 && (await importsWait(this.#engine.database));
    if (free === 0) return;
    for (const leased of await leaseImports(this.#engine, free)) {
      const reading = this.#import(leased).finally(() => {
        this.#underWay.delete(reading);
        this.poke();
      });
      this.#underWay.add(reading);
    }
  }

  async #import(leased: LeasedImport): Promise<void> {
    const { jobId, place } = leased;
    this.#logger.debug({ jobId, line: place.line }, 'a file is being imported');
    try {
      await importFile({
        engine: this.#engine,
        uploads: this.#uploads,
        leased,
        maxTextBytes: this.#maxTextBytes,
        signal: this.#stopped.signal,
        othersWait: () => this.#othersWait,
      });
    } catch (error) {
      this.#logger.warn({ err: error, jobId }, 'importing a file broke off; it is taken up again');
    }
  }

  /** A little at a time, while imports go on. */
  async #prune(): Promise<void> {
    const more = await this.#uploads.prune();
    this.#pruneAt = performance.now() + (more ? 0 : pruneEveryMs);
    if (more) this.#isPoked = true;
  }
}
