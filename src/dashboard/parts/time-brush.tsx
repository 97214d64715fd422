/** How many there were when, as bars of which some are chosen by drawing over them; two inputs beside it choose the same. */
import { type PointerEvent, useState } from 'react';
import { useTexts } from '../texts/all.ts';
import { readerZone } from '../texts/day-formats.ts';
import { formatTime } from '../texts/formats.ts';
import { toLocal } from './local-time.ts';
import './time-brush.css';

export interface Bucket {
  readonly from: string;
  readonly until: string;
  readonly count: number;
}

export interface TimeRange {
  readonly from?: string | undefined;
  readonly until?: string | undefined;
}

interface BrushProps {
  readonly buckets: readonly Bucket[];
  readonly range: TimeRange;
  readonly onChange: (range: TimeRange) => void;
}

const heightPx = 48;

export function TimeBrush({ buckets, range, onChange }: BrushProps) {
  const t = useTexts();
  const [drawn, setDrawn] = useState<readonly [number, number]>();
  const [first, last] = [buckets[0], buckets.at(-1)];
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  const at = ({ currentTarget, clientX }: PointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const index = Math.floor(((clientX - left) / width) * buckets.length);
    return Math.min(buckets.length - 1, Math.max(0, index));
  };
  const isChosen = ({ from, until }: Bucket, i: number) =>
    drawn === undefined
      ? (range.from === undefined || until > range.from) && (range.until === undefined || from < range.until)
      : i >= Math.min(...drawn) && i <= Math.max(...drawn);
  const choose = () => {
    if (drawn === undefined) return;
    setDrawn(undefined);
    onChange({ from: buckets[Math.min(...drawn)]?.from, until: buckets[Math.max(...drawn)]?.until });
  };
  if (first === undefined || last === undefined) return null;
  return (
    <>
      <svg
        className="brush"
        role="img"
        aria-label={t.treeFilters.histogram(readerZone())}
        viewBox={`0 0 ${buckets.length} ${heightPx}`}
        preserveAspectRatio="none"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrawn([at(event), at(event)]);
        }}
        onPointerMove={(event) => drawn !== undefined && setDrawn([drawn[0], at(event)])}
        onPointerUp={choose}
        onPointerCancel={() => setDrawn(undefined)}
      >
        {buckets.map((bucket, i) => {
          const height = bucket.count === 0 ? 0 : Math.max(2, (heightPx * bucket.count) / most);
          return (
            <g key={bucket.from} data-chosen={isChosen(bucket, i)}>
              <title>
                {t.treeFilters.bar(bucket.count, formatTime(bucket.from), formatTime(bucket.until))}
              </title>
              <rect className="all" x={i} y={0} width={1} height={heightPx} />
              <rect x={i + 0.1} y={heightPx - height} width={0.8} height={height} />
            </g>
          );
        })}
      </svg>
      <div className="axis">
        <span>{formatTime(first.from)}</span>
        <span>{formatTime(last.until)}</span>
      </div>
    </>
  );
}

export function TimeInput({
  label,
  at,
  onChange,
}: {
  label: string;
  at: string | undefined;
  onChange: (at: string | undefined) => void;
}) {
  return (
    <label>
      {label}
      <input
        // Another one when the time is chosen elsewhere; what is being entered stays.
        key={at}
        type="datetime-local"
        step={1}
        defaultValue={at === undefined ? '' : toLocal(at)}
        onBlur={({ target }) => {
          if (target.validity.badInput || target.value === (at === undefined ? '' : toLocal(at))) return;
          onChange(target.value === '' ? undefined : new Date(target.value).toISOString());
        }}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
      />
    </label>
  );
}
