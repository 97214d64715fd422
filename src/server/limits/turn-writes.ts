/** Writes everything that a stream gets in one turn of the event loop with one system call. */
import type { Writable } from 'node:stream';

let corked: Writable[] = [];
let flushMs = 0;

/** Holds back writes to the stream until the end of this turn. */
export function writeAtEndOfTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  if (corked.push(stream) === 1) process.nextTick(flush);
}

/** How long flushing has taken since the last call, in milliseconds. */
export function takeFlushMs(): number {
  const taken = flushMs;
  flushMs = 0;
  return taken;
}

function flush(): void {
  const streams = corked;
  corked = [];
  const startedAt = performance.now();
  for (const stream of streams) stream.uncork();
  flushMs += performance.now() - startedAt;
}
