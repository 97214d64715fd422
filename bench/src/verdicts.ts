/** Targets, and whether they are met. A missing figure misses its target. */
export interface Verdict {
  readonly target: string;
  readonly found: string;
  readonly met: boolean;
}

export interface Target {
  /** What the figure measures. */
  readonly name: string;
  readonly limit: number;
  readonly found: number;
  /** With a space before it: ` ms`. */
  readonly unit?: string;
  /** How many decimal places of the figure to show. */
  readonly digits?: number;
}

export function atLeast(target: Target): Verdict {
  return { ...describe(target, 'at least'), met: target.found >= target.limit };
}

export function atMost(target: Target): Verdict {
  return { ...describe(target, 'at most'), met: target.found <= target.limit };
}

function describe({ name, limit, found, unit = '', digits = 2 }: Target, bound: string) {
  return {
    target: `${name}: ${bound} ${limit.toLocaleString('en')}${unit}`,
    found: Number.isNaN(found) ? 'unknown' : `${found.toFixed(digits)}${unit}`,
  };
}
