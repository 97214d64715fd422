/** `jobtree cancel` and `jobtree delete` with options instead of an id: all trees that match. */
import type { ApiOptions } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { type JobSelectors, toJobFilter } from './jobs.ts';
import { carryOut, type TreeOperationKind } from './operate.ts';

export interface TreesOptions extends ApiOptions, JobSelectors {
  readonly yes?: true;
}

/** Undefined if a job is given instead. */
export function operateOnTrees(
  kind: TreeOperationKind,
  jobId: string | undefined,
  options: TreesOptions,
): Promise<number> | undefined {
  const filter = toJobFilter(options);
  const isGiven = Object.values(filter).some((value) => value !== undefined);
  if (jobId !== undefined) {
    if (isGiven)
      throw new CommandError(
        exitCodes.usage,
        'Give the id of a job, or options that say which trees: not both.',
      );
    return undefined;
  }
  const verb = kind === 'CANCEL_TREES' ? 'cancel' : 'delete';
  if (!isGiven)
    throw new CommandError(
      exitCodes.usage,
      `Say what to ${verb}: give the id of a job, or at least one option that says which trees, such as --type.`,
    );
  const { statuses = kind === 'CANCEL_TREES' ? (['WAITING', 'RUNNING'] as const).slice() : undefined } =
    filter;
  return carryOut(kind, options, {
    count: async (client, signal) =>
      (await client.jobCount({ filter: { ...filter, statuses, wholeTrees: true }, signal })).count,
    begin: (client) => (kind === 'CANCEL_TREES' ? client.cancelTrees(filter) : client.deleteTrees(filter)),
  });
}
