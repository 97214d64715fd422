/**
 * Watch tokens, and the tickets for event streams that are made with them. A token is verified each time that it is shown, which takes some
 * microseconds and no look-up. While any are shown, or anything rests upon one, all that there is to know beside (the secrets, which trees have
 * had theirs revoked, and what time it is) is read once a second, in one call: so a revocation is known everywhere within about two
 * seconds, for as long as Postgres answers. While it does not, what rests upon a token goes on, and new ones have to wait.
 */
import type { Logger } from 'pino';
import type { Queries } from '../db/database.ts';
import { createTokenCaller, type WatchedTree } from '../domain/rights.ts';
import {
  headerIn,
  headerOf,
  initWatchSecret,
  maxWatchTokenSeconds,
  readWatchToken,
  readWatchTokens,
  secretIdIn,
  useWatchTicket,
  type WatchSecret,
} from '../domain/watch-tokens.ts';
import { UnauthenticatedError } from '../errors.ts';
import { Loop } from './loop.ts';
import { Right } from './right.ts';
import { Tries } from './tries.ts';

const readEveryMs = 1_000;
/** What was read before that is read again before a token counts. */
const freshMs = 3_000;
/** Without a token for so long, and nothing that rests upon one, nothing is read. */
const idleAfterMs = 60_000;
/** Servers estimate the time of Postgres, each a little differently. */
const clockSkewMs = 5_000;
const pruneEveryMs = 600_000;
const longestMs = maxWatchTokenSeconds * 1_000;

type Calls = Pick<Queries, 'call' | 'callForLeases'>;

export class KnownWatchTokens {
  readonly #database: Calls;
  readonly #loop: Loop;
  readonly #tries = new Tries();
  /** By the header of the tokens that they sign. */
  #secrets = new Map<string, WatchSecret>();
  /** By tree: its tokens that were made until then are revoked. */
  readonly #revokedMs = new Map<string, number>();
  #secretIds = new Set<number>();
  /** What rests upon tokens, or tickets of theirs. */
  readonly #inUse = new Map<Right, WatchedTree>();
  #seenTo = 0n;
  /** From the clock of this process to that of Postgres. */
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
      failure: 'watch tokens could not be looked up; until they are, those that were valid stay valid',
      retryMs: readEveryMs,
    });
  }

  /** Also where nobody is asked who they are: tokens are made there, too. */
  async start(): Promise<void> {
    await initWatchSecret(this.#database);
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** What a token gives; throws, or rejects with, the refusal. */
  find(token: string, address: string): Right | Promise<Right> {
    const header = headerIn(token);
    if (header === undefined) throw refused();
    this.#shownAt = performance.now();
    if (!this.#isFresh) return this.#read().then(() => this.#judge(token, header, address));
    return this.#judge(token, header, address);
  }

  #judge(token: string, header: string, address: string): Right | Promise<Right> {
    const secret = this.#secrets.get(header);
    if (secret !== undefined) return this.#admitToken(token, secret);
    // There may be a newer secret, since a moment ago; older ones are over.
    if ((secretIdIn(header) ?? 0) <= Math.max(...this.#secretIds)) throw refused();
    return this.#tries.run(address, async () => {
      await this.#readAnew();
      return this.#admitToken(token, this.#secrets.get(header));
    });
  }

  /** The same for a ticket, which is used up by that. */
  async findByTicket(ticket: string, address: string): Promise<Right> {
    this.#shownAt = performance.now();
    return this.#tries.run(address, async () => {
      if (!this.#isFresh) await this.#read();
      const tree = await useWatchTicket(this.#database, ticket);
      if (tree === undefined)
        throw new UnauthenticatedError('There is no such ticket, or it was used, or is over.');
      return this.#admit(tree);
    });
  }

  #admitToken(token: string, secret: WatchSecret | undefined): Right {
    const tree = secret && readWatchToken(token, secret);
    if (tree === undefined) throw refused();
    return this.#admit(tree);
  }

  #admit(tree: WatchedTree): Right {
    const { issuedMs, expiresMs } = tree;
    const nowMs = performance.now() + this.#offsetMs;
    // Nobody makes one like that, and a revocation is forgotten by the time that one could end.
    if (issuedMs > nowMs + clockSkewMs || expiresMs > issuedMs + longestMs) throw refused();
    if (expiresMs <= nowMs) throw new UnauthenticatedError('The watch token is over.');
    if (this.#isRevoked(tree)) throw new UnauthenticatedError(revoked);
    return new Right({
      caller: createTokenCaller(tree),
      until: expiresMs - this.#offsetMs,
      whenOver: 'The watch token is over.',
      onUse: (right, isUsed) => {
        if (isUsed) this.#inUse.set(right, tree);
        else this.#inUse.delete(right);
      },
    });
  }

  /** With its tree, or with the secret that signed it. */
  #isRevoked({ rootId, issuedMs, secretId }: WatchedTree): boolean {
    if (!this.#secretIds.has(secretId)) return true;
    const revokedMs = this.#revokedMs.get(rootId);
    return revokedMs !== undefined && issuedMs <= revokedMs;
  }

  get #isFresh(): boolean {
    return performance.now() - this.#readAt < freshMs;
  }

  /** One call at a time, for all that need it. */
  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** By a call that begins after this one. */
  async #readAnew(): Promise<void> {
    await this.#reading?.catch(() => {});
    await this.#read();
  }

  async #readNow(): Promise<void> {
    const askedAt = performance.now();
    let state = await readWatchTokens(this.#database, this.#seenTo);
    // Another Postgres, such as one from a backup: its numbers are others.
    if (state.seenTo < this.#seenTo) state = await readWatchTokens(this.#database, 0n);
    this.#seenTo = state.seenTo;
    // It is as late as that at least, so no token is good for longer than it says.
    this.#offsetMs = state.nowMs - askedAt;
    this.#secrets = new Map(state.secrets.map((secret) => [headerOf(secret.id), secret]));
    this.#secretIds = new Set(state.secrets.map(({ id }) => id));
    for (const { rootId, revokedMs } of state.revocations) this.#revokedMs.set(rootId, revokedMs);
    this.#readAt = askedAt;
    for (const [right, tree] of this.#inUse) if (this.#isRevoked(tree)) right.end(revoked);
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

/** The same whatever is wrong with it. */
const refused = () =>
  new UnauthenticatedError('The watch token is none of this service, or is not good any more.');
