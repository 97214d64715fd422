/** What is created again and again: when next, and what came of it last. */
import { Link } from '@tanstack/react-router';
import {
  LiveSchedules,
  PauseSchedule,
  ResumeSchedule,
  RunSchedule,
  type ScheduleRowFragment,
  Schedules,
  SkipOccurrence,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { Action } from '../parts/action.tsx';
import { quoted } from '../parts/copy.tsx';
import { LivePages } from '../parts/live-list.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { reverse } from '../parts/undo.tsx';
import { useTexts } from '../texts/all.ts';

export default function SchedulesScreen() {
  const t = useTexts();
  const live = useAnswer(LiveSchedules, {});
  const columns: readonly Column<ScheduleRowFragment>[] = [
    { title: t.schedules.name, grow: 2, cell: ({ name }) => name },
    {
      title: t.schedules.times,
      grow: 2,
      cell: ({ cron, everyMs, timeZone }) =>
        [cron ?? (everyMs == null ? '' : t.schedules.every(everyMs)), timeZone]
          .filter((part) => part != null)
          .join(', '),
    },
    {
      title: t.schedules.next,
      grow: 2,
      cell: ({ pausedAt, nextOccurrences }) =>
        pausedAt != null ? (
          t.schedules.paused
        ) : (
          <details>
            <summary>
              <Time at={nextOccurrences[0]} />
            </summary>
            <ol>
              {nextOccurrences.slice(1).map((at) => (
                <li key={at}>
                  <Time at={at} />
                </li>
              ))}
            </ol>
          </details>
        ),
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
          {lastFailure != null && <span className="problem"> {lastFailure.message}</span>}
        </>
      ),
    },
    {
      title: t.actions,
      grow: 3,
      cell: ({ name, pausedAt }) => (
        <div className="buttons">
          <Action
            label={t.schedules.run}
            shortcut="r"
            needs="ADMINISTER"
            mutation={RunSchedule}
            variables={() => ({ input: { name } })}
            question={t.schedules.runAsk(name)}
            command={() => `jobtree schedule run ${quoted(name)}`}
          />
          <Action
            label={t.schedules.skip}
            needs="ADMINISTER"
            mutation={SkipOccurrence}
            variables={() => ({ input: { name } })}
            question={t.schedules.skipAsk(name)}
            command={() => `jobtree schedule skip ${quoted(name)}`}
          />
          <Action
            label={pausedAt == null ? t.schedules.pause : t.schedules.resume}
            needs="ADMINISTER"
            mutation={pausedAt == null ? PauseSchedule : ResumeSchedule}
            variables={() => ({ input: { name } })}
            undo={() => reverse(pausedAt == null ? ResumeSchedule : PauseSchedule, { input: { name } })}
            question={name}
            command={() => `jobtree schedule ${pausedAt == null ? 'pause' : 'resume'} ${quoted(name)}`}
          />
        </div>
      ),
    },
  ];
  return (
    <>
      <h1>{t.schedules.title}</h1>
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
    </>
  );
}
