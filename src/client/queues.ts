/** The settings of types, and how much of each waits and runs. */
import type { QueueFieldsFragment, QueueFiguresQuery, SetQueueInput } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { answerOf, payloadOf } from './errors.ts';
import { callOptions, type Send } from './options.ts';
import type { CallOptions, Standstill } from './types.ts';

/** A type: its settings (null where not set), and how much of it waits and runs. */
export type Queue = QueueFieldsFragment;
/** A type, with what was done of it recently. */
export type QueueFigures = NonNullable<QueueFiguresQuery['queues']>[number];
/** Changes to the settings of a type: a setting that is left out stays as it is, and null removes it. */
export type QueueSettings = Readonly<Omit<SetQueueInput, 'type'>>;

const mostInAnswer = 1_000;
const figuresOptions = { ...callOptions, types: true, lastMinutes: true };

export class Queues {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Changes the settings of a type. They apply to every claim, by any worker, that begins after the change.
   *
   * @throws JobtreeError INVALID_INPUT, with the setting that is wrong
   */
  async set(type: string, settings: QueueSettings, options: CallOptions = {}): Promise<Queue> {
    const input = { ...settings, type };
    const data = await this.#send(operations.SetQueue, { input }, options, true);
    return payloadOf(data.setQueue).queue;
  }

  /** Pauses a type: no worker gets its items any more; workers go on with what they hold. */
  pause(type: string, options: CallOptions = {}): Promise<Queue> {
    return this.set(type, { paused: true }, options);
  }

  /** Resumes a type: workers get its items again. */
  resume(type: string, options: CallOptions = {}): Promise<Queue> {
    return this.set(type, { paused: false }, options);
  }

  /** One type, even if it has neither settings nor items. */
  async get(type: string, options: CallOptions = {}): Promise<Queue> {
    const data = await this.#send(operations.Queue, { type }, options, true);
    return answerOf(data.queue);
  }

  /** Why pending items of a type are not running, what most needs somebody first. Empty if all of them are. */
  async standstills(type: string, options: CallOptions = {}): Promise<Standstill[]> {
    const data = await this.#send(operations.QueueStandstills, { type }, options, true);
    return answerOf(data.queue).standstills;
  }

  /** All types, by name, that have settings, waiting or running items, or items done in the last hour. */
  async list(options: CallOptions = {}): Promise<Queue[]> {
    const all: Queue[] = [];
    for (;;) {
      const variables = { first: mostInAnswer, after: all.at(-1)?.type };
      const data = await this.#send(operations.Queues, variables, options, true);
      const queues = answerOf(data.queues);
      all.push(...queues);
      if (queues.length < mostInAnswer) return all;
    }
  }

  /**
   * The same types, with how much of each was done in the last `lastMinutes` (1 to 1,440; default: 5), how long it waited and
   * took, and what is slow.
   */
  async figures(
    options: CallOptions & {
      readonly types?: readonly string[] | undefined;
      readonly lastMinutes?: number | undefined;
    } = {},
  ): Promise<QueueFigures[]> {
    const { types, lastMinutes } = options;
    const all: QueueFigures[] = [];
    for (;;) {
      const variables = {
        types: types && [...types],
        lastMinutes,
        first: mostInAnswer,
        after: all.at(-1)?.type,
      };
      const data = await this.#send(operations.QueueFigures, variables, options, true, figuresOptions);
      const queues = answerOf(data.queues);
      all.push(...queues);
      if (queues.length < mostInAnswer) return all;
    }
  }
}
