/** A subscription for one reader that has seen a revision: it gets only newer states, and the final state in any case. */
import type { Live } from './live.ts';

export function newerThanKnown<Event>(live: Live<Event>): AsyncIterableIterator<Event> {
  const { sinceRevision } = live;
  if (sinceRevision === undefined) return live;
  let hasBegun = false;
  const next = async (): Promise<IteratorResult<Event>> => {
    for (;;) {
      const result = await live.next();
      if (hasBegun || result.done || live.isFinal || live.revision === undefined) return result;
      if (live.revision > sinceRevision) {
        hasBegun = true;
        // The reader may know a part of the last events from another server, but not all of them.
        return { done: false, value: live.snapshot() };
      }
      if (live.revision < sinceRevision) void live.refresh();
    }
  };
  const events = { next, return: () => live.return(), [Symbol.asyncIterator]: () => events };
  return events;
}
