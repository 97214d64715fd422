/**
 * Identifies the caller of a request, a socket or a stream. Without valid credentials it is refused before anything it asks for is read; what a
 * caller may do is decided by the schema, beside each field.
 */
import type { IncomingMessage } from 'node:http';
import { keyPrefix } from '../../domain/access/api-keys.ts';
import { anybody, createCaller } from '../../domain/access/rights.ts';
import { watchTokenPrefix } from '../../domain/access/watch-tokens.ts';
import { UnauthenticatedError } from '../../errors.ts';
import type { AddressOf } from './addresses.ts';
import { Admission } from './admission.ts';
import type { KnownKeys } from './known-keys.ts';
import type { KnownTokens } from './known-tokens.ts';
import type { KnownWatchTokens } from './known-watch-tokens.ts';
import type { TrustedProxy } from './trusted-proxy.ts';

/** Longest token that a socket may send, in characters; headers have a limit of their own. */
const maxTokenLength = 10_000;

const anybodysAdmission = new Admission({ caller: anybody });
/** The caller of requests that are answered without authentication. */
export const nobody = createCaller('nobody', []);

/** Where a request carries the right that it was admitted with. */
const admitted = Symbol('right');
type Admitted = object & { [admitted]?: Admission };

export class Authentication {
  readonly #keys: KnownKeys | undefined;
  readonly #tokens: KnownTokens | undefined;
  readonly #proxy: TrustedProxy | undefined;
  readonly #watchTokens: KnownWatchTokens;
  readonly #addressOf: AddressOf;

  /** If no way to authenticate is configured, nobody has to. */
  constructor(options: {
    keys: KnownKeys | undefined;
    tokens: KnownTokens | undefined;
    proxy: TrustedProxy | undefined;
    watchTokens: KnownWatchTokens;
    addressOf: AddressOf;
  }) {
    this.#keys = options.keys;
    this.#tokens = options.tokens;
    this.#proxy = options.proxy;
    this.#watchTokens = options.watchTokens;
    this.#addressOf = options.addressOf;
  }

  get isOpen(): boolean {
    return this.#keys === undefined && this.#tokens === undefined && this.#proxy === undefined;
  }

  /** The right that a request comes with: at once if it is already known. Throws, or rejects with, the refusal. */
  admit(request: IncomingMessage): Admission | Promise<Admission> {
    if (this.isOpen) return anybodysAdmission;
    const admission = this.#judge(request.headers.authorization, request);
    return admission instanceof Promise
      ? admission.then((late) => note(request, late))
      : note(request, admission);
  }

  /** The same for a socket: from its first message, or else from the headers of the request that opened it. */
  admitSocket(
    payload: Readonly<Record<string, unknown>> | undefined,
    request: IncomingMessage,
  ): Admission | Promise<Admission> {
    if (this.isOpen) return anybodysAdmission;
    const shown = payload?.authorization ?? payload?.Authorization;
    return this.#judge(shown === undefined ? request.headers.authorization : shown, request);
  }

  /** The right of a request that was admitted. */
  admissionOf(request: Admitted | undefined): Admission | undefined {
    return this.isOpen ? anybodysAdmission : request?.[admitted];
  }

  #judge(shown: unknown, request: IncomingMessage): Admission | Promise<Admission> {
    if (shown === undefined) {
      const ticket = ticketOf(request);
      if (ticket !== undefined) return this.#watchTokens.findByTicket(ticket, this.#addressOf(request));
      const admission = this.#proxy?.find(request);
      if (admission !== undefined) return admission;
      throw new UnauthenticatedError(
        'The request has no key or token: set JOBTREE_TOKEN, or send the header Authorization with "Bearer", a space and the key.',
      );
    }
    const token =
      typeof shown === 'string' && shown.length <= maxTokenLength
        ? /^Bearer +(\S+)$/i.exec(shown)?.[1]
        : undefined;
    if (token === undefined)
      throw new UnauthenticatedError('Authorization must be "Bearer", a space, and a key or token.');
    if (token.startsWith(watchTokenPrefix)) return this.#watchTokens.find(token, this.#addressOf(request));
    const ways = token.startsWith(keyPrefix) ? this.#keys : this.#tokens;
    if (ways === undefined)
      throw new UnauthenticatedError(
        'This server does not accept this kind of key or token: see its setting JOBTREE_AUTH.',
      );
    return ways.find(token, this.#addressOf(request));
  }
}

function note(request: Admitted, admission: Admission): Admission {
  request[admitted] = admission;
  return admission;
}

/** The ticket of an EventSource, which can send no headers: good for one use. Nothing else in a URL authenticates anybody. */
function ticketOf({ method, url = '', headers }: IncomingMessage): string | undefined {
  if (method !== 'GET' || headers.accept?.includes('text/event-stream') !== true) return undefined;
  const start = url.indexOf('?');
  return start < 0 ? undefined : (new URLSearchParams(url.slice(start + 1)).get('ticket') ?? undefined);
}
