/** Executes an operation for an event, and serializes the answer once for all who read it. */
import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql';
import type { Owner } from '../../concurrency/fair-queue.ts';
import { largeTurn } from '../../concurrency/large-turns.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../domain/access/rights.ts';
import { type Engine, forRequest } from '../../domain/engine/engine.ts';
import { serializeInSlices } from '../../domain/values/json-text.ts';
import { ClientGoneError } from '../../errors.ts';
import { boundAnswer } from '../../schema/core/answer-text.ts';
import type { Parts, Services } from '../../schema/core/services.ts';
import { errorsInWordsOf } from '../../schema/core/tenant-names.ts';
import { takeOrRefuse } from '../limits/busy.ts';
import type { Quota, Share } from '../limits/quota.ts';
import type { Execute } from './compiled-execution.ts';
import { EncodedEvent } from './encoded-event.ts';
import { turnToWrite } from './turn-to-write.ts';

export interface EventEncoderOptions {
  readonly args: Omit<ExecutionArgs, 'contextValue'>;
  readonly services: Parts & Pick<Services, 'turns'> & { readonly engine: Engine<Database> };
  /** The caller whose rights all readers have. */
  readonly caller: Caller;
  /** The owner for whom reads are counted. */
  readonly owner: Owner;
  readonly execute: Execute;
  readonly maskError: (error: unknown) => GraphQLError;
  /** Bytes of answers under way. */
  readonly bytes: Quota;
}

/**
 * Executes with a context of its own, since what was loaded for an earlier event is out of date. What it reads counts as under way until it is
 * serialized; after that, what waits to be sent counts.
 */
export async function executeEvent<T>(
  execute: Execute,
  args: ExecutionArgs,
  event: unknown,
  bytes: Quota,
  use: (answer: ExecutionResult) => T | Promise<T>,
): Promise<T> {
  const services = args.contextValue as Services;
  let share: Share | undefined;
  const announce = (more: number) => {
    share ??= bytes.share(services.engine);
    takeOrRefuse(share, more);
  };
  const contextValue = { ...services, announce };
  try {
    const answer = await execute({ ...args, rootValue: event, contextValue });
    const turn = turnToWrite(contextValue);
    if (turn !== undefined) await turn;
    return await use(boundAnswer(answer, contextValue, false));
  } finally {
    share?.release();
  }
}

export class EventEncoder {
  readonly #options: EventEncoderOptions;
  readonly #args: ExecutionArgs;

  /** `isGone`: whether nobody can take an event now. */
  constructor(options: EventEncoderOptions, isGone: () => boolean) {
    this.#options = options;
    const { services } = options;
    const engine = forRequest(services.engine, { ...options.owner, isGone });
    this.#args = { ...options.args, contextValue: { ...services, caller: options.caller, engine } };
  }

  /** Never rejects. Undefined if a read was dropped because nobody was ready for the event. */
  async encode(event: unknown): Promise<EncodedEvent | undefined> {
    const { execute, bytes, caller, owner } = this.#options;
    try {
      return await executeEvent(execute, this.#args, event, bytes, async ({ data, errors }) => {
        if (errors?.some(({ originalError }) => originalError instanceof ClientGoneError)) return undefined;
        const masked =
          errors &&
          errorsInWordsOf(
            caller.tenant,
            errors.map((error) => this.#options.maskError(error)),
          );
        const answer = { ...(data !== undefined && { data }), ...(masked && { errors: masked }) };
        const content = serializeInSlices(answer, (length) => largeTurn(length, owner));
        return new EncodedEvent(answer, typeof content === 'string' ? content : await content);
      });
    } catch (error) {
      // For example, the answer is longer than a string can be.
      return new EncodedEvent({ errors: [this.#options.maskError(error)] });
    }
  }
}
