/** What a part of the demonstration came to. */
export interface Outcome {
  /** Lines for people. */
  readonly report: readonly string[];
  /** What did not come out as it should; empty if all did. */
  readonly problems: readonly string[];
}

/** A problem, if the two differ. */
export function check(what: string, found: number | string, expected: number | string): string[] {
  return found === expected ? [] : [`${what}: ${found} instead of ${expected}`];
}
