/**
 * Watch tokens, and the tickets for event streams made with them. A token is verified each time it is shown, which takes some microseconds and
 * no look-up. While tokens are shown or in use, everything else that matters (the secrets, the revocations by tree, and the time) is read once a
 * second in one call. So a revocation takes effect everywhere within about two seconds, as long as Postgres answers. While it does not, sessions
 * of admitted tokens go on, and new ones have to wait.
 */
import type { Logger } from 'pino';
import type { Queries } from '../../db/database.ts';
import { createTokenCaller, type WatchedTree } from '../../domain/access/rights.ts';
import { useWatchTicket } from '../../domain/access/watch-tickets.ts';
import {
  headerIn,
  headerOf,
  initWatchSecret,
  maxWatchTokenSeconds,
  readWatchToken,
  readWatchTokens,
  secretIdIn,
  type WatchSecret,
} from '../../domain/access/watch-tokens.ts';
import { UnauthenticatedError } from '../../errors.ts';
import { Tries } from '../limits/tries.ts';
import { Loop } from '../loops/loop.ts';
import { Admission } from './admission.ts';

const readEveryMs = 1_000;
/** State that is older than this is read again before a token is admitted. */
const freshMs = 3_000;
/** If no token is shown for this long and none is in use, nothing is read. */
const idleAfterMs = 60_000;
/** Each server estimates the time of Postgres a little differently. */
const clockSkewMs = 5_000;
const pruneEveryMs = 600_000;
const longestMs = maxWatchTokenSeconds * 1_000;

type Calls = Pick<Queries, 'call' | 'callForLeases'>;

export class KnownWatchTokens {
  readonly #database: Calls;
  readonly #loop: Loop;
  readonly #tries = new Tries();
  /** By the header of the tokens that each secret signs. */
  #secrets = new Map<string, WatchSecret>();
  /** By tree: its tokens issued up to this time are revoked. */
  readonly #revokedMs = new Map<string, number>();
  #secretIds = new Set<number>();
  /** Rights in use that came from tokens or their tickets. */
  readonly #inUse = new Map<Admission, WatchedTree>();
  #seenTo = 0n;
  /** What to add to the clock of this process to get that of Postgres. */
  #offsetMs = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #shownAt = Number.NEGATIVE_INFINITY;
  #prunedAt = 0;
  #reading: Promise<void> | undefined;

  constructor({ database, logger }: { database: Calls; logger: Logger }) {
    this.#database = database;
    this.#loop = new Loop({
      look: async () => {
        const isIdle = this.#inUse.size === 0 && performance.now() - this.#shownAt > idleAfterMs;
        if (!isIdle) await this.#read();
        return readEveryMs;
      },
      logger,
      failure: 'the state of watch tokens could not be read; admitted ones stay valid until it is',
      retryMs: readEveryMs,
    });
  }

  /** Runs on servers without authentication, too: they also issue tokens. */
  async start(): Promise<void> {
    await initWatchSecret(this.#database);
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** The right of a token; throws, or rejects with, the refusal. */
  find(token: string, address: string): Admission | Promise<Admission> {
    const header = headerIn(token);
    if (header === undefined) throw refused();
    this.#shownAt = performance.now();
    if (!this.#isFresh) return this.#read().then(() => this.#judge(token, header, address));
    return this.#judge(token, header, address);
  }

  #judge(token: string, header: string, address: string): Admission | Promise<Admission> {
    const secret = this.#secrets.get(header);
    if (secret !== undefined) return this.#admitToken(token, secret);
    // A newer secret may have been created a moment ago; older ones have expired.
    if ((secretIdIn(header) ?? 0) <= Math.max(...this.#secretIds)) throw refused();
    return this.#tries.run(address, async () => {
      await this.#readAnew();
      return this.#admitToken(token, this.#secrets.get(header));
    });
  }

  /** The right of a ticket, which is used up by this. */
  async findByTicket(ticket: string, address: string): Promise<Admission> {
    this.#shownAt = performance.now();
    return this.#tries.run(address, async () => {
      if (!this.#isFresh) await this.#read();
      const tree = await useWatchTicket(this.#database, ticket);
      if (tree === undefined)
        throw new UnauthenticatedError('There is no such ticket, or it was used or has expired.');
      return this.#admit(tree);
    });
  }

  #admitToken(token: string, secret: WatchSecret | undefined): Admission {
    const tree = secret && readWatchToken(token, secret);
    if (tree === undefined) throw refused();
    return this.#admit(tree);
  }

  #admit(tree: WatchedTree): Admission {
    const { issuedMs, expiresMs } = tree;
    const nowMs = performance.now() + this.#offsetMs;
    // The service issues no such token, and would forget its revocation before the token expires.
    if (issuedMs > nowMs + clockSkewMs || expiresMs > issuedMs + longestMs) throw refused();
    if (expiresMs <= nowMs) throw new UnauthenticatedError('The watch token has expired.');
    if (this.#isRevoked(tree)) throw new UnauthenticatedError(revoked);
    return new Admission({
      caller: createTokenCaller(tree),
      until: expiresMs - this.#offsetMs,
      whenOver: 'The watch token has expired.',
      onUse: (admission, isUsed) => {
        if (isUsed) this.#inUse.set(admission, tree);
        else this.#inUse.delete(admission);
      },
    });
  }

  /** Revoked with its tree, or with the secret that signed it. */
  #isRevoked({ rootId, issuedMs, secretId }: WatchedTree): boolean {
    if (!this.#secretIds.has(secretId)) return true;
    const revokedMs = this.#revokedMs.get(rootId);
    return revokedMs !== undefined && issuedMs <= revokedMs;
  }

  get #isFresh(): boolean {
    return performance.now() - this.#readAt < freshMs;
  }

  /** One call at a time, shared by all who need it. */
  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Reads with a call that begins after this one. */
  async #readAnew(): Promise<void> {
    await this.#reading?.catch(() => {});
    await this.#read();
  }

  async #readNow(): Promise<void> {
    const askedAt = performance.now();
    let state = await readWatchTokens(this.#database, this.#seenTo);
    // Another Postgres, such as one restored from a backup, has other sequence numbers.
    if (state.seenTo < this.#seenTo) state = await readWatchTokens(this.#database, 0n);
    this.#seenTo = state.seenTo;
    // The time of Postgres is at least this late, so no token lasts longer than it says.
    this.#offsetMs = state.nowMs - askedAt;
    this.#secrets = new Map(state.secrets.map((secret) => [headerOf(secret.id), secret]));
    this.#secretIds = new Set(state.secrets.map(({ id }) => id));
    for (const { rootId, revokedMs } of state.revocations) this.#revokedMs.set(rootId, revokedMs);
    this.#readAt = askedAt;
    for (const [admission, tree] of this.#inUse) if (this.#isRevoked(tree)) admission.end(revoked);
    this.#prune(state.nowMs);
  }

  #prune(nowMs: number): void {
    if (performance.now() - this.#prunedAt < pruneEveryMs) return;
    this.#prunedAt = performance.now();
    for (const [rootId, revokedMs] of this.#revokedMs)
      if (revokedMs < nowMs - longestMs - clockSkewMs) this.#revokedMs.delete(rootId);
  }
}

const revoked = 'The watch token was revoked.';

/** The same message whatever is wrong with the token. */
const refused = () =>
  new UnauthenticatedError('The watch token is not one of this service, or is no longer valid.');
