/**
 * A socket may be opened without a caller, so that each of its operations shows a watch token of its own: a page then needs only one connection
 * for the progress bars of many trees. It asks for this with a word in place of a token when it opens the socket. An operation is judged by its
 * token alone, and ends with it; the others go on.
 *
 * The socket ends if no operation with a valid token has run on it for the time that a client has to authenticate. All tokens count for the
 * address that they come from, so it does not matter which socket carries which of them.
 */
import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import type { Caller } from '../../domain/access/rights.ts';
import { UnauthenticatedError } from '../../errors.ts';
import { badRequest } from '../http/request-body.ts';
import type { Admission } from '../rights/admission.ts';
import type { Authentication } from '../rights/authentication.ts';
import type { Operation } from './running-operations.ts';
import { initTimeoutMs } from './socket-protocol.ts';

/** Sent in place of a token when such a socket is opened. */
const perOperation = 'per-operation';

export class OperationAdmissions {
  readonly #authentication: Authentication;
  readonly #request: IncomingMessage;
  readonly #onNobody: () => void;
  #isOn = false;
  #isOver = false;
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onNobody` is called when there has been no operation with a valid token for too long. */
  constructor(authentication: Authentication, request: IncomingMessage, onNobody: () => void) {
    this.#authentication = authentication;
    this.#request = request;
    this.#onNobody = onNobody;
  }

  /** Whether the socket is one of these, by its first message. None is on a server without authentication. */
  begin(payload: Readonly<Record<string, unknown>> | undefined): boolean {
    this.#isOn = !this.#authentication.isOpen && payload?.authorization === perOperation;
    if (this.#isOn) this.#wait();
    return this.#isOn;
  }

  /** The caller of this operation; throws, or rejects with, the refusal. Undefined if the socket has one caller for all. */
  callerOf(operation: Operation): Caller | Promise<Caller> | undefined {
    const shown = operation.payload.extensions?.authorization;
    if (!this.#isOn) {
      if (shown === undefined || this.#authentication.isOpen) return undefined;
      throw badRequest(
        'This connection has one key or token for all its operations; an operation must not send its own.',
      );
    }
    if (shown === undefined)
      throw new UnauthenticatedError(
        'On this connection each operation needs a watch token: "Bearer", a space and the token, in extensions.authorization.',
      );
    const admitted = this.#authentication.admitSocket({ authorization: shown }, this.#request);
    return admitted instanceof Promise
      ? admitted.then((admission) => this.#enter(admission, operation))
      : this.#enter(admitted, operation);
  }

  /** Called when the socket has closed. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #enter(admission: Admission, operation: Operation): Caller {
    if (admission.caller.watchToken === null)
      throw new UnauthenticatedError('On this connection operations can only use watch tokens.');
    clearTimeout(this.#timer);
    this.#underWay++;
    const leave = admission.enter((reason) => operation.cutOff(overError(reason)));
    operation.onEnd.push(() => {
      leave();
      this.#underWay--;
      if (this.#underWay === 0) this.#wait();
    });
    return admission.caller;
  }

  #wait(): void {
    if (!this.#isOver) this.#timer = setTimeout(this.#onNobody, initTimeoutMs).unref();
  }
}

/** `ended` tells clients that this is not a refusal: the token was valid, so the next one may be, too. */
function overError(reason: string): GraphQLError {
  return new GraphQLError(reason, { extensions: { code: 'UNAUTHENTICATED', ended: true } });
}
