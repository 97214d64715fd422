/** Answers to requests of which a part may still be on its way. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A refusal is sent while its request still comes; to read on for a while lets it arrive. */
const readOnMs = 1_000;

/** The rest of the request is not for us: the connection ends when the client has had time to read why. */
export function answerEarly(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  content: string | Buffer,
  headers: Record<string, string>,
): void {
  if (response.headersSent || response.destroyed) return;
  const isRead = request.complete;
  response.writeHead(status, {
    'content-length': String(Buffer.byteLength(content)),
    ...headers,
    ...(!isRead && { connection: 'close' }),
  });
  response.write(content);
  if (isRead) {
    response.end();
    return;
  }
  const end = () => response.end(() => request.socket.destroySoon());
  const timer = setTimeout(end, readOnMs);
  request.once('close', () => clearTimeout(timer));
  request.once('end', end);
  request.resume();
}
