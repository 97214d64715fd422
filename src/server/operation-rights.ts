/**
 * A socket may belong to nobody, and each of its operations show a watch token of its own: so a page has one connection for bars of many trees. It
 * asks for that by the word that it sends in place of a token when it opens the socket. An operation is judged by its token alone, and ends with it;
 * the others go on.
 *
 * Whoever can't show a good token can't stay: the socket ends when there has been no operation with one for as long as anybody may take to say who
 * they are. All tokens count for the address that they come from, so it does not matter which of them a socket carries.
 */
import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import type { Caller } from '../domain/rights.ts';
import { UnauthenticatedError } from '../errors.ts';
import type { Authentication } from './authentication.ts';
import { badRequest } from './request-body.ts';
import type { Right } from './right.ts';
import { initTimeoutMs, type Operation } from './socket-protocol.ts';

/** What such a socket shows first. */
const perOperation = 'per-operation';

export class OperationRights {
  readonly #authentication: Authentication;
  readonly #request: IncomingMessage;
  readonly #onNobody: () => void;
  #isOn = false;
  #isOver = false;
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onNobody` is called when no operation has shown a good token for too long. */
  constructor(options: { authentication: Authentication; request: IncomingMessage; onNobody: () => void }) {
    this.#authentication = options.authentication;
    this.#request = options.request;
    this.#onNobody = options.onNobody;
  }

  /** Whether the socket is one of these, by what it sent first. Where nobody is asked none is. */
  begin(payload: Readonly<Record<string, unknown>> | undefined): boolean {
    this.#isOn = !this.#authentication.isOpen && payload?.authorization === perOperation;
    if (this.#isOn) this.#wait();
    return this.#isOn;
  }

  /** Who is to be asked for this operation; throws, or rejects with, the refusal. Undefined where the socket says it for all. */
  callerOf(operation: Operation): Caller | Promise<Caller> | undefined {
    const shown = operation.payload.extensions?.authorization;
    if (!this.#isOn) {
      if (shown === undefined || this.#authentication.isOpen) return undefined;
      throw badRequest(
        'This connection shows a key or token for all of its operations; none has one of its own.',
      );
    }
    if (shown === undefined)
      throw new UnauthenticatedError(
        'On this connection each operation needs a watch token: Bearer and the token, in extensions.authorization.',
      );
    const admitted = this.#authentication.admitSocket({ authorization: shown }, this.#request);
    return admitted instanceof Promise
      ? admitted.then((right) => this.#enter(right, operation))
      : this.#enter(admitted, operation);
  }

  /** The socket is closed. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #enter(right: Right, operation: Operation): Caller {
    if (right.caller.watchToken === null)
      throw new UnauthenticatedError('On this connection operations show watch tokens, and nothing else.');
    clearTimeout(this.#timer);
    this.#underWay++;
    const leave = right.enter((reason) => operation.cutOff(overError(reason)));
    operation.onEnd.push(() => {
      leave();
      this.#underWay--;
      if (this.#underWay === 0) this.#wait();
    });
    return right.caller;
  }

  #wait(): void {
    if (!this.#isOver) this.#timer = setTimeout(this.#onNobody, initTimeoutMs).unref();
  }
}

/** Clients can tell it from a refusal: the token was good, so the next one may well be. */
function overError(reason: string): GraphQLError {
  return new GraphQLError(reason, { extensions: { code: 'UNAUTHENTICATED', ended: true } });
}
