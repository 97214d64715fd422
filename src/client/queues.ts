/** The settings of types, and how much of each waits and runs. */
import type { QueueFieldsFragment, SetQueueInput } from '../generated/graphql/graphql.ts';
import { payloadOf } from './errors.ts';
import type { Http } from './http.ts';
import * as operations from './operations.ts';
import type { CallOptions } from './types.ts';

/** A type: its settings, null where they are not set, and how much of it waits and runs. */
export type Queue = QueueFieldsFragment;
/** What to change of a type: what is left out stays as it is, and null takes a setting away. */
export type QueueSettings = Readonly<Omit<SetQueueInput, 'type'>>;

const mostInAnswer = 1_000;

export class Queues {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Changes the settings of a type, for every claim of any worker that begins after it.
   *
   * @throws JobtreeError INVALID_INPUT, with the setting that is wrong
   */
  async set(type: string, settings: QueueSettings, { signal }: CallOptions = {}): Promise<Queue> {
    const input = { ...settings, type };
    const data = await this.#http.request(operations.setQueue, { input }, { repeatable: true, signal });
    return payloadOf(data.setQueue).queue;
  }

  /** No worker gets items of the type any more; what workers hold goes on. */
  pause(type: string, options: CallOptions = {}): Promise<Queue> {
    return this.set(type, { paused: true }, options);
  }

  /** Workers get items of the type again. */
  resume(type: string, options: CallOptions = {}): Promise<Queue> {
    return this.set(type, { paused: false }, options);
  }

  /** One type, whether there is anything of it or not. */
  async get(type: string, { signal }: CallOptions = {}): Promise<Queue> {
    return (await this.#http.request(operations.queue, { type }, { repeatable: true, signal })).queue;
  }

  /** All types that have settings, or of which anything waits or runs, by name. */
  async list({ signal }: CallOptions = {}): Promise<Queue[]> {
    const all: Queue[] = [];
    for (;;) {
      const variables = { first: mostInAnswer, after: all.at(-1)?.type };
      const { queues } = await this.#http.request(operations.queues, variables, { repeatable: true, signal });
      all.push(...queues);
      if (queues.length < mostInAnswer) return all;
    }
  }
}
