/**
 * A packet may hold ten thousand chunks of one byte, each of which takes as long as a kilobyte of others, and a hundred times its memory: a
 * hundred such bodies blocked the server for ten seconds. So a body in many of them is refused, whoever reads it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerError } from './answer-error.ts';

const tinyBytes = 16;
const mostTiny = 1_000;

export function refuseTinyChunks(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  const push = request.push.bind(request);
  let tiny = 0;
  // Before anybody gets them: what is left of a packet is only counted.
  request.push = (chunk: Buffer | null, encoding) => {
    if (tiny > mostTiny) return false;
    if (chunk === null || chunk.length >= tinyBytes || ++tiny <= mostTiny) return push(chunk, encoding);
    refuse(request, response);
    return false;
  };
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) return void request.destroy();
  response.once('finish', () => request.socket.destroySoon());
  const message = `The body comes in more than ${mostTiny.toLocaleString('en')} chunks of less than ${tinyBytes} bytes. Send larger ones.`;
  answerError(response, 400, { code: 'BAD_REQUEST', message });
}
