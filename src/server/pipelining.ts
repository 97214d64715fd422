/** A client may send requests before earlier ones are answered. Their answers go back in the order of the requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Of one connection, under way. Hundreds can come in one packet: the others wait, and nothing more is read meanwhile. */
const atOnce = 10;

interface Line {
  active: number;
  readonly waiting: (() => void)[];
  /** Of those that are active, whose turn to be written has not come. */
  readonly unwritten: Set<ServerResponse>;
}

const lines = new WeakMap<Socket, Line>();

/** Begins at once, or when enough of the earlier requests on the connection have been answered; not at all if it closes before. */
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
  } else {
    line.waiting.push(start);
    socket.pause();
  }
}

function newLine(socket: Socket): Line {
  const line: Line = { active: 0, waiting: [], unwritten: new Set() };
  lines.set(socket, line);
  socket.once('close', () => closeAll(line.unwritten));
  return line;
}

/**
 * When a client leaves, Node tells only the response that is just being written, and none of those that wait behind it: they would
 * count, and be waited for, for ever. So they are told here.
 */
function closeWithConnection({ unwritten }: Line, response: ServerResponse): void {
  // It is its turn already.
  if (response.socket !== null) return;
  unwritten.add(response);
  response.once('close', () => unwritten.delete(response));
}

function closeAll(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) {
    // Node does so itself for the one that has the connection.
    if (response.socket !== null) continue;
    response.destroy();
    response.emit('close');
  }
}
