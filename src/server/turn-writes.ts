/** What is written to a stream in one turn of the event loop goes to the system in one call. */
import type { Writable } from 'node:stream';

let corked: Writable[] = [];

/** What is written to the stream now waits until the end of this turn. */
export function writeAtEndOfTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  if (corked.push(stream) === 1) process.nextTick(flush);
}

function flush(): void {
  const streams = corked;
  corked = [];
  for (const stream of streams) stream.uncork();
}
