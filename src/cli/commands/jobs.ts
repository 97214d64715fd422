/** `jobtree jobs`: a list of trees, or of all jobs. */
import type { Job, JobFilter, JobOutcome, JobStatus, Tree } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { colourOf } from '../colours.ts';
import { exitCodes } from '../exit-codes.ts';
import { age, count } from '../figures.ts';
import { jobOrders } from '../job-orders.ts';
import { print } from '../output.ts';
import { type Cell, Table } from '../table.ts';

/** Which trees, or jobs. */
export interface JobSelectors {
  readonly type?: readonly string[];
  readonly status?: readonly Lowercase<JobStatus>[];
  readonly outcome?: readonly Lowercase<JobOutcome>[];
  readonly since?: Date;
  readonly until?: Date;
  readonly completedSince?: Date;
  readonly completedUntil?: Date;
  readonly dedupeKey?: string;
  readonly failures?: boolean;
  readonly schedule?: string;
  readonly idleSince?: Date;
}

export interface JobsOptions extends ApiOptions, JobSelectors {
  readonly order: keyof typeof jobOrders;
  readonly limit: number;
  readonly all?: true;
}

/** A page of more costs more than some servers allow. */
const mostOnPage = 100;

export const toJobFilter = (selectors: JobSelectors): JobFilter => ({
  types: selectors.type?.slice(),
  statuses: selectors.status?.map((one) => one.toUpperCase() as JobStatus),
  outcomes: selectors.outcome?.map((one) => one.toUpperCase() as JobOutcome),
  createdFrom: selectors.since?.toISOString(),
  createdUntil: selectors.until?.toISOString(),
  completedFrom: selectors.completedSince?.toISOString(),
  completedUntil: selectors.completedUntil?.toISOString(),
  dedupeKeyPrefix: selectors.dedupeKey,
  hasFailures: selectors.failures,
  schedule: selectors.schedule,
  idleSince: selectors.idleSince?.toISOString(),
});

export async function listJobs(options: JobsOptions): Promise<number> {
  const { limit, all } = options;
  const order = jobOrders[options.order];
  const filter = toJobFilter(options);
  const table = new Table(columns, 'There are no such jobs.');
  await withClient(options, async (client) => {
    let left = limit;
    let after: string | undefined;
    do {
      const first = Math.min(left, mostOnPage);
      const page = await (all === true
        ? client.jobs({ filter: { ...filter, rootsOnly: false }, order, first, after })
        : client.trees({ filter, order, first, after }));
      if (options.json) for (const job of page.nodes) print(`${JSON.stringify(job)}\n`);
      else table.print(page.nodes.map(toCells));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

/** The id comes first and whole: it is what the other commands take. */
const columns = [
  { title: 'ID' },
  { title: 'TYPE', cut: 'middle' },
  { title: 'STATUS' },
  { title: 'ITEMS' },
  { title: 'AGE', align: 'right', spare: true },
] as const;

/** The root of a tree stands for all of it, unless the caller may not see all of it. */
function toCells(job: Job | Tree): Cell[] {
  const { id, type, createdAt, progress } = job;
  const tree = 'treeProgress' in job ? job.treeProgress : undefined;
  const { itemProgress, itemCount, failed, cancelled } = tree ?? progress;
  const word = wordFor(job, tree);
  return [
    id,
    type,
    { text: [word, ...reasonOf(job)].join(': '), colour: colourOf(word) },
    [
      `${count(itemProgress)}/${count(itemCount)}`,
      ...(failed > 0 ? [`${count(failed)} failed`] : []),
      ...(cancelled > 0 ? [`${count(cancelled)} cancelled`] : []),
    ].join(', '),
    age(createdAt),
  ];
}

/** Why a job ended before its items did, unless somebody asked for it, or the failed items say it. */
function reasonOf({ import: file, cancelReason }: Job): string[] {
  if (file?.error != null) return [file.error.code];
  return cancelReason === 'IDLE' || cancelReason === 'DEPENDENCY' ? [cancelReason.toLowerCase()] : [];
}

function wordFor({ failedAt, cancelledAt, progress }: Job, tree: Tree['treeProgress']): string {
  // What is ended is so before what was pending in it is counted.
  const ended = failedAt != null ? 'FAILED' : cancelledAt != null ? 'CANCELLED' : undefined;
  const outcome = (tree?.complete === false ? undefined : (tree ?? progress).outcome) ?? ended;
  const isOpenBelow = tree?.complete === false && progress.completedAt != null;
  const status = isOpenBelow ? 'RUNNING' : progress.status;
  return (outcome == null || outcome === 'SUCCEEDED' ? status : outcome).toLowerCase();
}
