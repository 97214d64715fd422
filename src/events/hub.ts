/**
 * Carries progress to subscribers: a topic for each watched tree, with a slot for each subscriber. Messages are absolute
 * states, from whatever source; a subscriber gets the state at its start, then only newer ones, and the final one always,
 * because a topic that stays silent is read again, and all of them after every new epoch of the source.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { readTrees, type TreeProgress } from '../domain/progress.ts';
import type { Feed } from './feed.ts';
import { Slot } from './slot.ts';

interface Topic {
  readonly slots: Set<Slot>;
  heardAt: number;
}

const silenceMs = 5_000;

export class ProgressHub {
  readonly #database: Database;
  readonly #feed: Pick<Feed, 'join' | 'leave'>;
  readonly #logger: Logger;
  readonly #topics = new Map<string, Topic>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: { database: Database; feed: Pick<Feed, 'join' | 'leave'>; logger: Logger }) {
    this.#database = options.database;
    this.#feed = options.feed;
    this.#logger = options.logger;
    this.#timer = setInterval(() => this.#repair(silenceMs), silenceMs / 2).unref();
  }

  /** A state from the source. */
  publish(tree: TreeProgress): void {
    const topic = this.#topics.get(tree.root);
    if (topic === undefined) return;
    topic.heardAt = Date.now();
    for (const slot of topic.slots) slot.offer(tree);
  }

  /** The source may have lost messages: read everything that is watched. */
  newEpoch(): void {
    this.#repair(0);
  }

  /**
   * Watches a tree, or one job of it. The slot is there before the state is read, so nothing falls between the two.
   * The caller has made sure that the tree exists; one that is deleted meanwhile just ends.
   */
  async watch(rootId: string, jobId?: string): Promise<Slot> {
    const slot = new Slot({ rootId, jobId, onClose: (closed) => this.#leave(rootId, closed) });
    let topic = this.#topics.get(rootId);
    if (topic === undefined) {
      topic = { slots: new Set(), heardAt: Date.now() };
      this.#topics.set(rootId, topic);
    }
    topic.slots.add(slot);
    try {
      await this.#feed.join(rootId);
      const [tree] = await readTrees(this.#database, [rootId]);
      if (tree === undefined) slot.end();
      else slot.start(tree);
    } catch (error) {
      await slot.return();
      throw error;
    }
    return slot;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const topic of this.#topics.values()) for (const slot of topic.slots) slot.end();
  }

  #leave(rootId: string, slot: Slot): void {
    const topic = this.#topics.get(rootId);
    topic?.slots.delete(slot);
    if (topic?.slots.size !== 0) return;
    this.#topics.delete(rootId);
    this.#feed.leave(rootId);
  }

  /** Reads the topics that have been silent for so long, in one query. */
  #repair(silentForMs: number): void {
    const before = Date.now() - silentForMs;
    const silent = [...this.#topics].filter(([, topic]) => topic.heardAt <= before).map(([rootId]) => rootId);
    if (silent.length === 0) return;
    readTrees(this.#database, silent)
      .then((trees) => {
        const found = new Set(trees.map((tree) => tree.root));
        for (const tree of trees) this.publish(tree);
        for (const rootId of silent) {
          if (!found.has(rootId)) for (const slot of this.#topics.get(rootId)?.slots ?? []) slot.end();
        }
      })
      .catch((error: unknown) => {
        this.#logger.warn({ err: error }, 'reading silent topics failed; it is tried again');
      });
  }
}
