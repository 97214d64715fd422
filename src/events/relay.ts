/**
 * The relay from NOTIFY to Redis. Two servers at a time have this role: each holds one of two advisory locks on the very
 * connection that listens, so losing the connection means losing the role. Both publish everything, and receivers drop what they
 * already have, so there is no gap while one of them is replaced.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { RedisConfig } from '../config/redis-url.ts';
import type { Query } from './direct-connection.ts';
import { Numberer } from './numbers.ts';
import type { Channels } from './redis-channels.ts';
import { RedisLink } from './redis-link.ts';

/** `jobt` in ASCII: the class of the two locks. */
export const relayLockClass = 0x6a6f6274;
/** A relay whose Redis has not answered for this long leaves the role to a server whose Redis does. */
const giveUpAfterMs = 1_500;

const takeSlot = `select case when pg_try_advisory_lock(${relayLockClass}, 0) then 0
                              when pg_try_advisory_lock(${relayLockClass}, 1) then 1 end as slot`;

export class Relay {
  readonly #logger: Logger;
  readonly #channels: Channels;
  readonly #link: RedisLink;
  readonly #numberer = new Numberer();
  #slot: number | null = null;
  /** New with each connection to Postgres or Redis: a server that hears a new id may have missed messages. */
  #id: string | undefined;

  constructor(options: { config: RedisConfig; channels: Channels; logger: Logger }) {
    this.#logger = options.logger;
    this.#channels = options.channels;
    this.#link = new RedisLink({
      config: options.config,
      purpose: 'publish',
      logger: options.logger,
      // Nobody subscribes to this channel. A ping would not reveal that publishing is forbidden.
      probe: (redis) => redis.publish(this.#channels.probe, ''),
      onUp: () => undefined,
      onDown: () => this.#forgetId(),
    });
  }

  get active(): boolean {
    return this.#slot !== null;
  }

  start(): void {
    this.#link.start();
  }

  /** Takes a free role, or gives up one that it can't fill. */
  async tick(query: Query): Promise<void> {
    if (this.#slot === null) {
      if (this.#link.redis === undefined) return;
      const [row] = await query<{ slot: number | null }>(takeSlot);
      this.#slot = row?.slot ?? null;
      if (this.#slot !== null) this.#logger.info({ slot: this.#slot }, 'passing notifications on to Redis');
    } else if (this.#link.redis === undefined && performance.now() - this.#link.answeredAt > giveUpAfterMs) {
      await query('select pg_advisory_unlock($1, $2)', [relayLockClass, this.#slot]);
      this.lost();
      this.#logger.warn('Redis takes nothing from this server: another one should pass notifications on');
    }
  }

  /** The connection to Postgres is lost, and the role with it. */
  lost(): void {
    this.#slot = null;
    this.#forgetId();
  }

  /** Announces that this relay has been listening until now. */
  tellAlive(): void {
    this.publish(this.#channels.alive, this.#ownId());
  }

  /** Publishes what was notified for a tree. */
  publishTree(root: string, text: string): void {
    this.publish(this.#channels.tree(root), this.#numberer.add(this.#ownId(), root, text));
  }

  /** Messages are hints: one that can't be published is lost, and once publishing works again everybody reads again. */
  publish(channel: string, text: string): void {
    this.#link.redis?.publish(channel, text).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  #ownId(): string {
    this.#id ??= randomUUID();
    return this.#id;
  }

  #forgetId(): void {
    this.#id = undefined;
    this.#numberer.clear();
  }
}
