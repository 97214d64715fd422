/**
 * Takes outcomes and gives new work: in one round trip and one transaction, since that is what a worker does over and over. The
 * exchanges that arrive together go to the database as one.
 */
import { InvalidInputError, JobtreeError } from '../errors.ts';
import { type Assignment, logClaims } from './assignment.ts';
import { checkBatch } from './checks.ts';
import { beginClaim, type ClaimedRow, checkRequests, claimForRequests, inTurn } from './claim-items.ts';
import type { Engine } from './engine.ts';
import { keepReadable } from './keep-readable.ts';
import type { ExchangePart, ExchangePartAnswer } from './merged.ts';
import {
  beginReport,
  prepareReports,
  type Report,
  type ReportAnswer,
  type ReportRow,
} from './report-outcomes.ts';

export interface Claim {
  readonly worker: string;
  readonly requests: readonly { readonly type: string; readonly limit: number }[];
  readonly claimId?: string | null | undefined;
}

export interface Exchange {
  readonly answers: ReportAnswer[];
  readonly assignments: readonly Assignment[];
  /** Why the claim was refused; the reports count all the same. */
  readonly claimError: InvalidInputError | undefined;
}

export async function exchange(engine: Engine, reports: readonly Report[], claim: Claim): Promise<Exchange> {
  checkBatch(reports.length, 'reports');
  const requests = checkRequests(claim.worker, claim.requests, claim.claimId);
  const { prepared, answer } = prepareReports(engine, reports);
  const part = { reports: prepared, requests };
  const [done] = await inTurn(engine.claimsUnderWay, requests, () => engine.merged.exchanges.submit([part]));
  if (done === undefined) throw new Error('an exchange without an answer');
  const answers = await answer(done.reports);
  if (done.claimed instanceof JobtreeError) {
    if (!(done.claimed instanceof InvalidInputError)) throw done.claimed;
    return { answers, assignments: [], claimError: done.claimed };
  }
  const assignments = await keepReadable(engine, done.claimed);
  logClaims(engine, assignments);
  return { answers, assignments, claimError: undefined };
}

/** The call itself, for the parts of one or several workers. */
export async function exchangeParts(
  engine: Engine,
  parts: readonly ExchangePart[],
): Promise<ExchangePartAnswer[]> {
  const report = beginReport(
    engine,
    parts.flatMap((part) => part.reports),
  );
  const requests = parts.flatMap((part) => part.requests);
  const claim = beginClaim(engine, requests);
  let rows: (ClaimedRow & ReportRow)[];
  try {
    rows = await engine.database.call('exchange', ...report.values, ...claim.values);
  } catch (error) {
    if (parts.length === 1 && error instanceof JobtreeError)
      return [await apart(engine, parts[0] as ExchangePart)];
    throw error;
  }
  const [reported, ...claimed] = rows;
  if (reported === undefined) throw new Error('exchange returned no row');
  const answers = report.take(reported);
  const assignments = claim.take(claimed);
  return parts.map((part) => ({
    reports: answers.splice(0, part.reports.length),
    claimed: assignments.splice(0, part.requests.length).flat(),
  }));
}

/** What is wrong with a claim must not keep the reports that came with it from counting. */
async function apart(engine: Engine, { reports, requests }: ExchangePart): Promise<ExchangePartAnswer> {
  const answers = reports.length === 0 ? [] : await engine.merged.reports.submit([...reports]);
  try {
    return { reports: answers, claimed: (await claimForRequests(engine, requests)).flat() };
  } catch (error) {
    if (error instanceof JobtreeError) return { reports: answers, claimed: error };
    throw error;
  }
}
