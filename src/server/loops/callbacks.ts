/**
 * Sends due callbacks. Every server does: the database leases each delivery to one of them, and what a dying server was sending is sent again by
 * another. One host may take only a few of the places, so a host that hangs does not hold up the others.
 */
import type { Logger } from 'pino';
import {
  type LeasedDelivery,
  leaseDeliveries,
  pruneDeliveries,
  recordDelivery,
} from '../../domain/callbacks/deliveries.ts';
import { sealSecrets } from '../../domain/callbacks/endpoints.ts';
import type { Engine } from '../../domain/engine/engine.ts';
import { sendCallback } from './callback-request.ts';
import { Loop, pollMs } from './loop.ts';

const pruneEveryMs = 60_000;
const mostAtOnce = 64;
const mostPerHost = 4;

export class Callbacks {
  readonly #engine: Engine;
  readonly #timeoutMs: number;
  readonly #logger: Logger;
  readonly #underWay = new Map<Promise<void>, LeasedDelivery>();
  readonly #loop: Loop;
  #pruneAt = 0;

  constructor(options: { engine: Engine; timeoutMs: number; logger: Logger }) {
    this.#engine = options.engine;
    this.#timeoutMs = options.timeoutMs;
    this.#logger = options.logger;
    this.#loop = new Loop({
      look: () => this.#look(),
      logger: options.logger,
      failure: 'callbacks could not be processed; trying again',
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Aborts what is being sent: its lease ends soon, and another server sends it again. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all(this.#underWay.keys());
  }

  async #look(): Promise<number> {
    await this.#sendSome();
    if (performance.now() >= this.#pruneAt) {
      await sealSecrets(this.#engine);
      if (!(await pruneDeliveries(this.#engine))) this.#pruneAt = performance.now() + pruneEveryMs;
    }
    return pollMs;
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
        // A place is free, and new deliveries may be due.
        this.#loop.poke();
      });
      this.#underWay.set(sent, delivery);
    }
  }

  async #send(delivery: LeasedDelivery): Promise<void> {
    const { messageId, endpoint, attempt } = delivery;
    const startedAt = performance.now();
    const answer = await sendCallback(delivery, {
      addresses: this.#engine.callbackAddresses,
      secrets: this.#engine.secrets,
      timeoutMs: this.#timeoutMs,
      signal: this.#loop.signal,
    });
    if (this.#loop.signal.aborted && answer.error !== undefined) return;
    if (answer.error === undefined)
      this.#logger.debug({ messageId, endpoint, attempt }, 'a callback was delivered');
    else
      this.#logger.warn(
        { messageId, endpoint, attempt, reason: answer.error },
        'a callback was not delivered',
      );
    const tookMs = Math.round(performance.now() - startedAt);
    await recordDelivery(this.#engine, delivery, { ...answer, tookMs }).catch((error: Error) => {
      this.#logger.warn(
        { err: error, messageId },
        'the outcome of a callback was not saved; it will be sent again',
      );
    });
  }
}
