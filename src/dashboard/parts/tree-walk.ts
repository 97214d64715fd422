/** Walking a tree of rows with the keyboard: one row can be reached with Tab, the others from there with arrow keys. */
import type { Virtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type RefObject, useState } from 'react';
import { flushSync } from 'react-dom';

export interface RowTree<T> {
  /** 1 for a root. */
  readonly levelOf: (row: T) => number;
  /** Whether the rows below it are shown; undefined if there are none. */
  readonly isOpen: (row: T) => boolean | undefined;
  readonly onFold: (row: T, isFolded: boolean) => void;
  readonly onEnter: (row: T) => void;
}

/** What a row needs for it; nothing for a table that is no tree. */
export function useTreeWalk<T>(
  rows: readonly T[],
  tree: RowTree<T> | undefined,
  virtualizer: Virtualizer<Window, Element>,
  body: RefObject<HTMLElement | null>,
) {
  const [at, setAt] = useState(0);
  return (row: T, index: number) => {
    if (tree === undefined) return {};
    const { levelOf, isOpen, onFold, onEnter } = tree;
    const go = (to: number) => {
      const next = Math.min(Math.max(0, to), rows.length - 1);
      flushSync(() => setAt(next));
      // It may have to be drawn first.
      flushSync(() => virtualizer.scrollToIndex(next));
      const element = () => body.current?.querySelector<HTMLElement>(`[data-index="${next}"]`);
      if (element() == null) requestAnimationFrame(() => element()?.focus());
      else element()?.focus();
    };
    const parent = () => rows.findLastIndex((other, i) => i < index && levelOf(other) < levelOf(row));
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(index + 1),
      ArrowUp: () => go(index - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (isOpen(row) === false ? onFold(row, false) : isOpen(row) === true && go(index + 1)),
      ArrowLeft: () => (isOpen(row) === true ? onFold(row, true) : parent() >= 0 && go(parent())),
      Enter: () => onEnter(row),
    };
    return {
      tabIndex: index === Math.min(at, rows.length - 1) ? 0 : -1,
      onKeyDown: (event: KeyboardEvent) => {
        const act = keys[event.key];
        // Keys in a cell are the cell's.
        if (act === undefined || event.target !== event.currentTarget) return;
        event.preventDefault();
        act();
      },
    };
  };
}
