/** Redis as its subscribers see it behind a network that loses messages: only those that were published, and only some. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface LossyRedis {
  readonly url: string;
  /** Whether this message is to be lost; none until this is set. */
  loses: (channel: string, text: string) => boolean;
  close(): Promise<void>;
}

export async function startLossyRedis(redisUrl: string): Promise<LossyRedis> {
  const target = new URL(redisUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (chunk) => upstream.write(chunk));
    let rest = Buffer.alloc(0);
    upstream.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end = endOfReply(rest, 0); end !== undefined; end = endOfReply(rest, 0)) {
        const reply = rest.subarray(0, end);
        rest = rest.subarray(end);
        const [kind, channel = '', text = ''] = String(reply)
          .split('\r\n')
          .filter((_, line) => line > 0 && line % 2 === 0);
        if (kind !== 'message' || !lossy.loses(channel, text)) client.write(reply);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(redisUrl);
  url.port = String((server.address() as AddressInfo).port);
  const lossy: LossyRedis = {
    url: url.href,
    loses: () => false,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return lossy;
}

/** Where a reply of Redis (RESP2) that begins here ends; undefined if not all of it is there. */
function endOfReply(buffer: Buffer, start: number): number | undefined {
  const lineEnd = buffer.indexOf('\r\n', start);
  if (lineEnd < 0) return undefined;
  const type = String.fromCharCode(buffer[start] as number);
  const count = Number(buffer.subarray(start + 1, lineEnd));
  let end: number | undefined = lineEnd + 2;
  if (type === '$' && count >= 0) end += count + 2;
  if (type === '*') for (let i = 0; i < count && end !== undefined; i++) end = endOfReply(buffer, end);
  return end !== undefined && end <= buffer.length ? end : undefined;
}
