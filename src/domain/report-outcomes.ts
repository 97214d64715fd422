/**
 * Takes the outcomes of attempts, each with an answer of its own; what can be told without the database (an entry that
 * breaks a rule) is told before it. Reports that arrive together go to the database as one.
 */
import { InvalidInputError } from '../errors.ts';
import { checkBatch, checkId, checkText, toJsonText } from './checks.ts';
import { countTypes, type Engine } from './engine.ts';
import { type NewItem, toItemText } from './items.ts';
import { type Limits, maxBatch, maxFailureTextLength, maxNameLength } from './limits.ts';

export interface Report {
  readonly assignmentId: string;
  /** Present for a success; null is a result. */
  readonly result?: unknown;
  readonly failure?: Failure | null | undefined;
  readonly newItems?: readonly (NewItem & { readonly type: string })[] | null | undefined;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Not to be tried again. */
  readonly permanent?: boolean | null | undefined;
}

export type ReportStatus = 'ACCEPTED' | 'DUPLICATE' | 'STALE' | 'INVALID';

export interface ReportAnswer {
  readonly status: ReportStatus;
  /** When a failed item is due again; a duplicate has it from the first report. */
  readonly retryAt?: Date | undefined;
  readonly error?: InvalidInputError | undefined;
}

export async function reportOutcomes(engine: Engine, reports: readonly Report[]): Promise<ReportAnswer[]> {
  checkBatch(reports.length, 'reports');
  const texts: string[] = [];
  const invalid = new Map<number, ReportAnswer>();
  for (const [i, report] of reports.entries()) {
    try {
      texts.push(toReportText(report, `reports[${i}]`, engine.limits));
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      invalid.set(i, { status: 'INVALID', error });
    }
  }
  const answers = texts.length === 0 ? [] : await engine.merged.reports.submit(texts);
  let next = 0;
  const all =
    invalid.size === 0 ? answers : reports.map((_, i) => invalid.get(i) ?? (answers[next++] as ReportAnswer));
  logReports(engine, reports, all);
  return all;
}

/** Failures are news; the ends of items are many, and for who asked. */
function logReports(
  { logger, logPayloads }: Engine,
  reports: readonly Report[],
  answers: readonly ReportAnswer[],
): void {
  const verbose = logger.isLevelEnabled('debug');
  for (const [i, { assignmentId, failure, result }] of reports.entries()) {
    const { status, retryAt, error } = answers[i] as ReportAnswer;
    if (failure != null && status === 'ACCEPTED') {
      const { code, message } = failure;
      logger.info({ assignmentId, code, message, retryAt, final: retryAt === undefined }, 'item failed');
    } else if (verbose) {
      const ended = { assignmentId, status, problem: error?.message };
      logger.debug(logPayloads ? { ...ended, result } : ended, 'item reported');
    }
  }
}

function toReportText(report: Report, field: string, limits: Limits): string {
  const id = checkId(report.assignmentId, 'an assignment', `${field}.assignmentId`);
  const newItems = report.newItems ?? [];
  if (report.failure != null) {
    if (report.result !== undefined)
      throw new InvalidInputError(`${field} has both a result and a failure.`, field);
    if (newItems.length > 0) {
      throw new InvalidInputError(`${field}.newItems: only a success makes new items.`, `${field}.newItems`);
    }
    return JSON.stringify({ assignmentId: id, failure: checkFailure(report.failure, `${field}.failure`) });
  }
  if (report.result === undefined) {
    throw new InvalidInputError(`${field} has neither a result (null is one) nor a failure.`, field);
  }
  const result = toJsonText(report.result, `${field}.result`, limits.maxJsonBytes);
  if (newItems.length === 0) return `{"assignmentId":"${id}","result":${result}}`;
  if (newItems.length > maxBatch) {
    throw new InvalidInputError(`${field}.newItems has more than ${maxBatch} entries.`, `${field}.newItems`);
  }
  const items = newItems.map((item, i) => {
    const at = `${field}.newItems[${i}]`;
    return toItemText(item, at, limits, { type: checkText(item.type, `${at}.type`, maxNameLength) });
  });
  return `{"assignmentId":"${id}","result":${result},"newItems":[${items.join(',')}]}`;
}

function checkFailure(failure: Failure, field: string): Failure {
  return {
    code: checkText(failure.code, `${field}.code`, maxNameLength),
    message:
      failure.message === '' ? '' : checkText(failure.message, `${field}.message`, maxFailureTextLength),
    permanent: failure.permanent ?? false,
  };
}

interface ReportRow {
  root_ids: string[] | null;
  ready_types: string[];
  answers:
    | {
        index: number;
        status: ReportStatus;
        retryAt: string | null;
        field: string | null;
        message: string | null;
      }[]
    | null;
}

const accepted: ReportAnswer = { status: 'ACCEPTED' };

/** The call itself, for reports of one or several callers. */
export async function reportPrepared(engine: Engine, texts: readonly string[]): Promise<ReportAnswer[]> {
  const [row] = await engine.database.call<ReportRow>('report_outcomes', `[${texts.join(',')}]`);
  if (row === undefined) throw new Error('report_outcomes returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId);
  if (row.ready_types.length > 0) engine.effects.ready(countTypes(row.ready_types));
  const all = Array.from(texts, () => accepted);
  for (const { index, status, retryAt, field, message } of row.answers ?? []) {
    all[index] = {
      status,
      retryAt: retryAt === null ? undefined : new Date(retryAt),
      error: status === 'INVALID' ? new InvalidInputError(message ?? '', field ?? undefined) : undefined,
    };
  }
  return all;
}
