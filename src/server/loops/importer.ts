/**
 * Imports uploads into jobs, and deletes uploads that nobody needs any more. Every server does: the database leases each import to one of them,
 * and another continues where a server dies.
 */
import type { Logger } from 'pino';
import type { Engine } from '../../domain/engine/engine.ts';
import type { LeasedImport } from '../../domain/files/file-imports.ts';
import { importsWait, leaseImports } from '../../domain/files/lease-imports.ts';
import type { Uploads } from '../../domain/files/uploads.ts';
import { importFile } from '../../files/import-file.ts';
import { Loop, pollMs } from './loop.ts';

/** How often it looks for expired uploads. */
const pruneEveryMs = 10_000;
/** Each takes a database connection while its rows are added. */
const mostAtOnce = 4;

/** Imports from the object store and those from Postgres are limited apart: a store that hangs holds up only its own. */
interface Group {
  readonly inStore: boolean;
  readonly underWay: Set<Promise<void>>;
  othersWait: boolean;
}
const createGroup = (inStore: boolean): Group => ({ inStore, underWay: new Set(), othersWait: false });

export class Importer {
  readonly #engine: Engine;
  readonly #uploads: Uploads;
  readonly #maxTextBytes: number;
  readonly #logger: Logger;
  readonly #groups = [createGroup(false), createGroup(true)];
  readonly #loop: Loop;
  #pruneAt = 0;

  constructor(options: { engine: Engine; uploads: Uploads; maxTextBytes: number; logger: Logger }) {
    this.#engine = options.engine;
    this.#uploads = options.uploads;
    this.#maxTextBytes = options.maxTextBytes;
    this.#logger = options.logger;
    this.#loop = new Loop({
      look: async () => {
        for (const group of this.#groups) await this.#look(group);
        return performance.now() >= this.#pruneAt && (await this.#prune()) ? 0 : pollMs;
      },
      logger: options.logger,
      failure: 'imports could not be processed; trying again',
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Called when there may be something to import. */
  poke(): void {
    this.#loop.poke();
  }

  /** Gives back running imports, which another server continues. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all(this.#groups.flatMap(({ underWay }) => [...underWay]));
  }

  async #look(group: Group): Promise<void> {
    const { inStore, underWay } = group;
    const free = mostAtOnce - underWay.size;
    group.othersWait = free === 0 && (await importsWait(this.#engine.database, inStore));
    if (free === 0) return;
    for (const leased of await leaseImports(this.#engine, free, inStore)) {
      const reading = this.#import(leased, group).finally(() => {
        underWay.delete(reading);
        this.poke();
      });
      underWay.add(reading);
    }
  }

  async #import(leased: LeasedImport, group: Group): Promise<void> {
    const { jobId, place } = leased;
    this.#logger.debug({ jobId, line: place.line }, 'a file is being imported');
    try {
      await importFile({
        engine: this.#engine,
        uploads: this.#uploads,
        leased,
        maxTextBytes: this.#maxTextBytes,
        signal: this.#loop.signal,
        othersWait: () => group.othersWait,
      });
    } catch (error) {
      this.#logger.warn({ err: error, jobId }, 'the import of a file was interrupted; it will be resumed');
    }
  }

  /** Prunes a batch, while imports go on; resolves to whether there is more. */
  async #prune(): Promise<boolean> {
    const more = await this.#uploads.prune();
    if (!more) this.#pruneAt = performance.now() + pruneEveryMs;
    return more;
  }
}
