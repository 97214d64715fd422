/**
 * Node's EventEmitter with a worker's events: `once`, `off` and `events.on(worker, name)` are as they are everywhere. But an event without
 * a listener, `error` included, is no exception, and a listener that throws is told of and harms neither the worker nor other listeners.
 */
import type { EventEmitter as NodeEmitter } from 'node:events';
import type { WorkerEvents } from './events.ts';

// Bundlers for pages find no import here: a page has no workers, there the class is but a name.
const EventEmitter = (globalThis.process?.getBuiltinModule?.('node:events').EventEmitter ??
  class {}) as typeof NodeEmitter;

export class Emitter extends EventEmitter<WorkerEvents> {
  /** Returns whether anybody listens. */
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
