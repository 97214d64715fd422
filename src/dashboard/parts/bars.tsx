/** Counts over time as bars, and the same in words. */
export interface Step {
  readonly from: string;
  readonly count: number;
}

const width = 4;
const height = 20;

export function Bars({ steps, label }: { steps: readonly Step[]; label: string }) {
  const most = Math.max(1, ...steps.map(({ count }) => count));
  return (
    <svg
      className="bars"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${steps.length * width} ${height}`}
      preserveAspectRatio="none"
    >
      {steps.map(({ from, count }, i) => {
        // However few there were, they can be seen.
        const tall = count === 0 ? 0 : Math.max(2, (height * count) / most);
        return <rect key={from} x={i * width} y={height - tall} width={width - 1} height={tall} />;
      })}
    </svg>
  );
}
