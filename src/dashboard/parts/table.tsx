/**
 * A table that has as many rows in the page as fit on the screen, however many there are. On narrow screens each row becomes a block with
 * the headings before its cells.
 */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { type RowTree, useTreeWalk } from './tree-walk.ts';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  /** Of which rows it has something to show; it is left out if there is none. */
  readonly only?: (row: T) => boolean;
  /** Numbers stand at the end of their cells. */
  readonly isNumber?: boolean;
  /** Times have the width of one line. */
  readonly isTime?: boolean;
  /** A part of the free width; without it a cell is as wide as a short word. */
  readonly grow?: number;
}

export interface TableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  /** In a tree of rows, which is walked with the arrow keys. */
  readonly tree?: RowTree<T>;
  readonly empty: ReactNode;
  /** More rows than are known. */
  readonly more?: ReactNode;
  /** Called with the rows that are on the screen, or near it, when they are others than before. */
  readonly onShown?: (rows: readonly T[]) => void;
}

const rowPx = 44;

const widthOf = ({ grow, isNumber, isTime }: Pick<Column<never>, 'grow' | 'isNumber' | 'isTime'>) => {
  if (grow !== undefined) return `minmax(9rem, ${grow}fr)`;
  return isNumber ? 'minmax(4rem, 5.5rem)' : isTime ? 'minmax(6rem, 15rem)' : 'minmax(5rem, 8rem)';
};

export function Table<T>({ label, rows, columns: all, keyOf, tree, empty, more, onShown }: TableProps<T>) {
  const columns = useMemo(() => all.filter(({ only }) => only === undefined || rows.some(only)), [all, rows]);
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  // What is above it may come and go.
  useLayoutEffect(() => setTop(body.current?.offsetTop ?? 0));
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollMargin: top,
    // Another function would make it measure every row again.
    getItemKey: useCallback((index: number) => keyOf(rows[index] as T), [rows, keyOf]),
  });
  const walk = useTreeWalk(rows, tree, virtualizer, body);
  const shown = virtualizer.getVirtualItems().map(({ index }) => rows[index] as T);
  useTold(shown, keyOf, onShown);
  // One column on narrow screens, whatever this says: styles.css.
  const style = { '--columns': columns.map(widthOf).join(' ') } as CSSProperties;
  if (rows.length === 0)
    return (
      <div className="quiet">
        {empty} {more}
      </div>
    );
  const isTree = tree !== undefined;
  return (
    <div
      role={isTree ? 'treegrid' : 'table'}
      className="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
    >
      <Head columns={columns as readonly Column<unknown>[]} style={style} />
      <div role="rowgroup" ref={body} style={{ blockSize: virtualizer.getTotalSize(), position: 'relative' }}>
        {virtualizer.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index] as T;
          return (
            <div
              role="row"
              className="row"
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              aria-rowindex={index + 2}
              aria-level={tree?.levelOf(row)}
              aria-expanded={tree?.isOpen(row)}
              {...walk(row, index)}
              style={{ ...style, position: 'absolute', insetInline: 0, insetBlockStart: start - top }}
            >
              <Cells row={row} columns={columns as readonly Column<unknown>[]} isTree={isTree} />
            </div>
          );
        })}
      </div>
      {more}
    </div>
  );
}

function useTold<T>(shown: readonly T[], keyOf: (row: T) => string, onShown: TableProps<T>['onShown']): void {
  const keys = shown.map(keyOf).join('\n');
  // The keys say which rows they are.
  useEffect(() => onShown?.(shown), [keys]);
}

function Head({ columns, style }: { columns: readonly Column<unknown>[]; style: CSSProperties }) {
  return (
    <div role="rowgroup" className="head">
      <div role="row" className="row" style={style} aria-rowindex={1}>
        {columns.map(({ title, isNumber }) => (
          <div role="columnheader" key={title} data-number={isNumber}>
            {title}
          </div>
        ))}
      </div>
    </div>
  );
}

/** While the table scrolls, rows that stay are not drawn again. */
const Cells = memo(function Cells({
  row,
  columns,
  isTree,
}: {
  row: unknown;
  columns: readonly Column<unknown>[];
  isTree: boolean;
}) {
  return columns.map(({ title, cell, isNumber }) => (
    <div role={isTree ? 'gridcell' : 'cell'} key={title} data-title={title} data-number={isNumber}>
      {cell(row)}
    </div>
  ));
});
