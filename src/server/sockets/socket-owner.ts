/** To whom a WebSocket is counted: to its address until its client authenticates, and then to the caller. */
import type { Caller } from '../../domain/access/rights.ts';
import type { Charge, SubscriptionCosts } from '../execution/subscription-costs.ts';
import { tooManyConnections } from '../limits/busy.ts';
import type { Quota, Share } from '../limits/quota.ts';
import type { Admission } from '../rights/admission.ts';
import { type Accounted, ownerOf } from '../rights/owners.ts';

export class SocketOwner {
  readonly #address: string;
  readonly #connections: Quota;
  readonly #costs: SubscriptionCosts;
  #current: Accounted;
  #caller: Caller | undefined;
  #place: Share;
  #charge: Charge = () => undefined;

  constructor(address: string, connections: Quota, costs: SubscriptionCosts) {
    this.#address = address;
    this.#connections = connections;
    this.#costs = costs;
    this.#current = ownerOf(undefined, () => address);
    this.#place = connections.share(this.#current);
    this.#place.set(1);
  }

  get current(): Accounted {
    return this.#current;
  }

  /** Undefined until the client authenticates, and if each operation does so. */
  get caller(): Caller | undefined {
    return this.#caller;
  }

  /** @throws if the caller has too many connections */
  become({ caller }: Admission): void {
    this.#current = ownerOf(caller, () => this.#address);
    const place = this.#connections.share(this.#current);
    this.#place.release();
    if (place.take() !== undefined) throw tooManyConnections();
    this.#place = place;
    this.#caller = caller;
    this.openAccount();
  }

  /** From now on subscriptions have a cost. */
  openAccount(): void {
    this.#charge = this.#costs.open(this.#current);
  }

  charge(cost: number): ReturnType<Charge> {
    return this.#charge(cost);
  }

  release(): void {
    this.#place.release();
  }
}
