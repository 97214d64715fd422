/** How long items waited, or attempts took, over time: the more there were, the stronger the colour. Who can't see it has the words and the table. */
import { type PointerEvent, useMemo, useRef, useState } from 'react';
import { type HeatMap as Cells, endOf, type Step, toHeatMap } from '../data/history.ts';
import { useTexts } from '../texts/all.ts';
import { formatDuration, formatMinute, formatTime } from '../texts/formats.ts';
import { begin, colourOf, useDrawn } from './canvas.ts';

const left = 56;
const bottom = 20;
const rowPx = 12;

export function HeatMap({ steps, kind }: { steps: readonly Step[]; kind: 'wait' | 'processing' }) {
  const t = useTexts();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [under, setUnder] = useState<string>();
  const map = useMemo(() => toHeatMap(steps, kind), [steps, kind]);
  useDrawn(canvas, (element) => draw(element, map, steps), [map, steps, t]);
  if (map.cells.length === 0) return null;
  const point = ({ currentTarget, clientX, clientY }: PointerEvent<HTMLCanvasElement>) => {
    const { left: x, top: y, width, height } = currentTarget.getBoundingClientRect();
    const column = Math.floor(((clientX - x - left) / (width - left)) * map.columns);
    const row = map.rows.length - 1 - Math.floor(((clientY - y) / (height - bottom)) * map.rows.length);
    const step = steps[column];
    const fromMs = map.rows[row];
    if (step === undefined || fromMs === undefined) return setUnder(undefined);
    const cell = map.cells.find((one) => one.column === column && one.row === row);
    setUnder(t.history.cell(formatTime(step.from), lengthOf(fromMs), cell?.count ?? 0));
  };
  const words = wordsOf(map, t.history.spread);
  return (
    <>
      <h3>{t.history[kind]}</h3>
      <p className="words">{under ?? words}</p>
      <canvas
        ref={canvas}
        className="heat-map"
        role="img"
        aria-label={`${t.history[kind]}: ${words}`}
        // As high as its rows, of which there are at most 32.
        style={{ blockSize: map.rows.length * rowPx + bottom }}
        onPointerMove={point}
        onPointerLeave={() => setUnder(undefined)}
      />
    </>
  );
}

const lengthOf = (fromMs: number) => `${formatDuration(fromMs)} – ${formatDuration(endOf(fromMs))}`;

/** The same as a sentence. */
function wordsOf(
  { cells, rows }: Cells,
  say: (count: number, from: string, until: string, longest: string) => string,
): string {
  const counts = rows.map(() => 0);
  for (const { row, count } of cells) counts[row] = (counts[row] ?? 0) + count;
  const most = rows[counts.indexOf(Math.max(...counts))] ?? 0;
  const all = counts.reduce((sum, count) => sum + count, 0);
  const longest = endOf(rows.at(-1) ?? 0);
  return say(all, formatDuration(most), formatDuration(endOf(most)), formatDuration(longest));
}

function draw(
  canvas: HTMLCanvasElement,
  { cells, columns, rows, most }: Cells,
  steps: readonly Step[],
): void {
  const quiet = colourOf(document.body, '--quiet');
  const colour = colourOf(document.body, '--running');
  const { context, width, height } = begin(canvas);
  const cellWidth = (width - left) / columns;
  context.fillStyle = colour;
  for (const { column, row, count } of cells) {
    // One of a million can be seen.
    context.globalAlpha = 0.2 + (0.8 * Math.log1p(count)) / Math.log1p(most);
    const y = (rows.length - 1 - row) * rowPx;
    context.fillRect(left + column * cellWidth, y, Math.max(1, cellWidth - 0.5), rowPx - 0.5);
  }
  context.globalAlpha = 1;
  context.fillStyle = quiet;
  context.font = '11px system-ui, sans-serif';
  context.textAlign = 'right';
  // Every label has room.
  const every = Math.max(1, Math.ceil(rows.length / 8));
  for (let row = 0; row < rows.length; row += every)
    context.fillText(formatDuration(rows[row] as number), left - 6, (rows.length - row) * rowPx - 2);
  context.textAlign = 'left';
  const labels = Math.max(1, Math.floor((width - left) / 90));
  for (let i = 0; i < labels; i++) {
    const step = steps[Math.floor((i * columns) / labels)];
    if (step !== undefined)
      context.fillText(
        formatMinute(step.from),
        left + Math.floor((i * columns) / labels) * cellWidth,
        height - 5,
      );
  }
}
