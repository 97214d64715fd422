/**
 * Single creations of a client that come at once, or while others are under way, go out together, in one request: one alone takes the client and
 * the server several times as long. A quiet client adds no delay. Only those that nothing can hold up are merged, so that no call waits for what
 * another one meets: without keys, callbacks, a file or children.
 */
import type { CreateJobMutation, CreateJobsMutation, JobInput } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { isNotUnderstood, isTransient, JobtreeError, payloadOf, refusal } from './errors.ts';
import { maxItemsOfCreation, maxUnits } from './limits.ts';
import type { Send } from './options.ts';

type Created = { readonly id: string; readonly created: boolean };

interface Call {
  readonly input: JobInput;
  readonly units: number;
  readonly resolve: (created: Created) => void;
  readonly reject: (error: unknown) => void;
}

/** One travels while the server works on the other. */
const width = 2;
/** A request that takes longer than this no longer holds up others. */
const longMs = 50;
const mostTogether = 200;

export function isMergeable({ dedupeKey, file, children, callbacks, items }: JobInput): boolean {
  return (
    dedupeKey == null &&
    file == null &&
    callbacks == null &&
    !children?.length &&
    (items ?? []).every(({ serializeKey }) => serializeKey == null)
  );
}

export class MergedCreations {
  readonly #send: Send;
  #waiting: Call[] = [];
  #underWay = 0;
  /** An older server knows only single creations. */
  #areKnown = true;

  constructor(send: Send) {
    this.#send = send;
  }

  create(input: JobInput): Promise<Created> {
    return new Promise((resolve, reject) => {
      const units = JSON.stringify(input).length;
      // Those that go on together, as after an answer to all of them, also go out together.
      if (this.#waiting.push({ input, units, resolve, reject }) === 1) queueMicrotask(() => this.#next());
    });
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#underWay < width) {
      this.#underWay++;
      let counts = true;
      const leave = () => {
        if (!counts) return;
        counts = false;
        this.#underWay--;
        this.#next();
      };
      const timer = setTimeout(leave, longMs);
      void this.#carryOut(this.#take()).finally(() => {
        clearTimeout(timer);
        leave();
      });
    }
  }

  #take(): [Call, ...Call[]] {
    const [first, ...others] = this.#waiting as [Call, ...Call[]];
    let { units } = first;
    let items = first.input.items?.length ?? 0;
    const fits = ({ units: more, input }: Call) => {
      units += more;
      items += input.items?.length ?? 0;
      return units <= maxUnits && items <= maxItemsOfCreation;
    };
    const end = this.#areKnown ? others.slice(0, mostTogether - 1).findIndex((call) => !fits(call)) : 0;
    const calls = end < 0 ? others.slice(0, mostTogether - 1) : others.slice(0, end);
    this.#waiting = others.slice(calls.length);
    return [first, ...calls];
  }

  async #carryOut(calls: readonly [Call, ...Call[]]): Promise<void> {
    const [first, ...others] = calls;
    try {
      if (others.length === 0) {
        const { createJob } = await this.#send(operations.CreateJob, { input: first.input }, {}, false);
        first.resolve(idOf(createJob));
        return;
      }
      const inputs = calls.map(({ input }) => input);
      const { createJobs } = await this.#send(operations.CreateJobs, { inputs }, {}, false);
      const { entries } = payloadOf(createJobs);
      await Promise.all(calls.map((call, i) => this.#settle(call, entries[i] as Entry)));
    } catch (error) {
      if (others.length === 0 || !isDivisible(error)) for (const { reject } of calls) reject(error);
      else {
        if (error instanceof JobtreeError && isNotUnderstood(error)) this.#areKnown = false;
        await Promise.all(calls.map((call) => this.#carryOut([call])));
      }
    }
  }

  async #settle(call: Call, { jobId, created, error }: Entry): Promise<void> {
    if (error == null) {
      call.resolve({ id: jobId ?? '', created });
      return;
    }
    // The call has a single input.
    const own = (text: string) => text.replace(/^inputs\[\d+\]\.?/, '');
    const field = error.field == null ? undefined : own(error.field);
    const refused = refusal(error.code, own(error.message), { field });
    // Alone it is tried again for as long as the client does that.
    if (isTransient(refused) && refused.outcome === 'NOTHING_DONE') await this.#carryOut([call]);
    else call.reject(refused);
  }
}

/** Nothing was done, perhaps because of one of them: alone, each gets its own answer. */
const isDivisible = (error: unknown) =>
  error instanceof JobtreeError &&
  (isNotUnderstood(error) || error.code === 'INVALID_INPUT' || error.code === 'LIMIT_EXCEEDED');

function idOf(answer: CreateJobMutation['createJob']): Created {
  const { created, job } = payloadOf(answer);
  return { id: job.id, created };
}

type Entry = Extract<NonNullable<CreateJobsMutation['createJobs']>, { entries: unknown }>['entries'][number];
