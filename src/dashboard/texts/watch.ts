/** What the page of one tree says, in English. It is apart from the others, which it does not need. */
import type { JobProgress, JobTreeProgress } from '../../client/types.ts';

const number = new Intl.NumberFormat('en');
const states: Readonly<Record<string, string>> = {
  SUCCEEDED: 'Complete',
  PARTIAL: 'Complete, with failures',
  FAILED: 'Failed',
  CANCELLED: 'Cancelled',
  WAITING: 'Waiting',
  RUNNING: 'Running',
};

type Counts = Pick<JobProgress, 'itemCount' | 'itemProgress' | 'failed' | 'cancelled' | 'percent'>;

const counted = ({ itemCount, itemProgress, failed, cancelled, percent }: Counts) =>
  [
    `${number.format(itemProgress)} of ${number.format(itemCount)} ${itemCount === 1 ? 'item' : 'items'}`,
    percent == null ? 'more may come' : `${percent}%`,
    failed > 0 ? `${number.format(failed)} failed` : '',
    cancelled > 0 ? `${number.format(cancelled)} cancelled` : '',
  ]
    .filter((part) => part !== '')
    .join(', ');

const stateOf = ({ outcome, itemProgress }: Pick<JobTreeProgress, 'outcome' | 'itemProgress'>) =>
  states[outcome ?? (itemProgress > 0 ? 'RUNNING' : 'WAITING')] ?? '';

export const en = {
  heading: 'Progress',
  title: (type: string) => `Progress of ${type}`,
  tree: (progress: JobTreeProgress) => counted(progress),
  state: stateOf,
  job: (job: JobProgress) => `${states[job.outcome ?? job.status] ?? ''}: ${counted(job)}`,
  jobs: 'Jobs',
  results: 'Results',
  showResults: 'Show results',
  newResults: 'Show newer results',
  more: 'Show more',
  noResults: 'There are no results yet.',
  download: 'Download all results',
  noDownload: (status: number) => `The results could not be downloaded: the server answered ${status}.`,
  loading: 'Loading…',
  ended: 'This link has expired or was revoked. Ask whoever gave it to you for a new one.',
  gone: 'There is nothing at this address: the link is incomplete, or the tree was deleted.',
};
