/**
 * Takes the outcomes of attempts and answers each one separately; errors that need no database, such as an entry that breaks a
 * rule, are found before it is asked. Reports that arrive together go to the database as one.
 */
import { BusyError, errorCodes, InvalidInputError } from '../../errors.ts';
import type { BatchedAnswer, PreparedReport, ReportAnswer, ReportStatus } from '../engine/batchers.ts';
import type { Engine } from '../engine/engine.ts';
import type { FailedItems } from '../engine/failure-log.ts';
import { judgeFed, successField } from '../feeds/fed-payloads.ts';
import type { ReportFigure } from '../figures/figures.ts';
import { type NewItem, prepareItem, toItemText } from '../items/new-items.ts';
import { type Checked, type Part, toChecked } from '../types/type-schemas.ts';
import { checkBatch, checkId, checkInteger, checkName, checkText, toJsonText } from '../values/checks.ts';
import { splitAssignmentId } from '../values/ids.ts';
import {
  type Limits,
  maxBatch,
  maxFailureTextLength,
  maxNameLength,
  maxStackLength,
  retryAfterMsRange,
  snoozeMsRange,
} from '../values/limits.ts';

export type { BatchedAnswer, PreparedReport, ReportAnswer, ReportStatus };

/** The outcome of an attempt: a failure, or else a result (null is one) and new items. */
export interface Report {
  readonly assignmentId: string;
  readonly failure?: Failure | null | undefined;
  /** Neither of both: tries the item again after this time, without costing an attempt. */
  readonly snoozeMs?: number | null | undefined;
  readonly result?: unknown;
  readonly newItems?: readonly (NewItem & { readonly type: string })[] | null | undefined;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Whether it must not be tried again. */
  readonly permanent?: boolean | null | undefined;
  /** When to try again, instead of the job's backoff. */
  readonly retryAfterMs?: number | null | undefined;
  /** Where in the worker's code it came from. */
  readonly stack?: string | null | undefined;
}

/** `refused`: the answers to reports that must not be carried out, by their positions. */
export async function reportOutcomes(
  engine: Engine,
  reports: readonly Report[],
  refused?: ReadonlyMap<number, ReportAnswer>,
): Promise<ReportAnswer[]> {
  checkBatch(reports.length, 'reports');
  const { prepared, answer } = await prepareReports(engine, reports, refused);
  return answer(prepared.length === 0 ? [] : await engine.batchers.reports.submit(prepared, engine));
}

/** The reports that can go to the database, and a function that turns its answers to these into answers to all reports. */
export async function prepareReports(
  engine: Engine,
  reports: readonly Report[],
  refused: ReadonlyMap<number, ReportAnswer> = new Map(),
) {
  const good = new Map<number, PreparedReport>();
  const unasked = new Map(refused);
  const payloads: (Checked & { readonly report: number })[] = [];
  for (const [i, report] of reports.entries()) {
    if (unasked.has(i)) continue;
    try {
      good.set(i, prepare(report, i, engine.limits, payloads));
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      unasked.set(i, { status: 'INVALID', error });
    }
  }
  const anyPayloads = await engine.schemas.any('payload');
  const wrong = [
    ...(payloads.length > 0 && anyPayloads ? await judge(engine, 'payload', payloads) : []),
    ...(anyPayloads ? await judgeFed(engine, good) : []),
    ...((await engine.schemas.any('result'))
      ? await judge(engine, 'result', await resultsToCheck(engine, reports, good))
      : []),
  ];
  for (const [i, error] of wrong) {
    good.delete(i);
    unasked.set(i, { status: 'INVALID', error });
  }
  const prepared = [...good.values()];

  async function answer(batched: readonly BatchedAnswer[]): Promise<ReportAnswer[]> {
    const answers = await settleBusy(engine, prepared, batched);
    let next = 0;
    const all =
      unasked.size === 0
        ? answers
        : reports.map((_, i) => unasked.get(i) ?? (answers[next++] as ReportAnswer));
    logReports(engine, reports, all);
    return all;
  }

  return { prepared, answer };
}

/** The reports with a value that violates a schema, each with the problem. */
async function judge(
  { schemas }: Engine,
  part: Part,
  values: readonly (Checked & { readonly report: number })[],
): Promise<[number, InvalidInputError][]> {
  const problems = await schemas.check(part, values);
  return values.flatMap(({ report }, k) => {
    const problem = problems[k];
    return problem === undefined ? [] : [[report, problem] as [number, InvalidInputError]];
  });
}

/** The database reports an assignment whose lease is unknown. */
async function resultsToCheck(
  { schemas }: Engine,
  reports: readonly Report[],
  good: ReadonlyMap<number, PreparedReport>,
): Promise<(Checked & { readonly report: number })[]> {
  const results = [...good].flatMap(([report, { kind, assignmentId, text }]) =>
    kind !== 'result'
      ? []
      : [{ report, leaseId: splitAssignmentId(assignmentId).leaseId, length: text.length }],
  );
  const types = await schemas.typesOfLeases(results.map(({ leaseId }) => leaseId));
  return results.flatMap(({ report, leaseId, length }) => {
    const type = types.get(leaseId);
    const field = `${successField(report)}.result`;
    return type === undefined ? [] : [{ report, type, field, value: reports[report]?.result, length }];
  });
}

/**
 * Merged reports do not wait for locked rows. Those that met one are sent once more, each caller's separately, and wait. Of those that would feed
 * very much, some are accepted at a time.
 */
async function settleBusy(
  engine: Engine,
  prepared: readonly PreparedReport[],
  batched: readonly BatchedAnswer[],
): Promise<ReportAnswer[]> {
  const answers = [...batched];
  const busyOnes = () => [...answers.keys()].filter((i) => answers[i]?.status === 'BUSY');
  for (let busy = busyOnes(); busy.length > 0; ) {
    const alone = busy.map((i) => prepared[i] as PreparedReport);
    const again = await engine.batchers.busyReports.submit(alone, engine);
    for (const [k, i] of busy.entries()) answers[i] = again[k] as BatchedAnswer;
    busy = busyOnes();
    if (busy.length === alone.length) throw new BusyError(errorCodes.BUSY);
  }
  return answers as ReportAnswer[];
}

/** Logged only at debug, since many items end; failures have their own lines in the log. */
function logReports(
  { logger, logPayloads }: Engine,
  reports: readonly Report[],
  answers: readonly ReportAnswer[],
): void {
  if (!logger.isLevelEnabled('debug')) return;
  for (const [i, { assignmentId, failure, result }] of reports.entries()) {
    const { status, retryAt, error } = answers[i] as ReportAnswer;
    const ended = { assignmentId, status, problem: error?.message, failure: failure?.code, retryAt };
    logger.debug(logPayloads ? { ...ended, result } : ended, 'item reported');
  }
}

/** Adds the payloads of new items to `payloads`. */
function prepare(
  report: Report,
  index: number,
  limits: Limits,
  payloads: (Checked & { readonly report: number })[],
): PreparedReport {
  const id = checkId(report.assignmentId, 'an assignment', `reports[${index}].assignmentId`);
  const { failure, snoozeMs } = report;
  if (failure != null) {
    const text = JSON.stringify(checkFailure(failure, `reports[${index}].outcome.failure`));
    return { assignmentId: id, kind: 'failure', text, newItems: [] };
  }
  if (snoozeMs != null) {
    const field = `reports[${index}].outcome.snoozeMs`;
    const text = JSON.stringify({ snoozeMs: checkInteger(snoozeMs, field, ...snoozeMsRange) });
    return { assignmentId: id, kind: 'snooze', text, newItems: [] };
  }
  const field = successField(index);
  const newItems = report.newItems ?? [];
  const text = toJsonText(report.result, `${field}.result`, limits.maxJsonBytes);
  if (newItems.length > maxBatch) {
    throw new InvalidInputError(`${field}.newItems has more than ${maxBatch} entries.`, `${field}.newItems`);
  }
  const items = newItems.map((item, i) => {
    const at = `${field}.newItems[${i}]`;
    const type = checkName(item.type, `${at}.type`, maxNameLength);
    const prepared = prepareItem(item, at, limits, { type });
    payloads.push({ report: index, ...toChecked(type, at, item.payload, prepared) });
    return toItemText(prepared);
  });
  return { assignmentId: id, kind: 'result', text, newItems: items };
}

function checkFailure(failure: Failure, field: string): Failure {
  return {
    code: checkText(failure.code, `${field}.code`, maxNameLength),
    message:
      failure.message === '' ? '' : checkText(failure.message, `${field}.message`, maxFailureTextLength),
    permanent: failure.permanent ?? false,
    ...(failure.retryAfterMs != null && { retryAfterMs: checkRetry(failure, field) }),
    ...(failure.stack && { stack: checkText(failure.stack, `${field}.stack`, maxStackLength) }),
  };
}

function checkRetry({ permanent, retryAfterMs }: Failure, field: string): number {
  const at = `${field}.retryAfterMs`;
  if (permanent) throw new InvalidInputError(`${at} can't stand beside permanent.`, at);
  return checkInteger(retryAfterMs ?? 0, at, ...retryAfterMsRange);
}

export interface ReportRow {
  root_ids: string[] | null;
  /** How many items of each type may have become ready. */
  ready: Record<string, number> | null;
  answers:
    | {
        index: number;
        status: BatchedAnswer['status'];
        retryAt: string | null;
        field: string | null;
        message: string | null;
      }[]
    | null;
  /** The figures of what counted. */
  figures: ReportFigure[] | null;
  failed: FailedItems[] | null;
}

const accepted: BatchedAnswer = { status: 'ACCEPTED' };

/** The database call, for reports of one or several callers. */
export async function reportPrepared(
  engine: Engine,
  reports: readonly PreparedReport[],
  wait: boolean,
): Promise<BatchedAnswer[]> {
  const report = beginReport(engine, reports);
  const [row] = await engine.database.call<ReportRow>('report_results', ...report.values, wait);
  if (row === undefined) throw new Error('report_results returned no row');
  return report.take(row);
}

/** The arguments of report_results, and a function that handles its row. */
export function beginReport(engine: Engine, reports: readonly PreparedReport[]) {
  const named = new Set<string>();
  const kinds = reports.map(({ assignmentId, kind, newItems }) => {
    const isFirst = !named.has(assignmentId);
    named.add(assignmentId);
    return isFirst && newItems.length === 0 ? kind : 'report';
  });
  const ids = reports.map(({ assignmentId }) => splitAssignmentId(assignmentId));
  const texts = reports.map((report, i) => (kinds[i] === 'report' ? wholeText(report) : report.text));
  // Literals, since pg would search each element of an array for characters to escape.
  const values = [
    `{${ids.map(({ leaseId }) => leaseId).join(',')}}`,
    `{${ids.map(({ number }) => number).join(',')}}`,
    `[${texts.join(',')}]`,
    kinds.every((kind) => kind === 'result') ? null : `{${kinds.join(',')}}`,
  ];

  /** Workers need no hint about types that a claim in the same transaction has `emptied`. */
  function take(row: ReportRow, emptied: ReadonlySet<string> = new Set()): BatchedAnswer[] {
    for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId);
    const ready = Object.entries(row.ready ?? {}).filter(([type]) => !emptied.has(type));
    if (ready.length > 0) engine.effects.ready(new Map(ready));
    engine.figures.ended(row.figures);
    engine.failureLog.note(row.failed);
    const all = Array.from(reports, () => accepted);
    for (const { index, status, retryAt, field, message } of row.answers ?? []) {
      all[index] = {
        status,
        retryAt: retryAt === null ? undefined : new Date(retryAt),
        error: status === 'INVALID' ? new InvalidInputError(message ?? '', field ?? undefined) : undefined,
      };
    }
    return all;
  }

  return { values, take };
}

function wholeText({ kind, text, newItems }: PreparedReport): string {
  if (kind === 'snooze') return text;
  const more = newItems.length === 0 ? '' : `,"newItems":[${newItems.join(',')}]`;
  return `{"${kind}":${text}${more}}`;
}
