/**
 * When all schedules are due, day by day: seven days a line, or a list on narrow screens. What is due too often is said once. The arrow keys lead from
 * entry to entry and from day to day.
 */
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useMemo, useState } from 'react';
import {
  type Calculated,
  dayOf,
  type Entry,
  entriesOf,
  isOften,
  type Shown,
  today,
} from '../data/calendar.ts';
import { messageOf } from '../data/message-of.ts';
import { useTexts } from '../texts/all.ts';
import { formatsIn, readerZone } from '../texts/day-formats.ts';
import { formatTime } from '../texts/formats.ts';
import { Facts } from './facts.tsx';
import { useModal } from './modal.ts';
import { ScheduleActions } from './schedule-actions.tsx';
import { Time } from './time.tsx';
import './calendar.css';

/** More stand in a day when they are asked for. */
const mostOfDay = 6;

export function Calendar(props: {
  readonly label: string;
  readonly schedules: readonly Calculated[];
  readonly shown: Shown;
  /** The number of the month that is meant: days of others are at its edges. */
  readonly month: number | undefined;
}) {
  const t = useTexts();
  const { label, schedules, shown, month } = props;
  const days = useMemo(() => entriesOf(schedules, shown), [schedules, shown]);
  const [chosen, setChosen] = useState<Entry>();
  const [focused, setFocused] = useState<string>();
  const all = days.flat();
  const open = all.find(({ key }) => key === chosen?.key) ?? chosen;
  const inTabOrder = all.some(({ key }) => key === focused) ? focused : all[0]?.key;
  return (
    <>
      <Often schedules={schedules.filter(isOften)} onChoose={setChosen} />
      {all.length === 0 && <p className="quiet">{t.schedules.nothing}</p>}
      <ol className="calendar" aria-label={label} onKeyDown={walk}>
        {shown.days.map((day, i) => (
          <Day
            key={dayOf(day)}
            day={day}
            isOutside={month !== undefined && day.getMonth() !== month}
            entries={days[i] ?? []}
            inTabOrder={inTabOrder}
            onFocus={setFocused}
            onChoose={setChosen}
          />
        ))}
      </ol>
      {open !== undefined && <Details entry={open} onClose={() => setChosen(undefined)} />}
    </>
  );
}

/** Once each, whatever is shown. */
function Often({
  schedules,
  onChoose,
}: {
  schedules: readonly Calculated[];
  onChoose: (entry: Entry) => void;
}) {
  const t = useTexts();
  const title = useId();
  if (schedules.length === 0) return null;
  return (
    <section aria-labelledby={title}>
      <h3 id={title} className="often-title">
        {t.schedules.often}
      </h3>
      <ul className="often">
        {schedules.map((schedule) => (
          <li key={schedule.name}>
            <button
              type="button"
              className="entry"
              data-state={schedule.pausedAt == null ? 'NEXT' : 'PAUSED'}
              onClick={() =>
                onChoose({
                  key: schedule.name,
                  schedule,
                  state: schedule.pausedAt == null ? 'NEXT' : 'PAUSED',
                  times: [schedule.nextOccurrences[0] ?? ''],
                })
              }
            >
              <strong>{schedule.name}</strong> {t.schedules.timing(schedule)}{' '}
              {schedule.pausedAt != null && t.schedules.occurrence.PAUSED}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Day(props: {
  readonly day: Date;
  readonly isOutside: boolean;
  readonly entries: readonly Entry[];
  readonly inTabOrder: string | undefined;
  readonly onFocus: (key: string) => void;
  readonly onChoose: (entry: Entry) => void;
}) {
  const t = useTexts();
  const { day, isOutside, entries, inTabOrder, onFocus, onChoose } = props;
  const [showsAll, setShowsAll] = useState(false);
  const formats = useFormats();
  const { clock } = formats;
  const shown = showsAll ? entries : entries.slice(0, mostOfDay);
  const isToday = dayOf(day) === today();
  return (
    <li
      data-empty={entries.length === 0}
      data-outside={isOutside}
      aria-current={isToday ? 'date' : undefined}
    >
      <h3>
        <time dateTime={dayOf(day)}>{formats.day(day)}</time>
      </h3>
      <ol>
        {shown.map((entry) => {
          const { key, schedule, state, times } = entry;
          const last = times.at(-1) ?? times[0];
          return (
            <li key={key}>
              <button
                type="button"
                className="entry"
                data-state={state}
                tabIndex={key === inTabOrder ? 0 : -1}
                onFocus={() => onFocus(key)}
                onClick={() => onChoose(entry)}
              >
                <span className="at">
                  {times.length === 1
                    ? clock(times[0])
                    : `${formats.count(times.length)} × ${clock(times[0])} – ${clock(last)}`}
                </span>{' '}
                <strong>{schedule.name}</strong>
                {state !== 'NEXT' && <small> {t.schedules.occurrence[state]}</small>}
              </button>
            </li>
          );
        })}
      </ol>
      {shown.length < entries.length && (
        <button type="button" className="quiet" onClick={() => setShowsAll(true)}>
          {t.schedules.moreOfDay(entries.length - shown.length)}
        </button>
      )}
    </li>
  );
}

/** One entry, its times where the schedule is, and what can be done. */
function Details({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  const t = useTexts();
  const dialog = useModal();
  const title = useId();
  const { schedule, state, times } = entry;
  const { name, timeZone, nextAt, queued, lastJob, lastOccurrenceAt, lastSkip, lastFailure } = schedule;
  const { inZone } = useFormats();
  const first = times[0];
  const canSkip = first !== '' && (state === 'QUEUED' ? queued.includes(first) : first === nextAt);
  const why =
    state === 'SKIPPED' && lastSkip != null
      ? t.schedules.skipReason[lastSkip.reason]
      : state === 'FAILED'
        ? lastFailure && messageOf(lastFailure)
        : null;
  const isCreated = state === 'CREATED' && lastJob != null;
  return (
    <dialog ref={dialog} aria-labelledby={title} onClose={onClose}>
      <h2 id={title}>{name}</h2>
      <Facts
        facts={[
          [t.schedules.times, t.schedules.timing(schedule)],
          [t.schedules.inYourZone(readerZone()), first === '' ? null : times.map(formatTime).join('; ')],
          [
            t.schedules.inItsZone(timeZone ?? ''),
            first === '' || timeZone == null || timeZone === readerZone()
              ? null
              : times.map((at) => inZone(at, timeZone)).join('; '),
          ],
          [t.schedules.state, t.schedules.occurrence[state]],
          [t.schedules.why, why],
          [
            t.schedules.last,
            lastJob == null ? null : (
              <Link to="/trees/$id" params={{ id: lastJob.id }}>
                {isCreated ? t.schedules.itsTree : <Time at={lastOccurrenceAt} />}
              </Link>
            ),
          ],
        ]}
      />
      <ScheduleActions schedule={schedule} skips={canSkip ? first : null} onDone={onClose} />
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {t.close}
        </button>
      </div>
    </dialog>
  );
}

export const useFormats = () => {
  const { language } = useTexts();
  return useMemo(() => formatsIn(language), [language]);
};

/** Left and right to the nearest day that has any, up and down within a day. */
function walk(event: KeyboardEvent<HTMLOListElement>): void {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 } as const;
  const step = steps[event.key as keyof typeof steps];
  const here = document.activeElement;
  if (step === undefined || !here?.matches('.calendar button')) return;
  event.preventDefault();
  const day = here.closest('.calendar > li');
  const buttonsOf = (one: Element | null) => [...(one?.querySelectorAll<HTMLElement>('button') ?? [])];
  if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
    const own = buttonsOf(day);
    own[own.indexOf(here as HTMLElement) + step]?.focus();
    return;
  }
  let next = day;
  do next = step === 1 ? (next?.nextElementSibling ?? null) : (next?.previousElementSibling ?? null);
  while (next !== null && buttonsOf(next).length === 0);
  buttonsOf(next)[0]?.focus();
}
