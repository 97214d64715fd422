/** What `jobtree doctor` says: a finding for each thing that it looked at. */
export interface Finding {
  /** What was looked at: the same word each time, for scripts. */
  readonly check: string;
  /** `warning`: it works, and will not for ever, or not as well as it could. `sick`: something is lost, late or stuck. */
  readonly status: 'ok' | 'warning' | 'sick';
  readonly message: string;
  /** When it began, on the clock of Postgres; null where nothing tells. */
  readonly since: Date | null;
  readonly advice: string | null;
}

/** How long a transaction may be open, if nobody says otherwise. */
export const standardPatienceMs = 300_000;

export type Judgement = Omit<Finding, 'check'>;

export function ok(message: string): Judgement {
  return { status: 'ok', message, since: null, advice: null };
}

export function warning(message: string, advice: string, since: Date | null = null): Judgement {
  return { status: 'warning', message, since, advice };
}

export function sick(message: string, advice: string, since: Date | null = null): Judgement {
  return { status: 'sick', message, since, advice };
}

/** Of texts from elsewhere, for a sentence. */
export const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

/** A name as a word for a shell: somebody else has chosen it. It has no backtick, at which an advice would take the rest for another command. */
export const word = (name: string) =>
  /^[\w:.@/-]+$/.test(name)
    ? name
    : `'${oneLine(name)
        .replaceAll("'", "'\\''")
        .replaceAll('`', () => "'$'\\140''")}'`;

const spans: readonly [string, number][] = [
  ['days', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** `3 days`, `2 h`, `40 s`, `12 ms`: in the largest unit of which it has two. */
export function span(ms: number): string {
  const [unit, size] = spans.find(([, size]) => Math.abs(ms) >= 2 * size) ?? ['ms', 1];
  return `${Math.round(ms / size)} ${unit}`;
}
