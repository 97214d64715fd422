/**
 * The relay from NOTIFY to Redis. Two servers at a time have the role: each holds one of two advisory locks on the very
 * connection that listens, so losing the connection is losing the role. Both publish everything, and receivers drop what
 * they have: so there is no gap while one of them is replaced.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { RedisConfig } from '../redis-url.ts';
import type { Query } from './direct-connection.ts';
import { Numberer } from './numbers.ts';
import type { Channels } from './redis-channels.ts';
import { RedisLink } from './redis-link.ts';

/** `jobt`, as the class of the two locks. */
export const relayLockClass = 0x6a6f6274;
/** A relay whose Redis has not answered for so long leaves the role to a server that has one. */
const giveUpAfterMs = 1_500;

const takeSlot = `select case when pg_try_advisory_lock(${relayLockClass}, 0) then 0
                              when pg_try_advisory_lock(${relayLockClass}, 1) then 1 end as slot`;

export class Relay {
  readonly #logger: Logger;
  readonly #channels: Channels;
  readonly #link: RedisLink;
  readonly #numberer = new Numberer();
  #slot: number | null = null;
  /** New with each connection to Postgres or Redis: whoever hears a new one may have missed messages. */
  #id: string | undefined;

  constructor(options: { config: RedisConfig; channels: Channels; logger: Logger }) {
    this.#logger = options.logger;
    this.#channels = options.channels;
    this.#link = new RedisLink({
      config: options.config,
      purpose: 'publish',
      logger: options.logger,
      // Nobody listens to it. A ping would not tell that publishing is forbidden.
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

  /** Takes a role that is free, or gives up one that it can't fill. */
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

  /** The connection to Postgres is gone, and the role with it. */
  lost(): void {
    this.#slot = null;
    this.#forgetId();
  }

  /** Says that it has listened until now. */
  beat(): void {
    this.publish(this.#channels.beat, this.#ownId());
  }

  /** What was notified of a tree. */
  publishTree(root: string, text: string): void {
    this.publish(this.#channels.tree(root), this.#numberer.add(this.#ownId(), root, text));
  }

  /** Messages are hints: one that can't be published is lost, and everybody reads again once it works. */
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
