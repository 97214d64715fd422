/** Delivers events to those who watch, on this server. Each watched tree has a topic; pages and queries may change with any tree. */
import type { Logger } from 'pino';
import type { Owner } from '../concurrency/fair-queue.ts';
import { FairSemaphore } from '../concurrency/fair-semaphore.ts';
import type { TreeProgress } from '../domain/progress/progress.ts';
import { LivePage, type LivePageOptions, type Page, type PageRow } from './live-page.ts';
import { LiveProgress } from './live-progress.ts';
import { LiveQuery } from './live-query.ts';
import type { Topic, WatchedPage } from './topic.ts';
import { Topics, type TopicsOptions } from './topics.ts';

/** Limits how many connections of the pool watched pages use, since others need them too. */
const pagesAtOnce = 2;
/** A page that takes longer to read has the turns of several. */
const pageTurnMs = 10;

export class Hub {
  readonly #logger: Logger;
  readonly #topics: Topics;
  readonly #pages = new Set<WatchedPage>();
  readonly #pageTurns = new FairSemaphore(pagesAtOnce, { turnMs: pageTurnMs, isSerial: true, inOrder: true });

  constructor(options: TopicsOptions) {
    this.#logger = options.logger;
    this.#topics = new Topics(options);
  }

  /** Takes the state of some or all jobs of a tree, from the transport. */
  publish(tree: TreeProgress): void {
    this.#topics.publish(tree);
  }

  /** A tree has changed somewhere. */
  activity(): void {
    for (const page of this.#pages) page.poke();
  }

  /** The transport may have lost messages: reads everything that is watched. */
  reread(): void {
    this.activity();
    this.#topics.doubtAll();
  }

  /** A message of this tree was lost: reads the tree. */
  doubt(rootId: string): void {
    this.#topics.doubt(rootId);
  }

  /** The root of a job's tree; undefined if there is no such job. */
  rootOf(jobId: string): Promise<string | undefined> {
    return this.#topics.rootOf(jobId);
  }

  /** Returns undefined if there is no such tree. */
  async watchTree(rootId: string, intervalMs: number): Promise<LiveProgress | undefined> {
    const join = (topic: Topic) => {
      const live = new LiveProgress({
        rootId,
        intervalMs,
        refresh: () => this.#topics.refresh(topic),
        onClose: () => {
          topic.trees.delete(live);
          this.#topics.unuse(topic);
        },
      });
      topic.trees.add(live);
      live.offer(topic.jobs.values(), topic.openJobs);
      if (topic.isFinal) live.complete();
      return live;
    };
    return this.#topics.use(rootId, join, (topic) => topic.isFinal);
  }

  /** Returns undefined if there is no such job in this tree. */
  async watchJob(rootId: string, jobId: string, intervalMs: number): Promise<LiveProgress | undefined> {
    const join = (topic: Topic) => {
      const job = topic.jobs.get(jobId);
      if (job === undefined) return undefined;
      const watchers = topic.byJob.get(jobId) ?? new Set();
      topic.byJob.set(jobId, watchers);
      const live = new LiveProgress({
        rootId,
        intervalMs,
        refresh: () => this.#topics.refresh(topic),
        onClose: () => {
          watchers.delete(live);
          if (watchers.size === 0 && topic.byJob.get(jobId) === watchers) topic.byJob.delete(jobId);
          this.#topics.unuse(topic);
        },
      });
      watchers.add(live);
      live.offer([job], topic.openJobs);
      if (topic.isJobFinal(jobId)) live.complete();
      return live;
    };
    return this.#topics.use(rootId, join, (topic) => topic.isJobFinal(jobId));
  }

  /** A page that changes with one tree; undefined if there is no such tree. */
  async watchPageOfTree<Row extends PageRow>(
    rootId: string,
    read: () => Promise<Page<Row>>,
    intervalMs: number,
    owner: Owner,
  ): Promise<LivePage<Row> | undefined> {
    return this.#topics.use(rootId, (topic) => {
      const onClose = () => {
        topic.pages.delete(page);
        this.#topics.unuse(topic);
      };
      const page = this.#page({ read, intervalMs, owner, onClose });
      topic.pages.add(page);
      return page;
    });
  }

  /** A page that any tree may change. */
  watchPage<Row extends PageRow>(
    read: () => Promise<Page<Row>>,
    intervalMs: number,
    owner: Owner,
  ): LivePage<Row> {
    const onClose = () => this.#pages.delete(page);
    const page = this.#page({ read, intervalMs, owner, onClose });
    this.#pages.add(page);
    return page;
  }

  /** A query that any change may answer anew. */
  watchQuery(everyMs: number): LiveQuery {
    const query = new LiveQuery({ everyMs, onClose: () => this.#pages.delete(query) });
    this.#pages.add(query);
    return query;
  }

  #page<Row extends PageRow>(options: Omit<LivePageOptions<Row>, 'turns' | 'logger'>): LivePage<Row> {
    return new LivePage({ ...options, turns: this.#pageTurns, logger: this.#logger });
  }

  close(): void {
    this.#topics.close();
    for (const page of [...this.#pages]) page.end();
  }
}
