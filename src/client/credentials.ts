/** How a client shows the server who it is. */

/** An API key or token, or a function that returns one and is called again when the server refuses the previous one. */
export type Token = string | (() => string | Promise<string>);

/** If a token that was only just obtained is refused as well, asking again is no use. */
const mostRefusals = 2;

export class Credentials {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #token: Token | undefined;
  /** The header that was sent last; undefined once it is refused. */
  #shown: string | undefined;
  #given: Promise<string | undefined> | undefined;
  #refusals = 0;

  constructor(headers: Readonly<Record<string, string>>, token: Token | undefined) {
    this.#headers = headers;
    // An empty environment variable counts as not set.
    this.#token = token ?? (globalThis.process?.env?.JOBTREE_TOKEN || undefined);
  }

  /** The headers of every request. */
  async headers(): Promise<Readonly<Record<string, string>>> {
    const authorization = await this.authorization();
    return authorization === undefined ? this.#headers : { ...this.#headers, authorization };
  }

  async authorization(): Promise<string | undefined> {
    if (this.#token === undefined) return undefined;
    this.#given ??= this.#ask(this.#token);
    return this.#given;
  }

  async #ask(token: Token): Promise<string> {
    try {
      // What throws at once would be forgotten before it is kept.
      await undefined;
      this.#shown = `Bearer ${typeof token === 'string' ? token : await token()}`;
      return this.#shown;
    } catch (error) {
      this.#given = undefined;
      throw error;
    }
  }

  accepted(): void {
    this.#refusals = 0;
  }

  /** The server has refused this header. Returns whether there may be another token now. */
  refused(shown: string | undefined): boolean {
    if (typeof this.#token !== 'function') return false;
    // Another operation with the same token has already reported this.
    if (shown !== this.#shown) return true;
    this.#given = undefined;
    this.#shown = undefined;
    this.#refusals++;
    return this.#refusals < mostRefusals;
  }
}
