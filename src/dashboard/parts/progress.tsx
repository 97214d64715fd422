/** How far something is: a bar whose parts are told by pattern as well as colour, and the same in words. */
import type { ReactNode } from 'react';
import { formatCount } from '../texts/formats.ts';
import { useTexts } from '../texts/texts.ts';

export interface Counts {
  readonly itemCount: number;
  readonly itemProgress: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly percent?: number | null | undefined;
}

/** Until a job is sealed its end is hatched, since more items may come. */
export function ProgressBar(props: {
  readonly counts: Counts;
  readonly isOpen: boolean;
  readonly label: string;
  /** What the words end with. */
  readonly children?: ReactNode;
}) {
  const { counts, isOpen, label, children } = props;
  const t = useTexts();
  const { itemCount, itemProgress, succeeded, failed, cancelled, percent } = counts;
  const share = (count: number) => `${itemCount === 0 ? 0 : (100 * count) / itemCount}%`;
  const words = [
    t.progress.of(itemProgress, itemCount),
    percent == null ? undefined : t.progress.percent(percent),
    failed > 0 ? t.progress.failed(failed) : undefined,
    cancelled > 0 ? t.progress.cancelled(cancelled) : undefined,
    isOpen ? t.progress.open : undefined,
  ];
  const text = words.filter((word) => word !== undefined).join(', ');
  return (
    <div className="progress">
      <div
        className="bar"
        data-open={isOpen}
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent ?? undefined}
        aria-valuetext={text}
      >
        <span className="succeeded" style={{ inlineSize: share(succeeded) }} />
        <span className="failed" style={{ inlineSize: share(failed) }} />
        <span className="cancelled" style={{ inlineSize: share(cancelled) }} />
      </div>
      <span className="words">
        {text}
        {children}
      </span>
    </div>
  );
}

const marks: Readonly<Record<string, string>> = {
  SUCCEEDED: '✓',
  COMPLETED: '✓',
  FINISHED: '✓',
  DELIVERED: '✓',
  FAILED: '✕',
  PARTIAL: '◐',
  CANCELLED: '⊘',
  RUNNING: '▶',
  WAITING: '○',
  SCHEDULED: '◷',
  RETRYING: '↻',
  BLOCKED: '⊟',
  READY: '○',
  PENDING: '○',
  IDLE: '‖',
  DELETING: '⊘',
};

export function State({ state }: { state: string }) {
  const t = useTexts();
  return (
    <span className="state" data-state={state}>
      <span aria-hidden="true">{marks[state] ?? '○'}</span> {t.state[state] ?? state}
    </span>
  );
}

export const Count = ({ count }: { count: number }) => <span className="count">{formatCount(count)}</span>;
