/** What is created again and again: when next, and what came of it last; as a list, or on a calendar. */
import { Link, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useRef } from 'react';
import {
  LiveSchedules,
  type LiveSchedulesSubscription,
  ScheduleCalendar,
  type ScheduleRowFragment,
  Schedules,
} from '../../generated/dashboard.ts';
import { type Calculated, mostShown, shownDays, today, type View, views } from '../data/calendar.ts';
import { ask } from '../data/connection.ts';
import type { Live } from '../data/live.ts';
import { useAnswer } from '../data/live-answers.ts';
import { messageOf } from '../data/message-of.ts';
import { useMay } from '../data/viewer.ts';
import { Answer } from '../parts/ask.tsx';
import { Calendar, useFormats } from '../parts/calendar.tsx';
import { LivePages, LiveProblem } from '../parts/live-list.tsx';
import { More, nodesOf, usePages } from '../parts/pages.tsx';
import { ScheduleActions } from '../parts/schedule-actions.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';
import { readerZone } from '../texts/day-formats.ts';

type LiveRows = Live<LiveSchedulesSubscription['live']>;

export default function SchedulesScreen() {
  const t = useTexts();
  const { view, day } = useSearch({ from: '/schedules' });
  const live = useAnswer(LiveSchedules, {});
  return (
    <>
      <h1>{t.schedules.title}</h1>
      <div className="buttons">
        {([undefined, ...views] as const).map((one) => (
          <Link
            key={one ?? 'list'}
            to="/schedules"
            search={{ view: one, day }}
            activeOptions={{ exact: true }}
          >
            {t.schedules.views[one ?? 'list']}
          </Link>
        ))}
      </div>
      {view === undefined ? <List live={live} /> : <OnCalendar live={live} view={view} day={day} />}
    </>
  );
}

function List({ live }: { live: LiveRows }) {
  const t = useTexts();
  const mayAdminister = useMay()('ADMINISTER');
  const columns: readonly Column<ScheduleRowFragment>[] = [
    { title: t.schedules.name, grow: 2, cell: ({ name }) => name },
    { title: t.schedules.times, grow: 2, cell: t.schedules.timing },
    {
      title: t.schedules.next,
      grow: 2,
      isTime: true,
      cell: ({ pausedAt, nextAt }) => (pausedAt != null ? t.schedules.paused : <Time at={nextAt} />),
    },
    {
      title: t.schedules.last,
      grow: 2,
      cell: ({ lastJob, lastOccurrenceAt, lastFailure }) => (
        <>
          {lastJob != null && (
            <Link to="/trees/$id" params={{ id: lastJob.id }}>
              <Time at={lastOccurrenceAt} />
            </Link>
          )}
          {lastFailure != null && <span className="problem"> {messageOf(lastFailure)}</span>}
        </>
      ),
    },
    {
      title: t.actions,
      grow: 3,
      only: () => mayAdminister,
      cell: (schedule) => <ScheduleActions schedule={schedule} />,
    },
  ];
  return (
    <LivePages
      live={live}
      edgesOf={({ schedules }) => schedules?.edges}
      read={async (after) => (await ask(Schedules, { after })).schedules?.edges}
    >
      {(rows, more) => (
        <Table
          label={t.schedules.title}
          rows={rows}
          columns={columns}
          keyOf={({ name }) => name}
          empty={t.schedules.empty}
          more={more}
        />
      )}
    </LivePages>
  );
}

function OnCalendar({ live, view, day }: { live: LiveRows; view: View; day: string | undefined }) {
  const t = useTexts();
  const formats = useFormats();
  const now = today();
  const shown = useMemo(() => {
    const given = new Date(`${day ?? now}T00:00`);
    const start = Number.isNaN(given.getTime()) ? new Date(`${now}T00:00`) : given;
    return { ...shownDays(view, start, formats.firstWeekday), start };
  }, [view, day, now, formats]);
  const { start, days, until, previous, next } = shown;
  const first = days[0] as Date;
  const title = view === 'month' ? formats.month(start) : formats.dates(first, days.at(-1) as Date);
  const pages = usePages(
    ScheduleCalendar,
    { from: first.toISOString(), until: until.toISOString(), first: mostShown + 1 },
    ({ schedules }) => schedules,
  );
  const rows = useCurrent(live, nodesOf(pages), () => void pages.refetch());
  const moves: readonly (readonly [text: string, day: string | undefined])[] = [
    [t.schedules.earlier, previous],
    [t.schedules.today, undefined],
    [t.schedules.later, next],
  ];
  return (
    <>
      <h2>{title}</h2>
      <div className="buttons">
        {moves.map(([text, to]) => (
          <Link key={text} to="/schedules" search={{ view, day: to }} activeOptions={{ exact: true }}>
            {text}
          </Link>
        ))}
        <span className="quiet">{t.schedules.zone(readerZone())}</span>
      </div>
      <LiveProblem live={live} />
      <Answer query={pages}>
        {() => (
          <>
            <Calendar
              key={title}
              label={title}
              schedules={rows}
              shown={shown}
              month={view === 'month' ? start.getMonth() : undefined}
            />
            <More pages={pages} />
          </>
        )}
      </Answer>
    </>
  );
}

/** What was calculated, with what has become of it since; it is calculated again when schedules come, go or change. */
function useCurrent(live: LiveRows, calculated: readonly Calculated[], again: () => void) {
  const edges = live.value?.schedules?.edges;
  const versions = edges?.map(({ node }) => `${node.name} ${node.changedAt}`).join('\n');
  const known = useRef(versions);
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (known.current !== undefined && known.current !== versions) latest.current();
    known.current = versions;
  }, [versions]);
  return useMemo(() => {
    const current = new Map(edges?.map(({ node }) => [node.name, node]));
    return calculated.map((row) => ({ ...row, ...current.get(row.name) }));
  }, [edges, calculated]);
}
