/**
 * How events reach this server:
 *
 *   fold ─NOTIFY─▶ relay (two servers) ─PUBLISH─▶ Redis ─▶ every server
 *            └── without Redis, or while it fails: straight to each server ──┘
 *
 * A server starts with NOTIFY, and switches to Redis once it hears that a relay is alive there. If it hears none for three
 * seconds, it listens to NOTIFY itself until they return. Both ways overlap during a switch, and whatever may have been lost is
 * announced as a resync: everything that is watched must be read again.
 */
import pg from 'pg';
import type { Logger } from 'pino';
import { Throttle } from '../concurrency/throttle.ts';
import type { RedisConfig } from '../config/redis-url.ts';
import { nameOfSession, type Route } from '../domain/figures/servers.ts';
import { type TreeProgress, treeProgress } from '../domain/progress/progress.ts';
import { DirectConnection, type Query } from './direct-connection.ts';
import { Numbers } from './numbers.ts';
import { Channels, databasePrefix } from './redis-channels.ts';
import { RedisSubscriber } from './redis-subscriber.ts';
import { Relay } from './relay.ts';

export interface Transport {
  /** Resolves once messages arrive, by either way. */
  start(): Promise<void>;
  /** Resolves once messages of this tree arrive here (Redis has confirmed, or every message arrives anyway). Never rejects. */
  join(rootId: string): Promise<void>;
  leave(rootId: string): void;
  /** The active way, for /readyz and logs. */
  readonly route: Route;
  close(): Promise<void>;
}

export interface TransportOptions {
  /** The URL of Postgres itself, not of a pooler. */
  readonly directUrl: string;
  /** Without it, messages come straight from NOTIFY. Without a prefix, the names of the channels contain the id of the database. */
  readonly redis: (RedisConfig & { readonly prefix: string | undefined }) | undefined;
  readonly logger: Logger;
  /** Called for messages of a tree that was joined. */
  readonly onTree: (tree: TreeProgress) => void;
  readonly onWork: (payload: string) => void;
  /** Some tree changed somewhere: called at most four times a second. */
  readonly onActivity: () => void;
  /** A message of this tree was lost: the tree must be read again. */
  readonly onLoss: (rootId: string) => void;
  /** Messages may have been lost: everything that is watched must be read again. */
  readonly onResync: () => void;
  /** Postgres answers again; until `silentUntil`, on the clock of `performance.now()`, it gave no answer. */
  readonly onBack: (silentUntil: number) => void;
}

const activityMs = 250;
/** A relay says that it is alive twice a second, and is replaced within three seconds. */
const silenceMs = 3_000;
/** A single message may be the last one of a relay that is just giving up. */
const messagesToTrust = 2;
const rememberedRelays = 16;
/** For each tree: two relays send everything twice, and may take turns. */
const rememberedTexts = 4;
const rootPattern = /"root": ?"([0-9a-f-]{36})"/;

export class LiveTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #logger: Logger;
  readonly #connection: DirectConnection;
  readonly #channels = new Channels();
  readonly #subscriber: RedisSubscriber | undefined;
  readonly #relay: Relay | undefined;
  readonly #activity: Throttle;
  readonly #relayActivity: Throttle;
  /** The trees that were joined, with their latest messages. */
  readonly #joined = new Map<string, { readonly texts: string[]; readonly numbers: Numbers }>();
  readonly #relays = new Set<string>();
  /** Of NOTIFY: null until the secret in it is known. */
  #workChannel: string | null = null;
  #route: Route = 'notify';
  /** What the session's name says. */
  #told: Route | undefined;
  #listening = false;
  #aliveAt = Number.NEGATIVE_INFINITY;
  #aliveMessages = 0;
  #tickedAt = Number.POSITIVE_INFINITY;
  /** Switching from NOTIFY to Redis: `join` already waits for Redis. */
  #goingOver = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#logger = options.logger;
    this.#activity = new Throttle(activityMs, options.onActivity);
    this.#relayActivity = new Throttle(activityMs, () => this.#relay?.publish(this.#channels.activity, ''));
    this.#connection = new DirectConnection({
      url: options.directUrl,
      logger: options.logger,
      onOpen: (query) => this.#open(query),
      onTick: (query) => this.#tick(query),
      onNotification: (channel, payload) => this.#notified(channel, payload),
      onLost: () => {
        this.#listening = false;
        this.#relay?.lost();
      },
      onBack: options.onBack,
    });
    if (options.redis === undefined) return;
    const shared = { config: options.redis, logger: options.logger };
    this.#relay = new Relay({ ...shared, channels: this.#channels });
    this.#subscriber = new RedisSubscriber({
      ...shared,
      onMessage: (channel, text) => this.#received(channel, text),
      onReady: () => {
        if (this.#route === 'redis') options.onResync();
      },
      onDown: () => {
        this.#aliveMessages = 0;
      },
    });
  }

  get route(): Transport['route'] {
    return this.#route;
  }

  start(): Promise<void> {
    return this.#connection.start();
  }

  async join(rootId: string): Promise<void> {
    if (!this.#joined.has(rootId)) this.#joined.set(rootId, { texts: [], numbers: new Numbers() });
    const confirmed = this.#subscriber?.add(this.#channels.tree(rootId));
    if (this.#route === 'redis' || this.#goingOver) await confirmed;
  }

  leave(rootId: string): void {
    this.#joined.delete(rootId);
    this.#subscriber?.remove(this.#channels.tree(rootId));
  }

  async close(): Promise<void> {
    this.#activity.close();
    this.#relayActivity.close();
    await Promise.all([this.#connection.stop(), this.#relay?.close(), this.#subscriber?.close()]);
  }

  /** Does not wait for Redis, which may be away. */
  async #open(query: Query): Promise<void> {
    this.#told = undefined;
    const { redis } = this.#options;
    if (redis === undefined) return;
    if (this.#channels.usePrefix(redis.prefix ?? (await databasePrefix(query)))) {
      this.#logger.info({ prefix: this.#channels.prefix }, 'channels in Redis');
      this.#subscriber?.clear();
      const { work, alive, activity } = this.#channels;
      for (const channel of [work, alive, activity]) void this.#subscriber?.add(channel);
      for (const rootId of this.#joined.keys()) void this.#subscriber?.add(this.#channels.tree(rootId));
    }
    this.#relay?.start();
    this.#subscriber?.start();
  }

  async #tick(query: Query): Promise<void> {
    await this.#relay?.tick(query);
    await this.#tell(query);
    const now = performance.now();
    // While this process was busy, messages waited to be read.
    if (now - this.#tickedAt > silenceMs) this.#aliveAt = Math.max(this.#aliveAt, now - silenceMs / 2);
    this.#tickedAt = now;
    const silent = now - this.#aliveAt > silenceMs;
    if (silent) this.#aliveMessages = 0;
    const goBack = silent && this.#route === 'redis';
    const wanted = goBack || this.#route === 'notify' || this.#relay?.active === true;
    const changes = wanted !== this.#listening;
    if (changes) await this.#listen(query, wanted);
    else await query('select 1');
    if (goBack) {
      this.#route = 'notify';
      this.#logger.warn('Redis is silent: messages come straight from Postgres until it works again');
    }
    if (goBack || (changes && this.#route === 'notify')) this.#options.onResync();
    if (this.#relay?.active) this.#relay.tellAlive();
    if (this.#route === 'notify' && this.#aliveMessages >= messagesToTrust) void this.#goOver();
  }

  /** Anybody may read which servers there are in the names of their sessions. */
  async #tell(query: Query): Promise<void> {
    const route = this.#route;
    if (this.#told === route) return;
    await query(`select set_config('application_name', $1, false)`, [nameOfSession(route)]);
    this.#told = route;
  }

  async #listen(query: Query, wanted: boolean): Promise<void> {
    // Anybody who may connect to the database may notify and listen, but only its owner can read the names of these channels.
    const [row] = await query<{ secret: string }>('select secret from jobtree.hint_secret');
    if (row === undefined) throw new Error('jobtree.hint_secret has no row');
    this.#workChannel = `jobtree_work_${row.secret}`;
    for (const channel of [`jobtree_progress_${row.secret}`, this.#workChannel]) {
      await query(`${wanted ? 'listen' : 'unlisten'} ${pg.escapeIdentifier(channel)}`);
    }
    this.#listening = wanted;
  }

  /** Switches to Redis, which works. NOTIFY ends a tick later, so nothing is lost between the two. Not awaited, since the ping must not wait. */
  async #goOver(): Promise<void> {
    if (this.#goingOver || !this.#subscriber?.ready) return;
    this.#goingOver = true;
    await this.#subscriber.settled();
    this.#goingOver = false;
    if (!this.#subscriber.ready || this.#aliveMessages < messagesToTrust) return;
    this.#route = 'redis';
    this.#logger.info('messages come from Redis');
  }

  #notified(channel: string, text: string): void {
    const relay = this.#relay?.active ? this.#relay : undefined;
    if (channel === this.#workChannel) {
      relay?.publish(this.#channels.work, text);
      if (this.#route === 'notify') {
        this.#work(text);
        // New jobs send nothing else.
        this.#activity.trigger();
      }
      return;
    }
    const root = rootPattern.exec(text)?.[1];
    if (root === undefined) return;
    if (relay !== undefined) {
      relay.publishTree(root, text);
      this.#relayActivity.trigger();
    }
    if (this.#route === 'notify') {
      this.#tree(root, text);
      this.#activity.trigger();
    }
  }

  #received(channel: string, text: string): void {
    const root = this.#channels.rootOf(channel);
    if (root !== undefined) this.#numbered(root, text);
    else if (channel === this.#channels.work) {
      this.#work(text);
      this.#activity.trigger();
    } else if (channel === this.#channels.activity) this.#activity.trigger();
    else if (channel === this.#channels.alive) this.#heardRelay(text);
  }

  #heardRelay(relay: string): void {
    this.#aliveAt = performance.now();
    this.#aliveMessages++;
    const isNew = !this.#relays.delete(relay);
    this.#relays.add(relay);
    const [oldest] = this.#relays;
    if (this.#relays.size > rememberedRelays && oldest !== undefined) this.#relays.delete(oldest);
    if (isNew && this.#route === 'redis') this.#options.onResync();
  }

  #numbered(root: string, message: string): void {
    const joined = this.#joined.get(root);
    if (joined === undefined) return;
    const { text, isGap } = joined.numbers.take(message);
    if (isGap && this.#route === 'redis') this.#options.onLoss(root);
    this.#tree(root, text);
  }

  /** Does not even parse messages of trees that nobody here has joined. */
  #tree(root: string, text: string): void {
    const texts = this.#joined.get(root)?.texts;
    if (texts === undefined || texts.includes(text)) return;
    texts.push(text);
    if (texts.length > rememberedTexts) texts.shift();
    this.#hand(() => this.#options.onTree(treeProgress.parse(JSON.parse(text))));
  }

  #work(text: string): void {
    this.#hand(() => this.#options.onWork(text));
  }

  #hand(deliver: () => void): void {
    try {
      deliver();
    } catch (error) {
      this.#logger.warn({ err: error }, 'a message could not be read');
    }
  }
}
