/** How many items failed for good in each of the last hours, as bars, and the same in words. */
import { useTexts } from '../texts/all.ts';
import { formatCount, formatTime } from '../texts/formats.ts';

interface Step {
  readonly from: string;
  readonly count: number;
}

type Steps = readonly Step[];

const width = 4;
const height = 20;

const mostOf = (steps: Steps) => Math.max(0, ...steps.map(({ count }) => count));

export function Bars({ steps }: { steps: Steps }) {
  const t = useTexts();
  const most = mostOf(steps);
  const sum = steps.reduce((all, { count }) => all + count, 0);
  return (
    <svg
      className="bars"
      role="img"
      aria-label={t.deadLetters.historyOf(sum, most)}
      viewBox={`0 0 ${steps.length * width} ${height}`}
      preserveAspectRatio="none"
    >
      {steps.map(({ from, count }, i) => {
        // However few there were, they can be seen.
        const tall = count === 0 ? 0 : Math.max(2, (height * count) / most);
        return (
          <g key={from}>
            <title>{`${formatTime(from)}: ${formatCount(count)}`}</title>
            <rect className="all" x={i * width} y={0} width={width} height={height} />
            <rect x={i * width} y={height - tall} width={width - 1} height={tall} />
          </g>
        );
      })}
    </svg>
  );
}

/** With what is beside and below them: how many the highest one stands for, and from when until when they are. */
export function BarsWithAxes({ steps }: { steps: Steps }) {
  const ends = [steps[0], steps.at(-1)];
  return (
    <div className="wide-bars">
      {/* The bars say it in words. */}
      <div className="axis" aria-hidden="true">
        <span>{formatCount(mostOf(steps))}</span>
        <span>{formatCount(0)}</span>
      </div>
      <Bars steps={steps} />
      <div className="axis" aria-hidden="true">
        {ends.map((step) => step && <span key={step.from}>{formatTime(step.from)}</span>)}
      </div>
    </div>
  );
}
