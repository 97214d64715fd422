/** A WebSocket without a library above it, that answers pings as the test says, or not at all. */
import { once } from 'node:events';
import { WebSocket } from 'ws';

export interface RawSocket {
  readonly socket: WebSocket;
  /** Every message so far, in order. */
  readonly messages: any[];
  send(message: unknown): void;
  /** The first message, of those so far and to come, for which it holds; fails if the socket closes before. */
  until(holds: (message: any) => boolean): Promise<any>;
  /** The code with which the socket is closed. */
  readonly closed: Promise<number>;
}

/** Called with each ping; `answer` sends the pong. */
type OnPing = (data: Buffer, answer: (data: Buffer) => void) => void;

/** Opens a socket and says hello. Without `onPing` it answers each ping at once. */
export async function openRaw(
  url: string,
  options: { onPing?: OnPing; headers?: Record<string, string>; hello?: boolean } = {},
): Promise<RawSocket> {
  const { onPing, headers, hello = true } = options;
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', {
    autoPong: onPing === undefined,
    perMessageDeflate: false,
    ...(headers && { headers }),
  });
  if (onPing !== undefined) {
    const answer = (data: Buffer) => {
      if (socket.readyState === WebSocket.OPEN) socket.pong(data);
    };
    socket.on('ping', (data: Buffer) => onPing(data, answer));
  }
  const messages: any[] = [];
  let look = () => {};
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)));
    look();
  });
  const closed = once(socket, 'close').then(([code]) => code as number);
  socket.on('error', () => {});
  const until = async (holds: (message: any) => boolean) => {
    let seen = 0;
    for (;;) {
      for (; seen < messages.length; seen++) if (holds(messages[seen])) return messages[seen];
      const code = await Promise.race([
        closed,
        new Promise<undefined>((resolve) => {
          look = () => resolve(undefined);
        }),
      ]);
      if (code !== undefined) throw new Error(`The socket was closed with ${code}.`);
    }
  };
  const send = (message: unknown) => socket.send(JSON.stringify(message));
  await once(socket, 'open');
  if (hello) {
    send({ type: 'connection_init' });
    await until(({ type }) => type === 'connection_ack');
  }
  return { socket, messages, send, until, closed };
}
