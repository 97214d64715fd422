/**
 * A client may send requests before earlier ones are answered. When it leaves, Node tells only the response that is just being
 * written, and none of those that wait behind it: they would count, and be waited for, for ever. So they are told here.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const waiting = new WeakMap<Socket, Set<ServerResponse>>();

/** The response closes with its connection, also while it waits behind another one. */
export function closeWithConnection(socket: Socket, response: ServerResponse): void {
  // It is its turn already.
  if (response.socket !== null) return;
  const behind = waiting.get(socket) ?? watch(socket);
  behind.add(response);
  response.once('close', () => behind.delete(response));
}

function watch(socket: Socket): Set<ServerResponse> {
  const behind = new Set<ServerResponse>();
  waiting.set(socket, behind);
  socket.once('close', () => closeAll(behind));
  return behind;
}

function closeAll(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) {
    // Node does so itself for the one that has the connection.
    if (response.socket !== null) continue;
    response.destroy();
    response.emit('close');
  }
}
