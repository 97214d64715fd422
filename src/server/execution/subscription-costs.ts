/**
 * Limits the total cost of a caller's open subscriptions. Each costs what the schema says of its operation: a page by its rows, hints by their
 * types. Without a limit, a thousand large pages of one caller would delay everybody else's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExecutionArgs, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Owner } from '../../concurrency/fair-queue.ts';
import type { Services } from '../../schema/core/services.ts';
import { costOf, tooCostly, turnsOf } from '../limits/cost-of.ts';
import { Quota, type Share } from '../limits/quota.ts';
import type { OwnerOf } from '../rights/owners.ts';

/** The part of its caller's limit that one connection may use. */
const shareOfConnection = 0.25;
/** However little a subscription reads, its reader has to be kept. */
const leastCost = 100;

/** Counts a subscription until the returned function is called; returns undefined if it would exceed a limit. */
export type Charge = (cost: number) => (() => void) | undefined;

export class SubscriptionCosts {
  readonly #most: number;
  readonly #ownerOf: OwnerOf;
  readonly #ofCallers: Quota;
  readonly #places: Quota;

  constructor(options: { most: number; places: Quota; ownerOf: OwnerOf }) {
    this.#most = options.most;
    this.#places = options.places;
    this.#ownerOf = options.ownerOf;
    this.#ofCallers = new Quota({ mostPerCaller: options.most });
  }

  /** Counts the subscriptions of one connection. */
  open(owner: Owner): Charge {
    let open = 0;
    return (cost) => {
      if (open + cost > this.#most * shareOfConnection) return undefined;
      const share = this.#ofCallers.share(owner);
      if (share.take(cost) !== undefined) return undefined;
      open += cost;
      return () => {
        open -= share.held;
        share.release();
      };
    };
  }

  readonly plugin: Plugin = {
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const cost = costOf(args) ?? leastCost;
      const context = args.contextValue as unknown as Services;
      const { maxQueryCost } = context;
      if (cost > maxQueryCost) return setResultAndStopExecution({ errors: [tooCostly(cost, maxQueryCost)] });
      Object.assign(context, { turns: turnsOf(cost) });
      const place = this.#takePlace(args);
      if (place === undefined) {
        const extensions = { code: 'TOO_MANY_OPERATIONS', http: { status: 429 } };
        const message = 'This caller or its tenant has as many subscriptions as it may.';
        return setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions })] });
      }
      if (this.#charge(args, Math.max(leastCost, cost))) return;
      place.release();
      const extensions = { code: 'TOO_MANY_OPERATIONS', http: { status: 429 } };
      const message = `The subscriptions of this caller would cost too much together: a caller may have ${this.#most.toLocaleString('en')}, and a connection a quarter of that.`;
      setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions })] });
    },
  };

  /** Takes a place until the subscription ends. */
  #takePlace({ contextValue }: ExecutionArgs): Share | undefined {
    const { engine, caller, whenEnded, res } = contextValue as Services & {
      whenEnded?: (call: () => void) => void;
      res?: ServerResponse;
    };
    const { limits } = caller;
    const place = this.#places.share({ tenant: engine.tenant, account: engine.account, limits } as Owner);
    if (place.take() !== undefined) return undefined;
    const end = () => place.release();
    if (whenEnded !== undefined) whenEnded(end);
    else res?.once('close', end);
    return place;
  }

  /** Returns whether there was room. A socket counts its operations itself; an event stream has one, which ends with it. */
  #charge({ contextValue }: ExecutionArgs, cost: number): boolean {
    const { charge, req, res } = contextValue as {
      charge?: (cost: number) => boolean;
      req?: IncomingMessage;
      res?: ServerResponse;
    };
    if (charge !== undefined) return charge(cost);
    if (req === undefined || res === undefined) throw new Error('A subscription on no connection.');
    const end = this.open(this.#ownerOf(req))(cost);
    if (end !== undefined) res.once('close', end);
    return end !== undefined;
  }
}
