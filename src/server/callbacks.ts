/**
 * Sends what is due to the endpoints of callbacks. Every server does it: deliveries are leased in the database, so that none is sent by two
 * of them, and what a server that dies was at is sent again. A host that hangs has only a few of the places, so the others go on.
 */
import type { Logger } from 'pino';
import {
  type LeasedDelivery,
  leaseDeliveries,
  noteDelivery,
  pruneDeliveries,
} from '../domain/callback-deliveries.ts';
import type { Engine } from '../domain/engine.ts';
import { Signal } from '../events/signal.ts';
import { sendCallback } from './callback-request.ts';

/** So often it looks for what is due. */
const pollMs = 1_000;
const pruneEveryMs = 60_000;
const mostAtOnce = 64;
const mostPerHost = 4;

export class Callbacks {
  readonly #engine: Engine;
  readonly #timeoutMs: number;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  readonly #underWay = new Map<Promise<void>, LeasedDelivery>();
  /** A place became free since it looked last. */
  #freed = false;
  readonly #woken = new Signal();
  #loop: Promise<void> | undefined;
  #pruneAt = 0;

  constructor(options: { engine: Engine; timeoutMs: number; logger: Logger }) {
    this.#engine = options.engine;
    this.#timeoutMs = options.timeoutMs;
    this.#logger = options.logger;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** What is under way is broken off: its lease is over soon, and another server sends it again. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#woken.fire();
    await this.#loop;
    await Promise.all(this.#underWay.keys());
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#freed = false;
      try {
        await this.#sendSome();
        if (performance.now() >= this.#pruneAt && !(await pruneDeliveries(this.#engine)))
          this.#pruneAt = performance.now() + pruneEveryMs;
      } catch (error) {
        this.#logger.warn({ err: error }, 'callbacks could not be looked at; it is tried again');
      }
      // There may be something new by then.
      if (!this.#freed && !signal.aborted) await this.#woken.wait(pollMs);
    }
  }

  async #sendSome(): Promise<void> {
    const limit = mostAtOnce - this.#underWay.size;
    if (limit === 0) return;
    const deliveries = await leaseDeliveries(this.#engine, {
      limit,
      hostLimit: mostPerHost,
      timeoutMs: this.#timeoutMs,
      busyHosts: Array.from(this.#underWay.values(), ({ host }) => host),
    });
    for (const delivery of deliveries) {
      const sent = this.#send(delivery).finally(() => {
        this.#underWay.delete(sent);
        this.#freed = true;
        this.#woken.fire();
      });
      this.#underWay.set(sent, delivery);
    }
  }

  async #send(delivery: LeasedDelivery): Promise<void> {
    const { messageId, endpoint, attempt } = delivery;
    const startedAt = performance.now();
    const answer = await sendCallback(delivery, {
      addresses: this.#engine.callbackAddresses,
      timeoutMs: this.#timeoutMs,
      signal: this.#stopped.signal,
    });
    if (this.#stopped.signal.aborted && answer.error !== undefined) return;
    if (answer.error === undefined)
      this.#logger.debug({ messageId, endpoint, attempt }, 'a callback was delivered');
    else
      this.#logger.warn(
        { messageId, endpoint, attempt, reason: answer.error },
        'a callback was not delivered',
      );
    const tookMs = Math.round(performance.now() - startedAt);
    await noteDelivery(this.#engine, delivery, { ...answer, tookMs }).catch((error: Error) => {
      this.#logger.warn({ err: error, messageId }, 'what came of a callback was not noted; it is sent again');
    });
  }
}
