/**
 * The public keys of a token issuer. They are fetched when first needed, regularly after that, and when a token names an unknown key, which may
 * be new. While the issuer is down or hangs, known keys stay valid, and only tokens with unknown keys wait.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { fetchJson } from './fetch-json.ts';

const fetchWithinMs = 3_000;
const refreshMs = 300_000;
/** Unknown keys cause no more fetches than one in this time. */
const lookAgainMs = 5_000;
const maxBytes = 1_000_000;

export class KeySet {
  readonly #url: string;
  readonly #logger: Logger;
  #keys: JWTVerifyGetKey | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> | undefined;

  constructor({ url, logger }: { url: string; logger: Logger }) {
    this.#url = url;
    this.#logger = logger;
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    const askedAt = performance.now();
    if (this.#keys === undefined) await this.#fetch();
    else if (performance.now() - this.#fetchedAt > refreshMs) void this.#fetch();
    try {
      return await this.#known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#fetchedAt >= askedAt) throw error;
      await this.#fetch();
      // The key may be new without having been fetched: the last fetch was just before, for another key, or the issuer did not answer.
      if (this.#fetchedAt < askedAt) throw new KeysUnknownError();
      return this.#known(header, token);
    }
  };

  #known: JWTVerifyGetKey = async (header, token) => {
    if (this.#keys === undefined) throw new KeysUnknownError();
    return this.#keys(header, token);
  };

  /** One fetch at a time serves all who wait. Never rejects. */
  #fetch(): Promise<void> {
    if (this.#underWay === undefined && performance.now() - this.#triedAt < lookAgainMs)
      return Promise.resolve();
    this.#triedAt = performance.now();
    this.#underWay ??= this.#read()
      .catch((error: unknown) => {
        this.#logger.warn(
          { err: error },
          'the keys of the token issuer could not be fetched; known keys stay valid',
        );
      })
      .finally(() => {
        this.#underWay = undefined;
      });
    return this.#underWay;
  }

  async #read(): Promise<void> {
    const keys = await fetchJson(this.#url, { withinMs: fetchWithinMs, maxBytes });
    this.#keys = createLocalJWKSet(keys as JSONWebKeySet);
    this.#fetchedAt = performance.now();
  }
}

/** For now it is unknown whether the issuer has the key. */
export class KeysUnknownError extends Error {}
