/** The first part of the demonstration: a tree of two jobs, in which each success of one makes an item of the other. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, defineType } from '../../client/index.ts';
import { typesOfTree } from '../job-progress.ts';
import { check, type Outcome } from './outcome.ts';
import { watchTree } from './watch-tree.ts';

interface Hours {
  readonly employee: string;
  readonly hours: number;
  /** In cents. */
  readonly hourlyWage: number;
}

interface Pay {
  readonly employee: string;
  /** In cents. */
  readonly net: number;
}

interface Check {
  readonly employee: string;
  readonly text: string;
}

/** In tenths of a percent, so that cents stay whole numbers. */
const taxRate = 225;

export const calculatePayroll = defineType<Hours, Pay>('calculatePayroll', {
  backoffMs: [600],
  backoffJitter: 0,
});
export const sendCheck = defineType<Pay, Check>('sendCheck');

const unlucky = 'Grace';
const employees: readonly Hours[] = [
  { employee: 'Ada', hours: 160, hourlyWage: 42_50 },
  { employee: unlucky, hours: 152, hourlyWage: 45_00 },
  { employee: 'Katherine', hours: 144, hourlyWage: 47_25 },
];

export const handleCalculatePayroll = calculatePayroll.handler(async (hours, { attempt }) => {
  await pause(400); // so that a person can see the bars move
  if (hours.employee === unlucky && attempt === 1) throw new Error('the time sheet is locked');
  return toPay(hours);
});

export const handleSendCheck = sendCheck.handler(async (pay) => {
  await pause(300);
  return toCheck(pay);
});

function toPay({ employee, hours, hourlyWage }: Hours): Pay {
  const gross = hours * hourlyWage;
  return { employee, net: gross - Math.round((gross * taxRate) / 1_000) };
}

function toCheck({ employee, net }: Pay): Check {
  return {
    employee,
    text: `Pay ${employee} $${(net / 100).toLocaleString('en-US', { minimumFractionDigits: 2 })}`,
  };
}

export async function runPayroll(client: Client, signal: AbortSignal): Promise<Outcome> {
  const { id } = await client.createJob(
    calculatePayroll.job({ items: employees, sealed: true, children: [sendCheck.job({ feed: {} })] }),
  );
  const states = await watchTree(client, id, await typesOfTree(client, id), signal);
  const { nodes: items } = await client.items(id);
  const attemptsThatFailed = items.flatMap((item) => item.failures).map((failure) => failure.message);
  const sent: string[] = [];
  for await (const { result } of client.results<Pay, Check>(id)) sent.push(result.text);

  return {
    report: [
      ...sent.toSorted().map((text) => `  ${text}`),
      `  ${unlucky} was tried again, after: ${attemptsThatFailed.join(', ')}`,
    ],
    problems: [
      ...check('jobs that are complete', states.filter((job) => job.completedAt != null).length, 2),
      ...check('items that succeeded', states.map((job) => job.succeeded).join(' and '), '3 and 3'),
      ...check('attempts that failed', attemptsThatFailed.length, 1),
      ...check(
        'checks',
        sent.toSorted().join(', '),
        employees
          .map((one) => toCheck(toPay(one)).text)
          .toSorted()
          .join(', '),
      ),
    ],
  };
}
