/** What was done over time, and how long it waited and took: as a chart, as heat maps, and all of it as a table. */
import { Suspense, useId, useState } from 'react';
import { perMinute, type RangeName, rangeNames, type Step } from '../data/history.ts';
import type { Live } from '../data/live.ts';
import { lazily } from '../lazily.ts';
import { useTexts } from '../texts/all.ts';
import { formatCount, formatPercentiles, formatRate, formatTime } from '../texts/formats.ts';
import { HeatMap } from './heat-map.tsx';
import { LiveAnswer } from './live-list.tsx';
import { series } from './series.ts';
import { type Column, Table } from './table.tsx';
import { Time } from './time.tsx';
import './history.css';

const Chart = lazily(() => import('./history-chart.tsx'));

export function History<T>({
  live,
  stepsOf,
  range,
  onRange,
}: {
  live: Live<T>;
  stepsOf: (value: T) => readonly Step[];
  range: RangeName;
  onRange: (range: RangeName) => void;
}) {
  const t = useTexts();
  const title = useId();
  // It stays open in another range.
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section aria-labelledby={title}>
      <h2 id={title}>{t.history.title}</h2>
      <label>
        {t.history.range}{' '}
        <select value={range} onChange={({ target }) => onRange(target.value as RangeName)}>
          {rangeNames.map((name) => (
            <option key={name} value={name}>
              {t.history.ranges[name]}
            </option>
          ))}
        </select>
      </label>
      <LiveAnswer live={live}>
        {(value) => {
          const steps = stepsOf(value);
          if (steps.every(isIdle)) return <p className="quiet">{t.history.none}</p>;
          return (
            <>
              <Shown steps={steps} />
              <details open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
                <summary>{t.history.table}</summary>
                {isOpen && <Numbers steps={steps} />}
              </details>
            </>
          );
        }}
      </LiveAnswer>
    </section>
  );
}

const isIdle = ({ claimed, succeeded, failed, dead }: Step) => claimed + succeeded + failed + dead === 0;

function Shown({ steps }: { steps: readonly Step[] }) {
  const t = useTexts();
  const [index, setIndex] = useState<number | null>(null);
  const at = index === null ? undefined : steps[index];
  return (
    <>
      <h3>{t.history.chart}</h3>
      <ul className="legend">
        {series.map(({ name, dash }) => (
          <li key={name}>
            <svg className={`line ${name}`} viewBox="0 0 32 8" aria-hidden="true">
              <line x1="0" y1="4" x2="32" y2="4" strokeDasharray={dash.join(' ')} />
            </svg>
            {t.history.series[name]}:{' '}
            {at === undefined
              ? formatCount(steps.reduce((sum, step) => sum + step[name], 0))
              : t.history.perMinute(perMinute(at, at[name]))}
          </li>
        ))}
        <li className="quiet">
          {formatTime((at ?? steps[0])?.from ?? 0)} – {formatTime((at ?? steps.at(-1))?.until ?? 0)}
        </li>
      </ul>
      <Suspense fallback={<p className="quiet">{t.loading}</p>}>
        <Chart steps={steps} onPoint={setIndex} />
      </Suspense>
      <HeatMap steps={steps} kind="wait" />
      <HeatMap steps={steps} kind="processing" />
    </>
  );
}

function Numbers({ steps }: { steps: readonly Step[] }) {
  const t = useTexts();
  const durations = (kind: 'wait' | 'processing'): Column<Step> => ({
    title: t.queues[kind],
    isNumber: true,
    cell: ({ [kind]: percentiles }) => formatPercentiles(percentiles),
  });
  const columns: readonly Column<Step>[] = [
    { title: t.history.from, grow: 1, cell: ({ from }) => <Time at={from} /> },
    ...series.map(
      ({ name }): Column<Step> => ({
        title: t.history.series[name],
        isNumber: true,
        cell: (step) => formatCount(step[name]),
      }),
    ),
    {
      title: t.history.chart,
      isNumber: true,
      cell: (step) => formatRate(perMinute(step, step.succeeded + step.dead)),
    },
    durations('wait'),
    durations('processing'),
  ];
  return (
    <Table
      label={t.history.title}
      rows={steps.toReversed()}
      columns={columns}
      keyOf={({ from }) => from}
      empty={t.history.none}
    />
  );
}
