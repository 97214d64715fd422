/**
 * What the subscriptions of a client cost, for as long as they are open. Each is counted as the schema counts its operation: a page
 * by its rows, hints by their types. Without a bound a thousand large pages of one client would have all readers of pages wait
 * for theirs.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { complexityFromQuery } from '@pothos/plugin-complexity';
import { type ExecutionArgs, GraphQLError, getOperationAST, Kind } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Services } from '../schema/builder.ts';
import type { Addresses } from './addresses.ts';

/** One connection may have so much of what its address may. */
const shareOfConnection = 0.25;

/** What one connection has open. */
export interface Account {
  /** Counts a subscription until the function is called that it gives; undefined if it would be too much. */
  take(cost: number): (() => void) | undefined;
  /** The connection is closed, and all that was open on it. */
  close(): void;
}

export class SubscriptionCosts {
  readonly #most: number;
  readonly #addresses: Addresses;
  readonly #ofAddress = new Map<string, number>();

  constructor(options: { most: number; addresses: Addresses }) {
    this.#most = options.most;
    this.#addresses = options.addresses;
  }

  open(request: IncomingMessage): Account {
    const address = this.#addresses.addressOf(request);
    let open = 0;
    let isClosed = false;
    const add = (cost: number) => {
      open += cost;
      const all = (this.#ofAddress.get(address) ?? 0) + cost;
      if (all <= 0) this.#ofAddress.delete(address);
      else this.#ofAddress.set(address, all);
    };
    return {
      take: (cost) => {
        const ofAddress = this.#ofAddress.get(address) ?? 0;
        const fits = open + cost <= this.#most * shareOfConnection && ofAddress + cost <= this.#most;
        if (isClosed || !fits) return undefined;
        add(cost);
        let isTaken = true;
        return () => {
          if (isTaken && !isClosed) add(-cost);
          isTaken = false;
        };
      },
      close: () => {
        if (!isClosed) add(-open);
        isClosed = true;
      },
    };
  }

  readonly plugin: Plugin = {
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const cost = costOf(args);
      // What is too much for any operation is refused by the schema, which names the limit.
      const isRefused = cost > (args.contextValue as unknown as Services).maxQueryCost;
      const release = this.#accountOf(args).take(isRefused ? 1 : cost);
      if (release === undefined) {
        const extensions = { code: 'TOO_MANY_OPERATIONS', http: { status: 429 } };
        const message = `The subscriptions of this client would cost too much together; ${this.#most.toLocaleString('en')} are allowed for an address, and a quarter of that for one connection.`;
        setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions })] });
        return;
      }
      return {
        onSubscribeResult: ({ result }) => {
          if (!isAsyncIterable(result)) release();
          return { onEnd: release };
        },
      };
    },
  };

  #accountOf(args: ExecutionArgs): Account {
    const { account, req, res } = args.contextValue as {
      account?: Account;
      req?: IncomingMessage;
      res?: ServerResponse;
    };
    if (account !== undefined) return account;
    if (req === undefined || res === undefined) throw new Error('A subscription on no connection.');
    const own = this.open(req);
    res.once('close', () => own.close());
    return own;
  }
}

function costOf({ schema, document, operationName, variableValues, contextValue }: ExecutionArgs): number {
  const operation = getOperationAST(document, operationName);
  const definitions = document.definitions.filter(
    (definition) => definition === operation || definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  try {
    const alone = { ...document, definitions };
    const ctx = contextValue as object;
    return complexityFromQuery(alone, { schema, ctx, variables: { ...variableValues } }).complexity;
  } catch {
    // Its variables are wrong, which is for GraphQL to say.
    return 1;
  }
}
