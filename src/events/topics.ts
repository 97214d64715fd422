/**
 * The watched trees of this server, kept up to date. Each has a topic, which knows the newest state of all its
 * jobs. Messages carry absolute counts, so they may be lost, repeated or reordered on their way. A topic is read again when it is
 * silent or one of its messages was lost; all topics are read when the transport may have lost messages; and each is read within
 * a minute in any case. An end is only believed when it is read, and a read replaces what it contradicts, so whoever can forge messages
 * can show others false counts for some seconds, and no more.
 */
import { setTimeout as delay } from 'node:timers/promises';
import DataLoader from 'dataloader';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { readRoots, readTrees, type TreeProgress } from '../domain/progress/progress.ts';
import { Topic } from './topic.ts';
import type { Transport } from './transport.ts';

const silenceMs = 5_000;
/** A busy topic may lose messages without a sign, so it is read this often; with the time that reading takes, that is within a minute. */
const readEveryMs = 50_000;
/** How long a topic without watchers is kept, for those who come back after their connection was cut. */
const lingerMs = 10_000;
const treesPerRead = 500;
/** After a lost connection every server reads at once: this spreads the reads. */
const spreadMs = 250;

export interface TopicsOptions {
  readonly database: Database;
  readonly transport: Pick<Transport, 'join' | 'leave'>;
  readonly logger: Logger;
}

export class Topics {
  readonly #transport: Pick<Transport, 'join' | 'leave'>;
  readonly #logger: Logger;
  readonly #topics = new Map<string, Topic>();
  /** The root of each job in all topics. */
  readonly #roots = new Map<string, string>();
  /** Topics that must be read again. */
  readonly #doubtful = new Set<Topic>();
  #repairing: Promise<void> | undefined;
  #spreading: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #readTree: DataLoader<string, TreeProgress | undefined>;
  readonly #readRoot: DataLoader<string, string | undefined>;
  readonly #closed = new AbortController();

  constructor({ database, transport, logger }: TopicsOptions) {
    this.#transport = transport;
    this.#logger = logger;
    // Loads in one turn of the event loop share a query.
    const batches = { cache: false, maxBatchSize: treesPerRead };
    this.#readTree = new DataLoader(async (rootIds) => {
      const trees = new Map((await readTrees(database, rootIds)).map((tree) => [tree.root, tree]));
      return rootIds.map((rootId) => trees.get(rootId));
    }, batches);
    this.#readRoot = new DataLoader(async (jobIds) => {
      const roots = await readRoots(database, jobIds);
      return jobIds.map((jobId) => roots.get(jobId));
    }, batches);
    this.#timer = setInterval(() => this.#tend(), silenceMs / 2).unref();
  }

  /** Takes the state of some or all jobs of a tree, from the transport. */
  publish(tree: TreeProgress): void {
    const topic = this.#topics.get(tree.root);
    if (topic === undefined) return;
    if (topic.isToBeVerified(tree)) {
      this.#doubtful.add(topic);
      void this.#repair();
    } else {
      topic.heardAt = performance.now();
      topic.hear(tree);
    }
  }

  /** Messages of any tree may have been lost: reads all trees. */
  doubtAll(): void {
    this.#soon(this.#topics.values());
  }

  /** A message of this tree was lost: reads the tree. */
  doubt(rootId: string): void {
    const topic = this.#topics.get(rootId);
    if (topic !== undefined) this.#soon([topic]);
  }

  /** The root of a job's tree; undefined if there is no such job. */
  async rootOf(jobId: string): Promise<string | undefined> {
    return this.#roots.get(jobId) ?? (await this.#readRoot.load(jobId));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closed.abort();
    for (const topic of this.#topics.values()) topic.end();
  }

  /**
   * Calls `join` with a topic that is up to date, and keeps the topic while what `join` returns is open. A final state is read
   * again, since it ends a watcher at once: the job or tree may have been reopened, and the message still be on its way.
   */
  async use<T>(
    rootId: string,
    join: (topic: Topic) => T | undefined,
    isFinal: (topic: Topic) => boolean = () => false,
    isAgain = false,
  ): Promise<T | undefined> {
    const known = this.#topics.get(rootId);
    const topic = known ?? this.#open(rootId);
    const mustRead = (topic.users === 0 && this.#isOutOfDate(topic)) || (topic.isKnown && isFinal(topic));
    if (known !== undefined && mustRead) topic.ready = this.#load(topic);
    topic.users++;
    let joined: T | undefined;
    try {
      if (await topic.ready) joined = join(topic);
    } catch (error) {
      if (mustRead || isAgain) throw error;
      // What has failed is the read of another newcomer.
      return await this.use(rootId, join, isFinal, true);
    } finally {
      if (joined === undefined) this.unuse(topic);
    }
    return joined;
  }

  /** Topics without watchers are not kept up to date. */
  #isOutOfDate(topic: Topic): boolean {
    return topic.isStale || topic.heardAt < performance.now() - silenceMs || this.#doubtful.has(topic);
  }

  /** Reads a topic because somebody knows a newer state than this server. */
  async refresh(topic: Topic): Promise<void> {
    this.#doubtful.add(topic);
    await this.#repair();
  }

  /** Reads these topics after a random delay, together with all others that come into doubt until then. */
  #soon(topics: Iterable<Topic>): void {
    for (const topic of topics) this.#doubtful.add(topic);
    this.#spreading ??= delay(Math.random() * spreadMs, undefined, { signal: this.#closed.signal })
      .then(() => {
        this.#spreading = undefined;
        return this.#repair();
      })
      .catch(() => undefined);
  }

  unuse(topic: Topic): void {
    topic.users--;
    topic.unusedAt = performance.now();
  }

  #open(rootId: string): Topic {
    const topic = new Topic(rootId);
    this.#topics.set(rootId, topic);
    // Messages arrive before the state is read, so nothing is lost between the two.
    topic.ready = this.#transport.join(rootId).then(() => this.#load(topic));
    return topic;
  }

  async #load(topic: Topic): Promise<boolean> {
    try {
      return await this.#read(topic);
    } catch (error) {
      if (topic.isKnown) {
        // Refuses only whoever came: the others know as much as before.
        topic.ready = Promise.resolve(true);
        this.#doubtful.add(topic);
      } else {
        this.#drop(topic);
      }
      throw error;
    }
  }

  async #read(topic: Topic): Promise<boolean> {
    const before = new Map(topic.jobs);
    const tree = await this.#readTree.load(topic.rootId);
    // The topic may have been dropped meanwhile.
    if (this.#topics.get(topic.rootId) !== topic) return false;
    topic.readAt = performance.now();
    if (tree === undefined) {
      this.#drop(topic);
      return false;
    }
    topic.heardAt = topic.readAt;
    topic.isStale = false;
    for (const { jobId } of tree.jobs) this.#roots.set(jobId, topic.rootId);
    topic.settle(tree, before);
    return true;
  }

  #drop(topic: Topic): void {
    if (this.#topics.get(topic.rootId) !== topic) return;
    this.#topics.delete(topic.rootId);
    this.#doubtful.delete(topic);
    for (const jobId of topic.jobs.keys()) this.#roots.delete(jobId);
    this.#transport.leave(topic.rootId);
    topic.end();
  }

  /** Reads topics that have been silent, and forgets those without watchers for a while. */
  #tend(): void {
    const now = performance.now();
    for (const topic of this.#topics.values()) {
      if (topic.users > 0) {
        if (topic.isInDoubt || topic.heardAt <= now - silenceMs || topic.readAt <= now - readEveryMs)
          this.#doubtful.add(topic);
      } else if (topic.unusedAt <= now - lingerMs) {
        this.#drop(topic);
      }
    }
    void this.#repair();
  }

  /** Resolves once all topics in doubt have been read. */
  #repair(): Promise<void> {
    if (this.#doubtful.size > 0) this.#repairing ??= this.#readDoubtful();
    return this.#repairing ?? Promise.resolve();
  }

  /** Reads one batch after the other, however slow Postgres is, so as to leave connections of the pool to others. */
  async #readDoubtful(): Promise<void> {
    let batch: Topic[] = [];
    try {
      while (this.#doubtful.size > 0) {
        batch = [...this.#doubtful].slice(0, treesPerRead);
        // Before the read, so that a topic that comes into doubt meanwhile is read again.
        for (const topic of batch) this.#doubtful.delete(topic);
        for (const topic of batch) if (topic.users === 0) topic.isStale = true;
        await Promise.all(batch.filter(({ users }) => users > 0).map((topic) => this.#read(topic)));
      }
    } catch (error) {
      for (const topic of batch) this.#doubtful.add(topic);
      this.#logger.warn({ err: error }, 'reading watched trees failed; trying again');
    } finally {
      this.#repairing = undefined;
    }
  }
}
