/**
 * Carries what happens to who watches it, on this server. Progress has a topic for each watched tree, which knows the newest
 * state of all its jobs: messages are absolute, so they may be lost, repeated or overtaken on their way. A topic that stays
 * silent is read again, and so are all of them when the transport may have lost messages.
 */
import { setTimeout as delay } from 'node:timers/promises';
import DataLoader from 'dataloader';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { isNewer, type JobProgress, readRoots, readTrees, type TreeProgress } from '../domain/progress.ts';
import { LivePage, type Page, type PageRow } from './live-page.ts';
import { LiveProgress } from './live-progress.ts';
import { Semaphore } from './semaphore.ts';
import type { Transport } from './transport.ts';

interface Topic {
  readonly rootId: string;
  /** Resolves when the state is known and news of it arrive; false if there is no such tree. */
  ready: Promise<boolean>;
  readonly jobs: Map<string, JobProgress>;
  /** How many of the jobs that are known are not complete. Counted here, since messages may overtake each other. */
  openJobs: number;
  readonly trees: Set<LiveProgress>;
  readonly byJob: Map<string, Set<LiveProgress>>;
  readonly pages: Set<{ poke(): void; end(): void }>;
  /** How many watch it, or are about to. */
  users: number;
  unusedAt: number;
  heardAt: number;
}

const silenceMs = 5_000;
/** A topic that nobody watches any more is kept for this long: whose connection was cut comes back. */
const lingerMs = 10_000;
const treesPerRead = 500;
/** However many pages are watched, the pool of connections is for others too. */
const pagesAtOnce = 2;
/** After a lost connection every server reads at once: spread it. */
const spreadMs = 250;

export class Hub {
  readonly #transport: Pick<Transport, 'join' | 'leave'>;
  readonly #logger: Logger;
  readonly #topics = new Map<string, Topic>();
  /** The jobs of all topics. */
  readonly #roots = new Map<string, string>();
  readonly #pages = new Set<{ poke(): void; end(): void }>();
  /** What has to be read again. */
  readonly #doubtful = new Set<Topic>();
  #repairing = false;
  readonly #pageSlots = new Semaphore(pagesAtOnce);
  readonly #timer: NodeJS.Timeout;
  readonly #readTree: DataLoader<string, TreeProgress | undefined>;
  readonly #readRoot: DataLoader<string, string | undefined>;
  readonly #closed = new AbortController();

  constructor(options: { database: Database; transport: Pick<Transport, 'join' | 'leave'>; logger: Logger }) {
    const { database, transport, logger } = options;
    this.#transport = transport;
    this.#logger = logger;
    // Those who come in one turn of the event loop share a query.
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

  /** A state of some or all jobs of a tree, from the transport. */
  publish(tree: TreeProgress): void {
    const topic = this.#topics.get(tree.root);
    if (topic !== undefined) this.#merge(topic, tree);
  }

  /** Some tree has changed somewhere. */
  activity(): void {
    for (const page of this.#pages) page.poke();
  }

  /** The transport may have lost messages: read everything that is watched. */
  reread(): void {
    this.activity();
    void delay(Math.random() * spreadMs, undefined, { signal: this.#closed.signal })
      .then(() => {
        for (const topic of this.#topics.values()) this.#doubtful.add(topic);
        void this.#repair();
      })
      .catch(() => undefined);
  }

  /** The root of a job's tree; undefined if there is no such job. */
  async rootOf(jobId: string): Promise<string | undefined> {
    return this.#roots.get(jobId) ?? (await this.#readRoot.load(jobId));
  }

  /** Undefined if there is no such tree. */
  async watchTree(rootId: string, intervalMs: number): Promise<LiveProgress | undefined> {
    return this.#use(rootId, (topic) => {
      const live = new LiveProgress({
        rootId,
        intervalMs,
        onClose: () => {
          topic.trees.delete(live);
          this.#unuse(topic);
        },
      });
      topic.trees.add(live);
      live.offer(topic.jobs.values(), topic.openJobs);
      if (isComplete(topic)) live.end();
      return live;
    });
  }

  /** Undefined if there is no such job in this tree. */
  async watchJob(rootId: string, jobId: string, intervalMs: number): Promise<LiveProgress | undefined> {
    return this.#use(rootId, (topic) => {
      const job = topic.jobs.get(jobId);
      if (job === undefined) return undefined;
      const watchers = topic.byJob.get(jobId) ?? new Set();
      topic.byJob.set(jobId, watchers);
      const live = new LiveProgress({
        rootId,
        intervalMs,
        onClose: () => {
          watchers.delete(live);
          if (watchers.size === 0 && topic.byJob.get(jobId) === watchers) topic.byJob.delete(jobId);
          this.#unuse(topic);
        },
      });
      watchers.add(live);
      live.offer([job], topic.openJobs);
      if (job.completedAt !== null) live.end();
      return live;
    });
  }

  /** A page that changes with one tree; undefined if there is no such tree. */
  async watchPageOfTree<Row extends PageRow>(
    rootId: string,
    read: () => Promise<Page<Row>>,
    intervalMs: number,
  ): Promise<LivePage<Row> | undefined> {
    return this.#use(rootId, (topic) => {
      const onClose = () => {
        topic.pages.delete(page);
        this.#unuse(topic);
      };
      const page = new LivePage({ read, intervalMs, onClose, slots: this.#pageSlots, logger: this.#logger });
      topic.pages.add(page);
      return page;
    });
  }

  /** A page that any tree may change. */
  watchPage<Row extends PageRow>(read: () => Promise<Page<Row>>, intervalMs: number): LivePage<Row> {
    const onClose = () => this.#pages.delete(page);
    const page = new LivePage({ read, intervalMs, onClose, slots: this.#pageSlots, logger: this.#logger });
    this.#pages.add(page);
    return page;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closed.abort();
    for (const topic of this.#topics.values()) endAll(topic);
    for (const page of [...this.#pages]) page.end();
  }

  /** Gives a topic that is up to date to `join`, and keeps it while what `join` returns is open. */
  async #use<T>(rootId: string, join: (topic: Topic) => T | undefined): Promise<T | undefined> {
    let topic = this.#topics.get(rootId);
    if (topic === undefined) {
      topic = this.#open(rootId);
    } else if (topic.users === 0 && topic.heardAt < Date.now() - silenceMs) {
      topic.ready = this.#load(topic);
    }
    topic.users++;
    let joined: T | undefined;
    try {
      if (await topic.ready) joined = join(topic);
    } finally {
      if (joined === undefined) this.#unuse(topic);
    }
    return joined;
  }

  #unuse(topic: Topic): void {
    topic.users--;
    topic.unusedAt = Date.now();
  }

  #open(rootId: string): Topic {
    const topic: Topic = {
      rootId,
      ready: Promise.resolve(false),
      jobs: new Map(),
      openJobs: 0,
      trees: new Set(),
      byJob: new Map(),
      pages: new Set(),
      users: 0,
      unusedAt: 0,
      heardAt: 0,
    };
    this.#topics.set(rootId, topic);
    // News arrive before the state is read, so nothing falls between the two.
    topic.ready = this.#transport.join(rootId).then(() => this.#load(topic));
    return topic;
  }

  async #load(topic: Topic): Promise<boolean> {
    try {
      return await this.#read(topic);
    } catch (error) {
      this.#drop(topic);
      throw error;
    }
  }

  async #read(topic: Topic): Promise<boolean> {
    const tree = await this.#readTree.load(topic.rootId);
    // It may have been forgotten meanwhile.
    if (this.#topics.get(topic.rootId) !== topic) return false;
    if (tree === undefined) this.#drop(topic);
    else this.#merge(topic, tree);
    return tree !== undefined;
  }

  #drop(topic: Topic): void {
    if (this.#topics.get(topic.rootId) !== topic) return;
    this.#topics.delete(topic.rootId);
    this.#doubtful.delete(topic);
    for (const jobId of topic.jobs.keys()) this.#roots.delete(jobId);
    this.#transport.leave(topic.rootId);
    endAll(topic);
  }

  #merge(topic: Topic, tree: TreeProgress): void {
    topic.heardAt = Date.now();
    const news = tree.jobs.filter((job) => isNewer(job, topic.jobs.get(job.jobId)));
    for (const job of news) {
      const known = topic.jobs.get(job.jobId);
      topic.openJobs +=
        Number(job.completedAt === null) - Number(known !== undefined && known.completedAt === null);
      topic.jobs.set(job.jobId, job);
      this.#roots.set(job.jobId, topic.rootId);
    }
    for (const job of news) {
      for (const live of topic.byJob.get(job.jobId) ?? []) {
        live.offer([job], topic.openJobs);
        if (job.completedAt !== null) live.end();
      }
    }
    for (const live of topic.trees) live.offer(news, topic.openJobs);
    if (isComplete(topic)) for (const live of topic.trees) live.end();
    for (const page of topic.pages) page.poke();
  }

  /** Reads again what has been silent, and forgets what nobody has watched for a while. */
  #tend(): void {
    const now = Date.now();
    for (const topic of this.#topics.values()) {
      if (topic.users > 0) {
        if (topic.heardAt <= now - silenceMs) this.#doubtful.add(topic);
      } else if (topic.unusedAt <= now - lingerMs) {
        this.#drop(topic);
      }
    }
    void this.#repair();
  }

  /** A batch after the other, however slow Postgres is: all connections of the pool may be wanted elsewhere. */
  async #repair(): Promise<void> {
    if (this.#repairing) return;
    this.#repairing = true;
    let batch: Topic[] = [];
    try {
      while (this.#doubtful.size > 0) {
        batch = [...this.#doubtful].slice(0, treesPerRead);
        // Before they are read, so that who comes into doubt meanwhile is read again.
        for (const topic of batch) this.#doubtful.delete(topic);
        await Promise.all(batch.filter(({ users }) => users > 0).map((topic) => this.#read(topic)));
      }
    } catch (error) {
      for (const topic of batch) this.#doubtful.add(topic);
      this.#logger.warn({ err: error }, 'reading watched trees failed; it is tried again');
    } finally {
      this.#repairing = false;
    }
  }
}

function isComplete(topic: Topic): boolean {
  return topic.openJobs === 0;
}

function endAll(topic: Topic): void {
  for (const live of topic.trees) live.end();
  for (const watchers of topic.byJob.values()) for (const live of watchers) live.end();
  for (const page of topic.pages) page.end();
}
