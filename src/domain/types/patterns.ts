/**
 * The regular expressions of one schema: in RE2 syntax, so that they take linear time, each compiled once. Repeats are written out in the
 * program of an expression, of which each instruction may take ten kilobytes and a tenth of a millisecond to compile.
 */
import { RE2JS } from 're2js';
import { maxPatternInstructions, maxPatternLength } from '../values/limits.ts';

export class Patterns {
  /** Of all programs. */
  instructions = 0;
  readonly #compiled = new Map<string, RE2JS>();

  /** The number of instructions of its program. @throws Error that says why, to be read after the name of a field */
  add(pattern: string): number {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known.programSize();
    if (pattern.length > maxPatternLength)
      throw new Error(
        `has a regular expression of ${pattern.length} characters; the limit is ${maxPatternLength}`,
      );
    this.#check(writtenOut(pattern));
    const compiled = compile(pattern);
    this.#compiled.set(pattern, compiled);
    this.instructions += compiled.programSize();
    this.#check(0);
    return compiled.programSize();
  }

  #check(more: number): void {
    if (this.instructions + more <= maxPatternInstructions) return;
    throw new Error(
      `is too large with the other regular expressions of the schema: the limit is ${maxPatternInstructions} parts in all, with repeats written out`,
    );
  }

  /** For Ajv. */
  readonly regExp = Object.assign(
    (pattern: string) => {
      const compiled = this.#compiled.get(pattern) ?? compile(pattern);
      // Ajv treats expressions with equal text as the same.
      return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern };
    },
    { code: 'linearRegExp' },
  );
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `is not a regular expression in RE2 syntax, which has no lookaround and no back-references: ${why}`,
    );
  }
}

const part = /\\p\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gisu;

/** About how many parts an expression has with its repeats written out. */
function writtenOut(pattern: string): number {
  /** Of each open group, the parts before it. */
  const before: number[] = [];
  let parts = 0;
  let last = 0;
  for (const [text, least, most] of pattern.matchAll(part)) {
    if (text === '(') {
      before.push(parts);
      parts = 0;
    } else if (text === ')') {
      last = parts;
      parts += before.pop() ?? 0;
    } else if (least === undefined) {
      last = 1;
      parts++;
    } else {
      const all = last * Math.max(1, Number(least), Number(most ?? 0));
      parts += all - last;
      last = all;
    }
  }
  return parts + before.reduce((sum, more) => sum + more, 0);
}
