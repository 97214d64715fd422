/** Typed events. A listener that throws is told of, and harms neither the emitter nor other listeners. */

type Listeners<Events extends Record<string, readonly unknown[]>> = {
  [Name in keyof Events]?: readonly ((...args: Events[Name]) => void)[];
};

export class Emitter<Events extends Record<string, readonly unknown[]>> {
  /** Lists are replaced and never changed: whoever goes through one is not disturbed, and need not copy it. */
  readonly #listeners: Listeners<Events> = {};

  /** Calls the listener for each such event; returns what ends that. */
  on<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => void): () => void {
    const own = (...args: Events[Name]) => listener(...args);
    this.#listeners[name] = [...(this.#listeners[name] ?? []), own];
    return () => {
      this.#listeners[name] = this.#listeners[name]?.filter((one) => one !== own);
    };
  }

  /** Resolves with what the next such event brings. */
  once<Name extends keyof Events>(name: Name): Promise<Events[Name]> {
    return new Promise((resolve) => {
      const off = this.on(name, (...args) => {
        off();
        resolve(args);
      });
    });
  }

  /** Returns whether anybody listens. */
  protected emit<Name extends keyof Events>(name: Name, ...args: Events[Name]): boolean {
    const listeners = this.#listeners[name];
    if (listeners === undefined || listeners.length === 0) return false;
    for (const listener of listeners) {
      try {
        listener(...args);
      } catch (error) {
        console.error(`A listener for ${String(name)} threw:`, error);
      }
    }
    return true;
  }
}
