/**
 * Takes outcomes and gives new work in one round trip and one transaction, since workers do both over and over. Exchanges that
 * arrive together go to the database as one.
 */
import { InvalidInputError, JobtreeError } from '../../errors.ts';
import type { ExchangePart, ExchangePartAnswer } from '../engine/batchers.ts';
import type { Engine } from '../engine/engine.ts';
import {
  beginReport,
  prepareReports,
  type Report,
  type ReportAnswer,
  type ReportRow,
} from '../reports/report-outcomes.ts';
import { checkBatch } from '../values/checks.ts';
import { askAgain } from './ask-again.ts';
import {
  beginClaim,
  type Claimed,
  type ClaimedRow,
  checkRequests,
  claimForRequests,
  inTurn,
  type RequestedItems,
  toClaimed,
} from './claim-items.ts';

export interface Claim {
  readonly worker: string;
  readonly requests: readonly RequestedItems[];
  readonly claimId?: string | null | undefined;
}

export interface Exchange extends Claimed {
  readonly answers: ReportAnswer[];
  /** Why the claim was refused; the reports count nevertheless. */
  readonly claimError: InvalidInputError | undefined;
}

/** `refused`: as for reportOutcomes. */
export async function exchange(
  engine: Engine,
  reports: readonly Report[],
  claim: Claim,
  refused?: ReadonlyMap<number, ReportAnswer>,
): Promise<Exchange> {
  checkBatch(reports.length, 'reports');
  const requests = checkRequests(claim.worker, claim.requests, claim.claimId);
  const { prepared, answer } = await prepareReports(engine, reports, refused);
  const part = { reports: prepared, requests };
  engine.parkedClaims.endRepeated(requests);
  const done = await inTurn(engine.claimsUnderWay, requests, async () => {
    const [first] = await engine.batchers.exchanges.submit([part], engine);
    if (first === undefined) throw new Error('an exchange without an answer');
    if (first.claimed instanceof JobtreeError) return { reports: first.reports, claimed: first.claimed };
    return { reports: first.reports, claimed: await askAgain(engine, requests, first.claimed) };
  });
  const answers = await answer(done.reports);
  if (done.claimed instanceof JobtreeError) {
    if (!(done.claimed instanceof InvalidInputError)) throw done.claimed;
    return { answers, assignments: [], limitedTypes: [], claimError: done.claimed };
  }
  return { answers, ...(await toClaimed(engine, requests, done.claimed)), claimError: undefined };
}

/** The database call, for the parts of one or several workers. */
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
  const { answers: given, emptied, tell } = claim.take(claimed);
  const answers = report.take(reported, emptied);
  tell();
  return parts.map((part) => ({
    reports: answers.splice(0, part.reports.length),
    claimed: given.splice(0, part.requests.length),
  }));
}

/** Runs reports and claims separately, so that an invalid claim does not keep the reports that came with it from counting. */
async function apart(engine: Engine, { reports, requests }: ExchangePart): Promise<ExchangePartAnswer> {
  const answers = reports.length === 0 ? [] : await engine.batchers.reports.submit([...reports], engine);
  try {
    return { reports: answers, claimed: await claimForRequests(engine, requests) };
  } catch (error) {
    if (error instanceof JobtreeError) return { reports: answers, claimed: error };
    throw error;
  }
}
