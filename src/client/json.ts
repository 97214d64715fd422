/**
 * Checks that JSON can carry a value, and that Postgres can store it. JSON.stringify silently turns NaN, functions and the
 * contents of a Map into null or nothing; here they are refused, with the path to them. A member that is undefined counts as
 * absent, as everywhere in JavaScript.
 */

/** A value that JSON can't carry; `path` leads to it. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';
  readonly path: string;

  constructor(path: string, why: string) {
    super(`${path} ${why}`);
    this.path = path;
  }
}

/** The server's limit. */
const deepest = 256;

/**
 * Checks a value that is to be sent as JSON. Returns its rough size: the units of its JSON text, not counting escapes.
 *
 * @throws NotJsonError
 */
export function checkJson(value: unknown, path: string): number {
  return new Walk(path).visit(value);
}

/** The bytes of a value's JSON text: what the limits of the server count. */
export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

class Walk {
  readonly #path: string;
  readonly #keys: (string | number)[] = [];
  readonly #above: object[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  visit(value: unknown): number {
    switch (typeof value) {
      case 'string':
        return this.#string(value, '');
      case 'number':
        if (!Number.isFinite(value)) throw this.#error(`is ${value}, which JSON can't express.`);
        return 24;
      case 'boolean':
        return 5;
      case 'object':
        return value === null ? 4 : this.#object(value);
      case 'undefined':
        throw this.#error('is undefined, which is not JSON; use null.');
      default:
        throw this.#error(`is a ${typeof value}, which is not JSON.`);
    }
  }

  #string(text: string, key: string): number {
    if (text.includes('\0') || !text.isWellFormed()) {
      throw this.#error(`${key}has a character that can't be stored: \\u0000 or half a surrogate pair.`);
    }
    return text.length + 2;
  }

  #object(value: object): number {
    if (this.#above.includes(value)) throw this.#error('is part of itself: JSON has no cycles.');
    if (this.#above.length >= deepest) throw this.#error(`is more than ${deepest} levels deep.`);
    this.#above.push(value);
    const size = this.#members(value);
    this.#above.pop();
    return size;
  }

  #members(value: object): number {
    if (Array.isArray(value)) {
      let size = 2;
      for (let i = 0; i < value.length; i++) size += this.#member(i, value[i]) + 1;
      return size;
    }
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.visit(this.#converted(value));
    let size = 2;
    const keys = Object.keys(value);
    if (keys.length === 0) this.#checkPlain(value);
    for (const key of keys) {
      const member = (value as Record<string, unknown>)[key];
      if (member !== undefined) size += this.#string(key, 'has a key that ') + this.#member(key, member) + 2;
    }
    return size;
  }

  #member(key: string | number, value: unknown): number {
    this.#keys.push(key);
    const size = this.visit(value);
    this.#keys.pop();
    return size;
  }

  #converted(value: object): unknown {
    if (value instanceof Date && Number.isNaN(value.getTime())) throw this.#error('is not a valid date.');
    try {
      return (value as { toJSON(): unknown }).toJSON();
    } catch (error) {
      throw this.#error(`can't be made JSON: ${error instanceof Error ? error.message : String(error)}.`);
    }
  }

  /** A Map, Set, promise or error has no members of its own, and would arrive as `{}`. */
  #checkPlain(value: object): void {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null || prototype === Object.prototype) return;
    const kind = Object.prototype.toString.call(value).slice(8, -1);
    const name = kind === 'Object' ? (value.constructor?.name ?? kind) : kind;
    if (kind !== 'Object' || name !== 'Object')
      throw this.#error(`is of the kind ${name}, which JSON can't express.`);
  }

  #error(why: string): NotJsonError {
    const steps = this.#keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`));
    return new NotJsonError(this.#path + steps.join(''), why);
  }
}
