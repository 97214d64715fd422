/**
 * Node's EventEmitter with a worker's events: `once`, `off` and `events.on(worker, name)` work as usual. There are two
 * differences: an event without a listener, even `error`, does not throw, and a listener that throws is logged to the console and
 * harms neither the worker nor other listeners.
 */
import type { EventEmitter as NodeEmitter } from 'node:events';
import type { WorkerEvents } from './events.ts';

// Not imported, so that bundlers for browsers find no node:events. A page has no workers; there the base class is empty.
const EventEmitter = (globalThis.process?.getBuiltinModule?.('node:events').EventEmitter ??
  class {}) as typeof NodeEmitter;

/** Emits an event. Returns whether there are listeners. */
export type Tell = <Name extends keyof WorkerEvents>(name: Name, ...args: WorkerEvents[Name]) => boolean;

export class Emitter extends EventEmitter<WorkerEvents> {
  /** Returns whether there are listeners. */
  protected tell<Name extends keyof WorkerEvents>(name: Name, ...args: WorkerEvents[Name]): boolean {
    if (this.listenerCount(name) === 0) return false;
    for (const listener of this.rawListeners(name)) {
      try {
        Reflect.apply(listener, this, args);
      } catch (error) {
        console.error(`A listener for ${name} threw:`, error);
      }
    }
    return true;
  }
}
