/** The readers of one operation: each event is resolved and serialized once, however many there are. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSourceEventStream, type ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';
import { forRequest } from '../../domain/engine/engine.ts';
import { Live } from '../../events/live.ts';
import type { FairShare } from '../limits/fair-share.ts';
import { Recheck } from '../limits/recheck.ts';
import { takeFlushMs } from '../limits/turn-writes.ts';
import type { EncodedEvent } from './encoded-event.ts';
import { EventEncoder, type EventEncoderOptions } from './event-encoder.ts';
import type { Reader, Source } from './reader.ts';

const lateCheckMs = 50;
/** How many readers are told before others get their turn. */
const readersPerTurn = 500;
/** Stands for the event seen while a reader waits for a snapshot: it is told nothing else, so nothing older can follow. */
const beingTold = -1;

export interface SubscriptionGroupOptions extends EventEncoderOptions {
  readonly fairShare: FairShare;
  readonly onClose: () => void;
}

export class SubscriptionGroup implements Source {
  /** Resolves when the first event is known; to an answer if there is nothing to subscribe to. */
  readonly opened: Promise<ExecutionResult | undefined>;
  /** Readers, and those that are about to become one. */
  readonly #users = new Set<Reader>();
  readonly #options: SubscriptionGroupOptions;
  readonly #encoder: EventEncoder;
  /** The number of the last event that each reader has seen. */
  readonly #readers = new Map<Reader, number>();
  /** Readers that know a newer revision than this server has told; they are told nothing until it has a newer one. */
  readonly #ahead = new Map<Reader, string>();
  /** Readers that were not ready for an event. */
  readonly #late = new Recheck<Reader>(lateCheckMs, (reader) => void this.#sendSnapshot(reader));
  #live: Live<unknown> | undefined;
  #version = 0;
  /** Of the last event. */
  #edition = 0;
  /** What readers of the last event were told. */
  #last: EncodedEvent | undefined;
  /** Whether anybody has joined. Those who come later may know a newer state of a page than what it was told. */
  #joined = false;
  #snapshot: { edition: number; event: Promise<EncodedEvent | undefined> } | undefined;
  #ended = false;

  constructor(options: SubscriptionGroupOptions) {
    this.#options = options;
    this.#encoder = new EventEncoder(options, () => this.#isForNobody);
    this.opened = this.#open();
  }

  /** Whether nobody can take an event now: all have left, or have as much on its way as they may. */
  get #isForNobody(): boolean {
    for (const reader of this.#users) if (reader.isReady) return false;
    return true;
  }

  /** Announces a reader that will be added once the group is open, or that leaves before. */
  expect(reader: Reader): void {
    this.#users.add(reader);
  }

  add(reader: Reader, sinceRevision: string | undefined): void {
    reader.join(this);
    const live = this.#live;
    if (this.#version === 0 || live === undefined) {
      reader.end();
      return;
    }
    this.#readers.set(reader, beingTold);
    const { revision } = live;
    const isFirst = !this.#joined;
    this.#joined = true;
    if (revision === undefined && !isFirst && !this.#ended) {
      void this.#sendFreshSnapshot(reader, live);
    } else if (
      revision === undefined ||
      sinceRevision === undefined ||
      sinceRevision < revision ||
      live.isFinal
    ) {
      void this.#sendSnapshot(reader);
    } else if (this.#ended) {
      reader.end();
    } else if (sinceRevision === revision) {
      this.#readers.set(reader, this.#version);
    } else {
      this.#ahead.set(reader, sinceRevision);
      void live.refresh();
    }
  }

  left(reader: Reader): void {
    this.#readers.delete(reader);
    this.#ahead.delete(reader);
    this.#late.delete(reader);
    this.leave(reader);
  }

  isReady(reader: Reader): void {
    if (this.#late.delete(reader)) void this.#sendSnapshot(reader);
  }

  leave(reader: Reader): void {
    this.#users.delete(reader);
    if (this.#users.size > 0) return;
    this.#options.onClose();
    this.#late.clear();
    void this.#live?.return();
  }

  async #open(): Promise<ExecutionResult | undefined> {
    try {
      const { args, services, caller, owner } = this.#options;
      // It waits for its turns as its owner, also when nobody can take an event now.
      const engine = forRequest(services.engine, owner);
      const source = await createSourceEventStream({
        ...args,
        contextValue: { ...services, caller, engine },
      });
      if (!isAsyncIterable(source)) {
        this.#options.onClose();
        return source;
      }
      if (!(source instanceof Live)) throw new Error('The source of a shared subscription is not shareable.');
      this.#live = source;
      if (this.#users.size === 0) void source.return();
      const first = await source.next();
      if (first.done || this.#users.size === 0) {
        this.#end(source);
        return undefined;
      }
      this.#begin(source);
      const event = await this.#encodeSnapshot(this.#edition);
      if (event?.failed) {
        this.#options.onClose();
        return event.result;
      }
      void this.#run(source);
      return undefined;
    } catch (error) {
      this.#options.onClose();
      throw error;
    }
  }

  #begin({ edition }: Live<unknown>): void {
    this.#version++;
    this.#edition = edition;
  }

  async #run(live: Live<unknown>): Promise<void> {
    for await (const event of live) {
      this.#begin(live);
      const startedAt = performance.now();
      const executed = live.isWhole ? this.#encodeSnapshot(this.#edition) : this.#encoder.encode(event);
      // Without the time that it waits, which costs others nothing.
      const executeMs = performance.now() - startedAt;
      const encoded = await executed;
      // Such as the percentage of many items, which most changes leave as it is.
      const isKnown = encoded !== undefined && this.#last?.equals(encoded) === true && !live.isFinal;
      this.#last = encoded;
      if (isKnown) this.#skip();
      const tellMs = await this.#tellAll(encoded);
      this.#tellAhead(live);
      this.#settle(live);
      const restMs = this.#options.fairShare.price(executeMs + tellMs + takeFlushMs());
      if (restMs > 0) await live.rest(restMs);
    }
    this.#end(live);
  }

  #end(live: Live<unknown>): void {
    this.#ended = true;
    this.#options.onClose();
    for (const [reader, seen] of this.#readers) if (seen === this.#version) reader.end();
    for (const reader of this.#ahead.keys()) {
      if (live.isFinal) void this.#sendSnapshot(reader);
      else reader.end();
    }
    this.#ahead.clear();
  }

  /** Forgets what is kept for late readers once there are none, or too much is: then their streams end, and they begin again. */
  #settle(live: Live<unknown>): void {
    for (const [reader, seen] of this.#readers) {
      if (seen === this.#version) continue;
      if (!live.isFull) return;
      reader.end();
    }
    live.settled();
  }

  /** The event is the same as the last one for those who have seen that; the others are told. */
  #skip(): void {
    for (const [reader, seen] of this.#readers)
      if (seen === this.#version - 1) this.#readers.set(reader, this.#version);
  }

  /** Returns how long it took in milliseconds, without the turns of others. */
  async #tellAll(event: EncodedEvent | undefined): Promise<number> {
    let count = 0;
    let tookMs = 0;
    let startedAt = performance.now();
    for (const [reader, seen] of this.#readers) {
      if (seen === this.#version || seen === beingTold) continue;
      if (event !== undefined && seen === this.#version - 1 && reader.isReady)
        this.#tell(reader, event, this.#edition);
      else this.#isLate(reader);
      count++;
      if (count % readersPerTurn !== 0) continue;
      tookMs += performance.now() - startedAt;
      await nextTurn();
      startedAt = performance.now();
    }
    return tookMs + performance.now() - startedAt;
  }

  /** Sends a snapshot to those for whom the last event was news: they may know a part of the state from elsewhere. */
  #tellAhead({ revision = '', isFinal }: Live<unknown>): void {
    // At the end everybody gets a snapshot.
    if (isFinal) return;
    for (const [reader, known] of this.#ahead) {
      if (known > revision) continue;
      this.#ahead.delete(reader);
      if (known < revision) void this.#sendSnapshot(reader);
      else this.#readers.set(reader, this.#version);
    }
  }

  /** A failure is the last that a reader is told: it misses the event, and decides itself when to subscribe again. */
  #tell(reader: Reader, event: EncodedEvent, edition: number): void {
    this.#readers.set(reader, this.#version);
    reader.tell(event);
    if (event.failed) reader.end();
    else if (edition < this.#edition) this.#isLate(reader);
    else if (this.#ended) reader.end();
  }

  /** Sends the reader a snapshot once it is ready. */
  #isLate(reader: Reader): void {
    this.#readers.set(reader, beingTold);
    this.#late.add(reader);
  }

  async #sendSnapshot(reader: Reader): Promise<void> {
    if (!reader.isReady) return this.#isLate(reader);
    const edition = this.#live?.edition ?? 0;
    const event = await this.#encodeSnapshot(edition);
    if (!this.#readers.has(reader)) return;
    // Its socket may have filled meanwhile with events for its other readers.
    if (event !== undefined && reader.isReady) this.#tell(reader, event, edition);
    else this.#isLate(reader);
  }

  async #sendFreshSnapshot(reader: Reader, live: Live<unknown>): Promise<void> {
    await live.refresh();
    if (this.#readers.has(reader)) await this.#sendSnapshot(reader);
  }

  /** `edition`: the present one. */
  async #encodeSnapshot(edition: number): Promise<EncodedEvent | undefined> {
    if (this.#snapshot?.edition !== edition)
      this.#snapshot = { edition, event: this.#encoder.encode(this.#live?.snapshot()) };
    const snapshot = this.#snapshot;
    const event = await snapshot.event;
    const forget = () => {
      if (this.#snapshot === snapshot) this.#snapshot = undefined;
    };
    if (event === undefined || event.failed) forget();
    // Kept only for those who wait for it now: kept for later readers, it would take as much memory as everything that is watched.
    else if (event.isLarge) setImmediate(forget);
    return event;
  }
}
