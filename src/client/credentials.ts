/** How a client shows who it is. */

/** The text of an API key or token; or what gives one, and is asked again when the server refuses the one before. */
export type Token = string | (() => string | Promise<string>);

/** A token that was just given and is refused, too, shows that asking again is no use. */
const mostRefusals = 2;

export class Credentials {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #token: Token | undefined;
  /** What was given last; undefined once it is refused. */
  #shown: string | undefined;
  #given: Promise<string | undefined> | undefined;
  #refusals = 0;

  constructor(headers: Readonly<Record<string, string>>, token: Token | undefined) {
    this.#headers = headers;
    // An empty variable of the environment is none.
    this.#token = token ?? (globalThis.process?.env?.JOBTREE_TOKEN || undefined);
  }

  /** The headers that every request has. */
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

  /** The server has refused what it was shown: `shown`, or else the last one. Gives whether there may be another token now. */
  refused(shown = this.#shown): boolean {
    if (typeof this.#token !== 'function') return false;
    // Another operation with it has heard so before.
    if (shown !== this.#shown) return true;
    this.#given = undefined;
    this.#shown = undefined;
    this.#refusals++;
    return this.#refusals < mostRefusals;
  }
}
