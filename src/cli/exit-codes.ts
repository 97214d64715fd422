/** What a command's exit code says. Scripts rely on these numbers, so a meaning never moves to another one. */
export const exitCodes = {
  success: 0,
  failure: 1,
  usage: 2,
  itemsFailed: 3,
  notFound: 4,
  unreachable: 5,
  badFile: 6,
  warnings: 7,
  sick: 8,
} as const;

export type ExitCodeName = keyof typeof exitCodes;

export const exitCodeMeanings: Record<ExitCodeName, string> = {
  success: 'everything went well',
  failure: 'it failed, or the server refused it; the message says why',
  usage: "an argument, an option or a setting can't be used",
  itemsFailed: 'the job is complete, but it, or some of its items, failed or were cancelled',
  notFound: 'what an id or a name stands for does not exist (any more)',
  unreachable: "the server or the database can't be reached",
  badFile: "the file can't be read as what it should be",
  warnings: 'it works, but something should be looked at',
  sick: 'something is lost, late or stuck, or soon will be',
};
