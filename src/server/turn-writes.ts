/** What is written to a stream in one turn of the event loop goes to the system in one call. */
import type { Writable } from 'node:stream';

let corked: Writable[] = [];
let flushMs = 0;

/** What is written to the stream now waits until the end of this turn. */
export function writeAtEndOfTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  if (corked.push(stream) === 1) process.nextTick(flush);
}

/** The time that it took since this was last asked, in milliseconds. */
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
