/** Reports in as many requests as they need, each within the server's limits. */
import type { ExchangePartsMutation, ReportInput } from '../generated/operations.ts';
import { payloadOf } from './errors.ts';
import { checkValue } from './job-spec.ts';
import { maxEntries, maxUnits } from './limits.ts';
import type { Report, ReportAnswer } from './types.ts';

/** Sends one request after the other: a call that failed half-way can be repeated, and nothing counts twice. */
export async function reportInBatches(
  reports: readonly Report[],
  send: (reports: ReportInput[]) => Promise<ExchangePartsMutation['reportOutcomes']>,
): Promise<ReportAnswer[]> {
  const answers = reports.map(
    ({ assignmentId }): ReportAnswer => ({ assignmentId, status: 'ACCEPTED', retryAt: null, error: null }),
  );
  let from = 0;
  for (const batch of split(reports.map(toReportInput))) {
    for (const { index, status, retryAt = null, error } of payloadOf(await send(batch)).entries) {
      // The server counts within its request.
      const message = error?.message.replace(/^reports\[(\d+)\]/, (_, n) => `reports[${from + Number(n)}]`);
      const { assignmentId } = reports[from + index] ?? { assignmentId: '' };
      answers[from + index] = { assignmentId, status, retryAt, error: message ?? null };
    }
    from += batch.length;
  }
  return answers;
}

function split(reports: readonly ReportInput[]): ReportInput[][] {
  let batch: ReportInput[] = [];
  // No reports are one request, which the server refuses.
  const batches = [batch];
  let units = 0;
  for (const report of reports) {
    const size = JSON.stringify(report).length;
    if (batch.length === maxEntries || (batch.length > 0 && units + size > maxUnits)) {
      batch = [];
      batches.push(batch);
      units = 0;
    }
    batch.push(report);
    units += size;
  }
  return batches;
}

function toReportInput(report: Report, i: number): ReportInput {
  const { assignmentId } = report;
  if (report.failure !== undefined) return { assignmentId, outcome: { failure: report.failure } };
  if (report.snoozeMs !== undefined) return { assignmentId, outcome: { snoozeMs: report.snoozeMs } };
  const { result, newItems } = report;
  const path = `reports[${i}].outcome.success`;
  if (result !== undefined) checkValue(result, `${path}.result`);
  for (const [j, { payload = null }] of newItems?.entries() ?? [])
    checkValue(payload, `${path}.newItems[${j}].payload`);
  return { assignmentId, outcome: { success: { result, newItems: newItems && [...newItems] } } };
}
