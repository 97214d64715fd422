/**
 * The Redis channels that this server subscribes to. It keeps the list, so that a new connection subscribes to all of them again.
 * Commands go out in batches, one per turn of the event loop.
 */
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { RedisConfig } from '../config/redis-url.ts';
import { RedisLink } from './redis-link.ts';

export interface RedisSubscriberOptions {
  readonly config: RedisConfig;
  readonly logger: Logger;
  readonly onMessage: (channel: string, text: string) => void;
  /** Redis has confirmed all subscriptions on a new connection: messages before that are lost. */
  readonly onReady: () => void;
  readonly onDown: () => void;
}

const channelsPerCommand = 512;

export class RedisSubscriber {
  readonly #options: RedisSubscriberOptions;
  readonly #link: RedisLink;
  readonly #wanted = new Set<string>();
  /** Channels that were added or removed since the last batch. */
  readonly #changed = new Set<string>();
  /** Channels that were sent to Redis on this connection: each promise resolves once Redis has confirmed, or the connection is lost. */
  readonly #asked = new Map<string, Promise<void>>();
  readonly #unconfirmed = new Set<Promise<void>>();
  #batch: Promise<void> | undefined;
  #ready = false;

  constructor(options: RedisSubscriberOptions) {
    this.#options = options;
    this.#link = new RedisLink({
      config: options.config,
      purpose: 'subscribe',
      logger: options.logger,
      probe: (redis) => redis.ping(),
      onUp: (redis) => void this.#subscribeAll(redis),
      onDown: () => {
        this.#ready = false;
        this.#asked.clear();
        options.onDown();
      },
    });
  }

  /** Whether everything wanted when the connection came up is confirmed. */
  get ready(): boolean {
    return this.#ready;
  }

  start(): void {
    this.#link.start();
  }

  /** Resolves once Redis has confirmed; at once while Redis is away. Never rejects. */
  async add(channel: string): Promise<void> {
    this.#wanted.add(channel);
    this.#changed.add(channel);
    await this.#nextBatch();
    await this.#asked.get(channel);
  }

  remove(channel: string): void {
    if (!this.#wanted.delete(channel)) return;
    this.#changed.add(channel);
    void this.#nextBatch();
  }

  /** Resolves once Redis has confirmed everything that is wanted now, or the connection is lost. */
  async settled(): Promise<void> {
    await this.#nextBatch();
    await Promise.all(this.#unconfirmed);
  }

  /** Forgets all channels, and drops the connection. */
  clear(): void {
    this.#wanted.clear();
    this.#changed.clear();
    this.#link.drop(new Error('other channels are wanted'));
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  async #subscribeAll(redis: Redis): Promise<void> {
    redis.on('message', this.#options.onMessage);
    for (const channel of this.#wanted) this.#changed.add(channel);
    await this.settled();
    if (this.#link.redis !== redis) return;
    this.#ready = true;
    this.#options.onReady();
  }

  /** Resolves when everything that is wanted now has been sent. */
  #nextBatch(): Promise<void> {
    this.#batch ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#batch = undefined;
        this.#send();
        resolve();
      });
    });
    return this.#batch;
  }

  #send(): void {
    const redis = this.#link.redis;
    const changed = [...this.#changed];
    this.#changed.clear();
    if (redis === undefined) return;
    const removed = changed.filter((channel) => !this.#wanted.has(channel) && this.#asked.delete(channel));
    for (const channels of batches(removed)) redis.unsubscribe(...channels).catch(() => undefined);
    const added = changed.filter((channel) => this.#wanted.has(channel) && !this.#asked.has(channel));
    for (const channels of batches(added)) {
      const confirmed = redis
        .subscribe(...channels)
        .catch((error: unknown) => {
          if (this.#link.redis === redis) this.#link.drop(error);
        })
        .then(() => {
          this.#unconfirmed.delete(confirmed);
        });
      this.#unconfirmed.add(confirmed);
      for (const channel of channels) this.#asked.set(channel, confirmed);
    }
  }
}

function* batches(channels: readonly string[]): Generator<readonly string[]> {
  for (let i = 0; i < channels.length; i += channelsPerCommand)
    yield channels.slice(i, i + channelsPerCommand);
}
