/**
 * Equal subscriptions share one execution: each event is resolved and serialized once for all its readers. A reader that is too slow for an
 * event misses it, and later gets the state at that time, so it costs no memory and holds up nobody.
 *
 * Equal means: the same text of the operation, the same variables, and the same rights of the callers. An execution belongs to no caller: its
 * context has the server's services, and from the first subscriber only the rights, and the owner for whom its reads are counted.
 */
import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
} from 'graphql';
import { isAsyncIterable, mapAsyncIterator, type Plugin } from 'graphql-yoga';
import { Live } from '../../events/live.ts';
import { newerThanKnown } from '../../events/newer-than-known.ts';
import type { Services } from '../../schema/core/services.ts';
import { errorsInWordsOf } from '../../schema/core/tenant-names.ts';
import { FairShare } from '../limits/fair-share.ts';
import type { Quota } from '../limits/quota.ts';
import type { Execute } from './compiled-execution.ts';
import { executeEvent } from './event-encoder.ts';
import type { Reader } from './reader.ts';
import { SubscriptionGroup, type SubscriptionGroupOptions } from './subscription-group.ts';
import { type Shape, shapeOf } from './subscription-shape.ts';

export interface SubscriptionContext extends Services {
  /** Where the events of a shared subscription go. */
  readonly reader: Reader;
  /** Aborts when the client has cancelled the subscription. */
  readonly signal?: AbortSignal;
}

type Args = ExecutionArgs & { contextValue: SubscriptionContext };

export class SharedSubscriptions {
  readonly #services: SubscriptionGroupOptions['services'];
  readonly #execute: Execute;
  readonly #maskError: (error: unknown) => GraphQLError;
  readonly #bytes: Quota;
  readonly #groups = new Map<string, SubscriptionGroup>();
  readonly #fairShare = new FairShare();

  constructor(options: {
    services: SubscriptionGroupOptions['services'];
    execute: Execute;
    maskError: (error: unknown) => GraphQLError;
    bytes: Quota;
  }) {
    this.#services = options.services;
    this.#execute = options.execute;
    this.#maskError = options.maskError;
    this.#bytes = options.bytes;
  }

  readonly plugin: Plugin = {
    onSubscribe: ({ setSubscribeFn }) => {
      setSubscribeFn(async (args) => this.#inWords(args as Args, await this.#subscribe(args as Args)));
    },
  };

  #inWords<Result extends AsyncIterableIterator<ExecutionResult> | ExecutionResult>(
    { contextValue: { caller } }: Args,
    result: Result,
  ): Result | ExecutionResult {
    if (caller.tenant === null || isAsyncIterable(result) || result.errors === undefined) return result;
    return { ...result, errors: errorsInWordsOf(caller.tenant, result.errors.map(this.#maskError)) };
  }

  async #subscribe(args: Args): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
    const shape = shapeOf(args);
    if (shape === undefined) return subscribeAlone(this.#execute, args, this.#bytes);
    const { reader } = args.contextValue;
    const group = this.#group(args, shape);
    group.expect(reader);
    let left = false;
    const leave = () => {
      if (!left) group.leave(reader);
      left = true;
    };
    const { signal } = args.contextValue;
    signal?.addEventListener('abort', leave, { once: true });
    try {
      const refusal = await group.opened;
      if (refusal !== undefined || left) {
        leave();
        return refusal ?? {};
      }
    } catch (error) {
      leave();
      throw error;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
    group.add(reader, shape.sinceRevision);
    return reader;
  }

  #group(
    { schema, document, operationName, contextValue }: Args,
    { key, variableValues }: Shape,
  ): SubscriptionGroup {
    const existing = this.#groups.get(key);
    if (existing !== undefined) return existing;
    const group = new SubscriptionGroup({
      args: { schema, document, operationName, variableValues },
      services: { ...this.#services, turns: contextValue.turns ?? 1 },
      caller: contextValue.caller,
      owner: { tenant: contextValue.engine.tenant, account: contextValue.engine.account },
      bytes: this.#bytes,
      execute: this.#execute,
      maskError: this.#maskError,
      fairShare: this.#fairShare,
      onClose: () => {
        if (this.#groups.get(key) === group) this.#groups.delete(key);
      },
    });
    this.#groups.set(key, group);
    return group;
  }
}

async function subscribeAlone(
  execute: Execute,
  args: Args,
  bytes: Quota,
): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  const source = await createSourceEventStream(args);
  if (!isAsyncIterable(source)) return source;
  const events = (source instanceof Live ? newerThanKnown(source) : source) as AsyncIterableIterator<unknown>;
  return mapAsyncIterator(events, (event) =>
    executeEvent(execute, args, event, bytes, (answer) => {
      // As for those who share.
      if (answer.data == null) void events.return?.();
      return answer;
    }),
  ) as AsyncIterableIterator<ExecutionResult>;
}
