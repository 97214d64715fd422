import type { ClientOptions } from 'ws';
import type { Texts } from './texts.ts';

export const connectWithinMs = 5_000;
/** How long the other side may take to confirm the close of a connection. */
const closeWithinMs = 1_000;
/** Codes with which graphql-ws closes a connection whose other side is silent, in the end or from the beginning: it would not confirm the close either. */
const unanswered: readonly (number | undefined)[] = [4499, 4504];
/** The largest message from the server, in bytes: a claim of many large payloads is one message. */
const maxMessageBytes = 512 * 1024 * 1024;

/** The WebSocket of Node itself can't send headers, so Node uses the package `ws`; browsers have only their own. */
export async function defaultWebSocket(
  headers: Readonly<Record<string, string>>,
  texts: Texts | undefined,
): Promise<unknown> {
  if (globalThis.process?.versions?.node === undefined) return globalThis.WebSocket;
  const { WebSocket } = await import('ws');
  const Own = class extends WebSocket {
    constructor(address: string, protocols: string | string[]) {
      super(address, protocols, {
        headers,
        maxPayload: maxMessageBytes,
        perMessageDeflate: false,
        handshakeTimeout: connectWithinMs,
        closeTimeout: closeWithinMs,
      } as ClientOptions);
      // A connection that is abandoned before it is open emits an error after graphql-ws has stopped listening, which would be uncaught.
      this.on('error', () => {});
    }

    override close(code?: number, reason?: string): void {
      if (unanswered.includes(code)) this.terminate();
      else super.close(code, reason);
    }
  };
  return texts?.over(Own) ?? Own;
}
