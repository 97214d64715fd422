/** Answers requests whose body may still be arriving. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long we go on reading a request after we refused it, so that the client gets to read the refusal. */
const readOnMs = 1_000;

/** Nobody needs the rest of the request: the connection ends once the client has had time to read the answer. */
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
