import type { Socket } from 'node:net';

/** Resolves when a connection is at its end, also by a reset: that is an error for whoever just writes, and rejects `once`. */
export const closed = (socket: Socket) =>
  new Promise((resolve) => {
    socket.on('error', () => {}).once('close', resolve);
  });
