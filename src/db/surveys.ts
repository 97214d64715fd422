/**
 * Reads that may go through everything: of each caller one runs at a time, and of all together half as many as there may be reads. One that takes
 * too long is ended.
 */
import pg from 'pg';
import { groupOf } from '../concurrency/fair-queue.ts';
import { FairSemaphore, type Request } from '../concurrency/fair-semaphore.ts';
import { BusyError } from '../errors.ts';
import { checkoutMs, type PatientPool } from './patient-pool.ts';
import { asRefusal } from './sqlstate.ts';

/** A read that takes longer than this has the turns of several. */
export const turnMs = 10;
/** So long may one take. */
const surveyMs = 10_000;

/** A read that may go through everything. */
export interface Survey extends pg.QueryConfig {
  /** How it must not be planned, whatever Postgres knows of the tables. */
  readonly without?: readonly ('seqscan' | 'bitmapscan' | 'hashjoin' | 'mergejoin')[];
}

/** What to set in the transaction of a survey. */
export const settingsOf = ({ without }: { readonly without?: Survey['without'] | undefined }): string =>
  without === undefined
    ? ''
    : ['jit = off', 'plan_cache_mode = force_generic_plan', ...without.map((kind) => `enable_${kind} = off`)]
        .map((setting) => `; set local ${setting}`)
        .join('');

export class Surveys {
  readonly #pool: PatientPool;
  readonly #limitMs: number;
  /** Those of all reads, which a survey waits for as well. */
  readonly #readTurns: FairSemaphore;
  readonly #turns: FairSemaphore;
  /** Those that have not begun, by what they ask and of which tenant. */
  readonly #waiting = new Map<
    string,
    { readonly askers: Request[]; readonly answer: Promise<pg.QueryResult> }
  >();

  constructor(pool: PatientPool, readTurns: FairSemaphore, atOnce: number, timeoutMs: number) {
    this.#pool = pool;
    this.#readTurns = readTurns;
    this.#turns = new FairSemaphore(atOnce, { waitMs: checkoutMs, turnMs, ownAtOnce: 1 });
    this.#limitMs = Math.min(surveyMs, timeoutMs);
  }

  async query<Row extends pg.QueryResultRow>({
    without,
    ...statement
  }: Survey): Promise<pg.QueryResult<Row>> {
    try {
      return await this.#pool.queryWithin<Row>(this.#limitMs, statement, settingsOf({ without }));
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === '57014')
        throw new BusyError(
          `This took longer than ${Math.round(this.#limitMs / 1_000)} seconds, and was ended: ask for less, such as by a narrower filter.`,
        );
      throw asRefusal(error);
    }
  }

  /** Of a tenant, those that wait and ask the same are one. What has begun may have missed what was written since. */
  queryInTurn<Row extends pg.QueryResultRow>(request: Request, survey: Survey): Promise<pg.QueryResult<Row>> {
    const key = JSON.stringify([groupOf(request), survey.text, survey.values]);
    const known = this.#waiting.get(key);
    if (known !== undefined) {
      known.askers.push(request);
      return known.answer as Promise<pg.QueryResult<Row>>;
    }
    const askers = [request];
    let isOver = false;
    const end = () => {
      if (!isOver) this.#waiting.delete(key);
      isOver = true;
    };
    const isGone = () => {
      const areGone = askers.every((asker) => asker.isGone?.() === true);
      if (areGone) end();
      return areGone;
    };
    const all = { ...request, isGone };
    const answer = this.#turns.run(all, () =>
      this.#readTurns.run(all, () => {
        end();
        return this.query<Row>(survey);
      }),
    );
    if (isOver) return answer;
    this.#waiting.set(key, { askers, answer });
    // It may be refused, since it has waited for too long.
    answer.catch(end);
    return answer;
  }
}
