/** What is done with a schedule, in its row and on the calendar. */
import {
  PauseSchedule,
  ResumeSchedule,
  RunSchedule,
  type ScheduleRowFragment,
  SkipOccurrence,
} from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { formatTime } from '../texts/formats.ts';
import { Action } from './action.tsx';
import { quoted } from './copy.tsx';
import { reverse } from './undo.tsx';

/** `skips` is the occurrence to skip; null offers it of none, and without it, it is the one that is next now. */
export function ScheduleActions(props: {
  readonly schedule: ScheduleRowFragment;
  readonly skips?: string | null;
  readonly onDone?: () => void;
}) {
  const t = useTexts();
  const { schedule, skips, onDone = () => {} } = props;
  const { name, nextAt, pausedAt } = schedule;
  const at = skips === undefined && pausedAt == null ? nextAt : skips;
  return (
    <div className="buttons">
      <Action
        label={t.schedules.run}
        shortcut="r"
        needs="ADMINISTER"
        mutation={RunSchedule}
        variables={() => ({ input: { name } })}
        question={t.schedules.runAsk(name)}
        command={() => `jobtree schedule run ${quoted(name)}`}
        onDone={onDone}
      />
      {at != null && (
        <Action
          key={at}
          label={skips === undefined ? t.schedules.skip : t.schedules.skipThis}
          needs="ADMINISTER"
          mutation={SkipOccurrence}
          variables={() => ({ input: { name, at } })}
          question={t.schedules.skipAsk(name, formatTime(at))}
          command={() => `jobtree schedule skip ${quoted(name)} --at ${at}`}
          onDone={onDone}
        />
      )}
      <Action
        key={`paused ${pausedAt}`}
        label={pausedAt == null ? t.schedules.pause : t.schedules.resume}
        needs="ADMINISTER"
        mutation={pausedAt == null ? PauseSchedule : ResumeSchedule}
        variables={() => ({ input: { name } })}
        undo={() => reverse(pausedAt == null ? ResumeSchedule : PauseSchedule, { input: { name } })}
        question={name}
        command={() => `jobtree schedule ${pausedAt == null ? 'pause' : 'resume'} ${quoted(name)}`}
        onDone={onDone}
      />
    </div>
  );
}
