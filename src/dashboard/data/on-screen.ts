/** Which rows are on the screen: what is subscribed to. */
import { useRef, useState } from 'react';

/** While somebody scrolls, nothing is asked for. */
const settledMs = 150;

/** The keys of the rows that have one, undefined as long as there are none; and what a table tells which rows it shows. */
export function useOnScreen<T>(
  keyOf: (row: T) => string | undefined,
): [keys: string[] | undefined, onShown: (rows: readonly T[]) => void] {
  const [keys, setKeys] = useState<string[]>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const onShown = (rows: readonly T[]) => {
    clearTimeout(timer.current);
    const shown = rows.map(keyOf).filter((key) => key !== undefined);
    timer.current = setTimeout(
      () => setKeys(shown.length === 0 ? undefined : shown),
      keys === undefined ? 0 : settledMs,
    );
  };
  return [keys, onShown];
}
