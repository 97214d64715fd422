/** The lines of a history. Who can't see them has the table below. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { perMinute, type Step } from '../data/history.ts';
import { useTexts } from '../texts/all.ts';
import { formatMinute, formatRate } from '../texts/formats.ts';
import { colourOf, useDrawn } from './canvas.ts';
import { series } from './series.ts';

const gutterPx = 56;

/** `onPoint` is told which step the pointer is at. */
export default function HistoryChart({
  steps,
  onPoint,
}: {
  steps: readonly Step[];
  onPoint: (index: number | null) => void;
}) {
  const t = useTexts();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  useDrawn(
    box,
    (element) => {
      plot.current?.destroy();
      plot.current = draw(element, steps, onPoint);
    },
    [steps, t],
  );
  useEffect(() => () => plot.current?.destroy(), []);
  return <div ref={box} className="chart" role="img" aria-label={`${t.history.chart}: ${t.history.table}`} />;
}

function draw(element: HTMLElement, steps: readonly Step[], onPoint: (index: number | null) => void): uPlot {
  const quiet = colourOf(element, '--quiet');
  const line = colourOf(element, '--line');
  const axis: uPlot.Axis = {
    stroke: quiet,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
    font: '12px system-ui, sans-serif',
  };
  return new uPlot(
    {
      width: element.clientWidth,
      height: element.clientHeight,
      legend: { show: false },
      // What is drawn over is not zoomed into: the range is in the address.
      cursor: { drag: { setScale: false, x: false, y: false } },
      hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? null)] },
      scales: { y: { range: (_, __, most) => [0, Math.max(1, most)] } },
      axes: [
        { ...axis, values: (_, seconds) => seconds.map((second) => formatMinute(second * 1_000)), space: 80 },
        { ...axis, size: gutterPx, values: (_, counts) => counts.map(formatRate) },
      ],
      series: [
        {},
        ...series.map(({ colour, dash }) => ({
          stroke: colourOf(element, colour),
          width: 2,
          dash: [...dash],
          points: { show: false },
        })),
      ],
    },
    [
      steps.map(({ from }) => Date.parse(from) / 1_000),
      ...series.map(({ name }) => steps.map((step) => perMinute(step, step[name]))),
    ],
    element,
  );
}
