/**
 * Who a request, a socket or a stream comes from. Whoever shows nothing that counts is told so before anything of what they ask is read;
 * what they may do is decided by the schema, beside each field.
 */
import type { IncomingMessage } from 'node:http';
import { anybody, createCaller } from '../domain/rights.ts';
import { UnauthenticatedError } from '../errors.ts';
import type { AddressOf } from './addresses.ts';
import type { KnownKeys } from './known-keys.ts';
import { Right } from './right.ts';

/** What a socket may send as a token, in characters; headers have a limit of their own. */
const maxTokenLength = 10_000;

const anybodysRight = new Right({ caller: anybody });
/** Of what is answered without asking who it is for. */
export const nobody = createCaller('nobody', []);

export class Authentication {
  readonly #keys: KnownKeys | undefined;
  readonly #addressOf: AddressOf;
  readonly #rights = new WeakMap<object, Right>();

  /** Without any way to show who one is, nobody has to. */
  constructor(options: { keys: KnownKeys | undefined; addressOf: AddressOf }) {
    this.#keys = options.keys;
    this.#addressOf = options.addressOf;
  }

  get isOpen(): boolean {
    return this.#keys === undefined;
  }

  /** The right that a request comes with; throws, or rejects with, the refusal. What is known by now is there at once. */
  admit(request: IncomingMessage): Right | Promise<Right> {
    if (this.isOpen) return anybodysRight;
    const right = this.#judge(request.headers.authorization, request);
    if (!(right instanceof Promise)) this.#rights.set(request, right);
    else return right.then((late) => this.#note(request, late));
    return right;
  }

  /** The same for a socket: by what it sends first, or else by the headers that it was opened with. */
  admitSocket(
    payload: Readonly<Record<string, unknown>> | undefined,
    request: IncomingMessage,
  ): Right | Promise<Right> {
    if (this.isOpen) return anybodysRight;
    const shown = payload?.authorization ?? payload?.Authorization;
    return this.#judge(shown === undefined ? request.headers.authorization : shown, request);
  }

  /** Of a request that was admitted. */
  rightOf(request: object | undefined): Right | undefined {
    return this.isOpen ? anybodysRight : request && this.#rights.get(request);
  }

  #note(request: IncomingMessage, right: Right): Right {
    this.#rights.set(request, right);
    return right;
  }

  #judge(shown: unknown, request: IncomingMessage): Right | Promise<Right> {
    if (shown === undefined)
      throw new UnauthenticatedError(
        'The request does not say who it comes from: it needs the header Authorization with Bearer and an API key.',
      );
    const token =
      typeof shown === 'string' && shown.length <= maxTokenLength && /^Bearer +(\S+)$/i.exec(shown);
    if (!token || this.#keys === undefined)
      throw new UnauthenticatedError('Authorization must be Bearer, a blank, and an API key.');
    return this.#keys.find(token[1] as string, this.#addressOf(request));
  }
}
