/** Pipelining: a client may send requests before earlier ones are answered. Node sends the answers in the order of the requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Concurrent requests of one connection. A packet may hold hundreds: the rest waits, and meanwhile nothing more is read. */
const atOnce = 10;
/** Those that wait take some kilobytes each: a connection with more is ended, since no answer may come before those of the others. */
const mostWaiting = 40;

interface Line {
  active: number;
  readonly waiting: (() => void)[];
  /** Active responses whose turn to be written has not come. */
  readonly unwritten: Set<ServerResponse>;
}

const lines = new WeakMap<Socket, Line>();

/** Begins at once, or when enough earlier requests on the connection have been answered; never if the connection closes first. */
export function inLine({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
  const line = lines.get(socket) ?? newLine(socket);
  const start = () => {
    line.active++;
    closeWithConnection(line, response);
    response.once('close', () => {
      line.active--;
      if (socket.destroyed) return;
      line.waiting.shift()?.();
      if (line.waiting.length === 0 && socket.isPaused()) socket.resume();
    });
    begin();
  };
  if (line.active < atOnce) {
    start();
  } else if (line.waiting.length < mostWaiting) {
    line.waiting.push(start);
    socket.pause();
  } else {
    socket.destroy();
  }
}

function newLine(socket: Socket): Line {
  const line: Line = { active: 0, waiting: [], unwritten: new Set() };
  lines.set(socket, line);
  socket.once('close', () => closeAll(line.unwritten));
  return line;
}

/**
 * When a client disconnects, Node emits "close" only on the response that is being written. Those behind it would count, and be waited for, for
 * ever, so "close" is emitted for them here.
 */
function closeWithConnection({ unwritten }: Line, response: ServerResponse): void {
  // The response already has the connection.
  if (response.socket !== null) return;
  unwritten.add(response);
  response.once('close', () => unwritten.delete(response));
}

function closeAll(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) {
    // Node closes the response that has the connection itself.
    if (response.socket !== null) continue;
    response.destroy();
    response.emit('close');
  }
}
