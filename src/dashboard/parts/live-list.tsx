/** Lists whose first page is live; what comes after it is read when it is asked for. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Live } from '../data/live.ts';
import { useTexts } from '../texts/all.ts';
import { isMissing, Problem } from './ask.tsx';

/** What a screen shows of a live answer: where there is none yet, that it is on its way, or why not. */
export function LiveAnswer<T>(props: {
  live: Live<T>;
  /** Instead of what the server says of an id that leads to nothing. */
  missing?: ReactNode;
  children: (value: T) => ReactNode;
}) {
  const { live, missing, children } = props;
  const t = useTexts();
  // What was there may have been deleted since.
  if (missing !== undefined && isMissing(live.error)) return missing;
  if (live.value !== undefined)
    return (
      <>
        {live.error !== undefined && <Problem error={live.error} />}
        {children(live.value)}
      </>
    );
  if (live.error !== undefined) return <Problem error={live.error} />;
  return <p className="quiet">{t.loading}</p>;
}

export interface Continued<N> {
  readonly rows: readonly N[];
  /** A button, if there is more. */
  readonly more: ReactNode;
}

/**
 * The live rows with those that were read after them. Rows that leave the live page while more is shown stay where they are, so
 * nothing falls between the two. `read` reads the rows after one.
 */
export function useContinued<N>(
  live: readonly N[],
  options: {
    readonly keyOf: (row: N) => string;
    readonly pageSize: number;
    readonly read: (last: N) => Promise<readonly N[]>;
  },
): Continued<N> {
  const t = useTexts();
  const { keyOf, pageSize, read } = options;
  const [later, setLater] = useState<readonly N[]>([]);
  const [hasMore, setHasMore] = useState(true);
  const [isReading, setIsReading] = useState(false);
  const [error, setError] = useState<Error>();
  const before = useRef(live);
  useEffect(() => {
    const now = new Set(live.map(keyOf));
    const left = before.current.filter((row) => !now.has(keyOf(row)));
    before.current = live;
    if (left.length > 0) setLater((rows) => (rows.length === 0 ? rows : [...left, ...rows]));
  }, [live, keyOf]);
  const known = new Set(live.map(keyOf));
  const rows = [...live, ...later.filter((row) => !known.has(keyOf(row)))];
  const last = rows.at(-1);
  const readMore = async (from: N) => {
    setIsReading(true);
    setError(undefined);
    try {
      const next = await read(from);
      setLater((old) => [...old, ...next]);
      setHasMore(next.length >= pageSize);
    } catch (problem) {
      setError(problem as Error);
    } finally {
      setIsReading(false);
    }
  };
  const isShown = last !== undefined && hasMore && live.length >= pageSize;
  return {
    rows,
    more: isShown && (
      <>
        {error !== undefined && <Problem error={error} />}
        <button type="button" className="more" disabled={isReading} onClick={() => void readMore(last)}>
          {isReading ? t.loading : t.more}
        </button>
      </>
    ),
  };
}

interface Edge<N> {
  readonly cursor: string;
  readonly node: N;
}

const cursorOf = ({ cursor }: Edge<unknown>) => cursor;

/** A list in pages of 100, of which the first is live. */
export function LivePages<T, N>(props: {
  readonly live: Live<T>;
  readonly edgesOf: (value: T) => readonly Edge<N>[] | null | undefined;
  readonly read: (after: string) => Promise<readonly Edge<N>[] | undefined>;
  readonly children: (rows: readonly N[], more: ReactNode) => ReactNode;
}) {
  const { live, edgesOf } = props;
  return (
    <LiveAnswer live={live}>{(value) => <Pages {...props} edges={edgesOf(value) ?? none} />}</LiveAnswer>
  );
}

const none: readonly never[] = [];

function Pages<N>(props: {
  readonly edges: readonly Edge<N>[];
  readonly read: (after: string) => Promise<readonly Edge<N>[] | undefined>;
  readonly children: (rows: readonly N[], more: ReactNode) => ReactNode;
}) {
  const { rows, more } = useContinued(props.edges, {
    keyOf: cursorOf,
    pageSize: 100,
    read: async ({ cursor }) => (await props.read(cursor)) ?? [],
  });
  return props.children(
    rows.map(({ node }) => node),
    more,
  );
}
