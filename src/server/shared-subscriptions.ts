/**
 * Subscriptions that ask for the same share one execution: each event is resolved and turned into text once, however many
 * read it. A reader that was too slow for an event misses it, and is told later how things stand then: so it costs no
 * memory, and holds up nobody.
 *
 * "The same" is the same document and variables. An execution belongs to nobody: its context has the services alone, and
 * nothing of who subscribed first. Whoever adds rights must add them to the key.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type GraphQLError,
} from 'graphql';
import { isAsyncIterable, mapAsyncIterator, type Plugin } from 'graphql-yoga';
import { Live } from '../events/live.ts';
import { boundAnswer } from '../schema/answer-text.ts';
import type { Services } from '../schema/builder.ts';
import { FairShare } from './fair-share.ts';
import { type Shape, shapeOf } from './subscription-shape.ts';

/** An event as all readers get it. */
export interface EncodedEvent {
  readonly result: ExecutionResult & { stringify(): string };
  readonly json: string;
  /** There are only errors, and what has changed is not in it. */
  readonly failed: boolean;
}

/** Where events go. As the result of the subscription it ends when the subscription does. */
export interface Reader extends AsyncIterableIterator<ExecutionResult> {
  /** Whether it takes an event now. */
  readonly isReady: boolean;
  tell(event: EncodedEvent): void;
  end(): void;
  /** Called once, when the client does not want it any more. */
  onReturn: () => void;
  /** Called when it has become ready, by those that know; the others are asked from time to time. */
  onReady: () => void;
}

export interface SubscriptionContext extends Services {
  /** Who reads, if not by asking for the next result. */
  readonly reader?: Reader;
  /** Aborts when the client does not want it any more. */
  readonly signal?: AbortSignal;
}

type Args = ExecutionArgs & { contextValue: SubscriptionContext };
type Source = Live<unknown>;

const lateCheckMs = 50;
const retryMs = 1_000;
/** After so many readers, others get their turn. */
const readersPerTurn = 500;

export class SharedSubscriptions {
  readonly #services: Services;
  readonly #maskError: (error: unknown) => GraphQLError;
  readonly #groups = new WeakMap<object, Map<string, Group>>();
  readonly #fairShare = new FairShare();

  constructor(options: { services: Services; maskError: (error: unknown) => GraphQLError }) {
    this.#services = options.services;
    this.#maskError = options.maskError;
  }

  readonly plugin: Plugin = {
    onSubscribe: ({ setSubscribeFn }) => {
      setSubscribeFn((args) => this.#subscribe(args as Args));
    },
  };

  async #subscribe(args: Args): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
    const shape = shapeOf(args);
    if (shape === undefined) return subscribeAlone(args);
    const group = this.#group(args, shape);
    group.users++;
    let left = false;
    const leave = () => {
      if (!left) group.leave();
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
    const reader = args.contextValue.reader ?? new ResultReader();
    group.add(reader, shape.sinceRevision);
    return reader;
  }

  #group({ schema, document, operationName }: Args, { key, variableValues }: Shape): Group {
    let groups = this.#groups.get(document);
    if (groups === undefined) {
      groups = new Map();
      this.#groups.set(document, groups);
    }
    let group = groups.get(key);
    if (group === undefined) {
      const args = { schema, document, operationName, variableValues, contextValue: this.#services };
      const created = new Group(args, this.#maskError, this.#fairShare, () => {
        if (groups.get(key) === created) groups.delete(key);
      });
      groups.set(key, created);
      group = created;
    }
    return group;
  }
}

async function subscribeAlone(args: Args): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  const source = await createSourceEventStream(args);
  if (!isAsyncIterable(source)) return source;
  return mapAsyncIterator(source, (event) =>
    executeEvent(args, event),
  ) as AsyncIterableIterator<ExecutionResult>;
}

/** In a context of its own: what was loaded for an earlier event is out of date. */
async function executeEvent(args: ExecutionArgs, event: unknown): Promise<ExecutionResult> {
  // Events come and go: they are not announced as parts of one answer.
  const { announce: _, ...contextValue } = args.contextValue as Services;
  return boundAnswer(await execute({ ...args, rootValue: event, contextValue }), contextValue, false);
}

/** The readers of one operation. */
class Group {
  /** Resolves when the first event is known; to an answer if there is nothing to subscribe to. */
  readonly opened: Promise<ExecutionResult | undefined>;
  /** Who reads, or is about to. */
  users = 0;
  readonly #args: ExecutionArgs;
  readonly #maskError: (error: unknown) => GraphQLError;
  readonly #fairShare: FairShare;
  readonly #onClose: () => void;
  /** The event that each reader has seen, by its number. */
  readonly #readers = new Map<Reader, number>();
  readonly #late = new Set<Reader>();
  #live: Source | undefined;
  #version = 0;
  #snapshot: { version: number; event: Promise<EncodedEvent> } | undefined;
  #ended = false;
  #lateTimer: NodeJS.Timeout | undefined;

  constructor(
    args: ExecutionArgs,
    maskError: (error: unknown) => GraphQLError,
    fairShare: FairShare,
    onClose: () => void,
  ) {
    this.#args = args;
    this.#maskError = maskError;
    this.#fairShare = fairShare;
    this.#onClose = onClose;
    this.opened = this.#open();
  }

  add(reader: Reader, sinceRevision: string | undefined): void {
    reader.onReturn = () => {
      this.#readers.delete(reader);
      this.#late.delete(reader);
      this.leave();
    };
    reader.onReady = () => {
      if (this.#late.delete(reader)) void this.#sendSnapshot(reader);
    };
    if (this.#version === 0) {
      reader.end();
      return;
    }
    const live = this.#live;
    const isCurrent = sinceRevision !== undefined && sinceRevision === live?.revision && !live.isEnding;
    this.#readers.set(reader, isCurrent ? this.#version : beingTold);
    if (!isCurrent) void this.#sendSnapshot(reader);
  }

  leave(): void {
    this.users--;
    if (this.users > 0) return;
    this.#onClose();
    clearTimeout(this.#lateTimer);
    void this.#live?.return();
  }

  async #open(): Promise<ExecutionResult | undefined> {
    try {
      const source = await createSourceEventStream(this.#args);
      if (!isAsyncIterable(source)) {
        this.#onClose();
        return source;
      }
      if (!(source instanceof Live))
        throw new Error('A shared subscription whose source is none that can be shared.');
      this.#live = source;
      if (this.users === 0) void source.return();
      const first = await source.next();
      if (first.done || this.users === 0) {
        this.#end();
        return undefined;
      }
      this.#version++;
      const { failed, result } = await this.#howThingsStand();
      if (failed) {
        this.#onClose();
        return result;
      }
      void this.#run(source);
      return undefined;
    } catch (error) {
      this.#onClose();
      throw error;
    }
  }

  async #run(live: Source): Promise<void> {
    for await (const event of live) {
      this.#version++;
      const startedAt = performance.now();
      const executed = this.#execute(event);
      // Without what it waits for, which costs others nothing.
      const executeMs = performance.now() - startedAt;
      const tellMs = await this.#tellAll(await executed);
      // The end is told at once.
      await Promise.race([this.#fairShare.pay(executeMs + tellMs), live.ending]);
    }
    this.#end();
  }

  #end(): void {
    this.#ended = true;
    this.#onClose();
    for (const [reader, seen] of this.#readers) if (seen === this.#version) reader.end();
  }

  /** Gives the time that it took, in milliseconds. */
  async #tellAll(event: EncodedEvent): Promise<number> {
    let count = 0;
    let tookMs = 0;
    let startedAt = performance.now();
    for (const [reader, seen] of this.#readers) {
      if (seen === this.#version || seen === beingTold) continue;
      if (seen === this.#version - 1 && reader.isReady) this.#tell(reader, event, this.#version);
      else this.#isLate(reader);
      count++;
      if (count % readersPerTurn !== 0) continue;
      tookMs += performance.now() - startedAt;
      await nextTurn();
      startedAt = performance.now();
    }
    return tookMs + performance.now() - startedAt;
  }

  /** One that was told of a failure is late too: what has changed it still has to hear. */
  #tell(reader: Reader, event: EncodedEvent, version: number): void {
    this.#readers.set(reader, version);
    reader.tell(event);
    if (event.failed) this.#isLate(reader, retryMs);
    else if (version !== this.#version) this.#isLate(reader);
    else if (this.#ended) reader.end();
  }

  /** It is told how things stand when it is ready. */
  #isLate(reader: Reader, checkMs = lateCheckMs): void {
    this.#readers.set(reader, beingTold);
    this.#late.add(reader);
    this.#lateTimer ??= setTimeout(() => {
      this.#lateTimer = undefined;
      const late = [...this.#late];
      this.#late.clear();
      for (const one of late) void this.#sendSnapshot(one);
    }, checkMs);
  }

  async #sendSnapshot(reader: Reader): Promise<void> {
    if (!reader.isReady) return this.#isLate(reader);
    const version = this.#version;
    const event = await this.#howThingsStand();
    if (!this.#readers.has(reader)) return;
    // Its socket may have filled meanwhile, with what other readers on it were told.
    if (reader.isReady) this.#tell(reader, event, version);
    else this.#isLate(reader);
  }

  async #howThingsStand(): Promise<EncodedEvent> {
    if (this.#snapshot?.version !== this.#version) {
      this.#snapshot = { version: this.#version, event: this.#execute(this.#live?.snapshot()) };
    }
    const snapshot = this.#snapshot;
    const event = await snapshot.event;
    if (event.failed && this.#snapshot === snapshot) this.#snapshot = undefined;
    return event;
  }

  /** Never rejects. */
  async #execute(event: unknown): Promise<EncodedEvent> {
    try {
      const { data, errors } = await executeEvent(this.#args, event);
      const masked = errors?.map((error) => this.#maskError(error));
      return encodeEvent({ ...(data !== undefined && { data }), ...(masked && { errors: masked }) });
    } catch (error) {
      // Such as an answer that is larger than a text can be.
      return encodeEvent({ errors: [this.#maskError(error)] });
    }
  }
}

function encodeEvent(answer: ExecutionResult): EncodedEvent {
  const json = JSON.stringify(answer);
  return { json, result: { ...answer, stringify: () => json }, failed: answer.data == null };
}

/** Instead of the event that a reader has seen: meanwhile it is told nothing else, so that nothing comes after what is newer. */
const beingTold = -1;

/** Read by asking for the next result, as server-sent events are. Holds one that was not asked for yet. */
class ResultReader implements Reader {
  onReturn = () => {};
  onReady = () => {};
  #held: EncodedEvent | undefined;
  #ended = false;
  #closed = false;
  #wake = () => {};

  get isReady(): boolean {
    return this.#held === undefined;
  }

  tell(event: EncodedEvent): void {
    this.#held = event;
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async next(): Promise<IteratorResult<ExecutionResult>> {
    while (this.#held === undefined && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#held === undefined || this.#closed) return this.return();
    const { result } = this.#held;
    this.#held = undefined;
    return { done: false, value: result };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.end();
      this.onReturn();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
