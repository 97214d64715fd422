/**
 * What a server finds when somebody asks it: the checks of the doctor, over its connections for reads, one at a time. It looks at most every
 * ten seconds, however many ask, and not at all while nobody does.
 */
import type { Config } from '../config/config.ts';
import type { Database } from '../db/database.ts';
import {
  betweenLooksMs,
  type Check,
  checkEncryption,
  checkInto,
  checkPostgres,
  checkStuck,
  checkWork,
  findPrefix,
  unreachable,
} from './examine.ts';
import { type Finding, sick, standardPatienceMs, warning } from './finding.ts';
import { checkPooler } from './postgres.ts';
import { checkRedis } from './redis.ts';
import { checkClocks } from './server.ts';
import { Session } from './session.ts';
import { checkOtherStores } from './uploads.ts';
import { type FirstLook, lookFirst, readWatch } from './work.ts';

export interface ExaminerOptions {
  readonly config: Config;
  readonly database: Pick<Database, 'pool' | 'writeFailure'>;
  /** A problem of this server that somebody should fix although it works. */
  readonly problem: () => string | undefined;
}

const everyMs = 10_000;
/** Findings older than this are not shown: whoever asks waits for new ones. */
const staleMs = 30_000;
/** Checks that have not begun by then are left out. */
const limitMs = 20_000;

/** What was there so long ago may have gone and come back. */
const longAgoMs = 120_000;

const ranks = { sick: 0, warning: 1, ok: 2 } as const;

export class Examiner {
  readonly #options: ExaminerOptions;
  readonly #session: Session;
  readonly #end = new AbortController();
  #underWay: Promise<readonly Finding[]> | undefined;
  #last: { readonly findings: readonly Finding[]; readonly at: number } | undefined;
  /** What may be stuck, and was there at that time. */
  #first: { readonly look: FirstLook; readonly at: number } | undefined;

  constructor(options: ExaminerOptions) {
    this.#options = options;
    this.#session = Session.ofPool(options.database.pool);
  }

  /** While it looks again, whoever asks gets the last findings, unless these are stale: so nobody waits for slow checks again and again. */
  async read(): Promise<readonly Finding[]> {
    const ageMs = performance.now() - (this.#last?.at ?? Number.NEGATIVE_INFINITY);
    if (this.#last !== undefined && ageMs < everyMs) return this.#last.findings;
    this.#underWay ??= this.#examine().finally(() => {
      this.#underWay = undefined;
    });
    if (this.#last !== undefined && ageMs < staleMs) return this.#last.findings;
    return this.#underWay;
  }

  /** What is being asked ends with the connections. */
  close(): void {
    this.#end.abort();
  }

  async #examine(): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    const giveUpAt = performance.now() + limitMs;
    const into = checkInto((finding) => findings.push(finding));
    const check: Check = async (name, look) => {
      if (this.#end.signal.aborted) return;
      if (performance.now() < giveUpAt) return into(name, look);
      await into(name, () => [
        warning('There was no time to look: other checks took too long.', 'Look at what those say first.'),
      ]);
    };
    await this.#look(check);
    findings.sort((a, b) => ranks[a.status] - ranks[b.status]);
    this.#last = { findings, at: performance.now() };
    return findings;
  }

  async #look(check: Check): Promise<void> {
    const { config, database, problem } = this.#options;
    const session = this.#session;
    await check('server', () => {
      const [failure, mended] = [database.writeFailure, problem()];
      if (failure !== undefined)
        return [sick(`Postgres accepts no writes: ${failure}.`, 'Look at its log, and at its disk.')];
      return mended === undefined ? [] : [warning(mended, 'Its log says more.')];
    });
    await checkEncryption(check, config);
    try {
      await session.query('select 1');
    } catch (error) {
      return check('postgres', () => [unreachable(error)]);
    }
    const isCurrent = await checkPostgres(check, session, {
      patienceMs: standardPatienceMs,
      showsQueries: false,
    });
    // The connections for reads are those of the pooler.
    if (config.directDatabaseUrl !== undefined) await check('pooler', () => checkPooler(session));
    await check('clocks', () => checkClocks(session, undefined));
    const { redis } = config;
    if (redis !== undefined)
      await check('redis', async () => {
        const prefix = await findPrefix(session, config);
        return checkRedis(redis, { prefix, isWatched: true, signal: this.#end.signal });
      });
    if (isCurrent) await this.#lookAtWork(check);
  }

  async #lookAtWork(check: Check): Promise<void> {
    const { config } = this.#options;
    const session = this.#session;
    await check('uploads', () => checkOtherStores(session, config.uploadStore));
    await check('servers', async () => {
      const watch = await readWatch(session, config.sweepIntervalMs);
      await checkWork(check, session, { config, watch });
      const first = this.#first;
      const look = await lookFirst(session);
      const at = performance.now();
      const ageMs = at - (first?.at ?? Number.NEGATIVE_INFINITY);
      if (first !== undefined && ageMs > betweenLooksMs(watch.sweepIntervalMs) && ageMs < longAgoMs)
        await checkStuck(check, session, { watch, first: first.look });
      this.#first = { look, at };
      return [];
    });
  }
}
