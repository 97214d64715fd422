/** What the chart of a history has lines of: each with its own pattern, besides its colour. */
export const series = [
  { name: 'claimed', colour: '--running', dash: [8, 4] },
  { name: 'succeeded', colour: '--succeeded', dash: [] },
  { name: 'failed', colour: '--failed', dash: [2, 3] },
  { name: 'dead', colour: '--failed', dash: [10, 3, 2, 3] },
] as const;
