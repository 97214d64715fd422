/** Puts the engine together: its memory of where claims start, and the merging of calls that arrive together. */
import { type AddEntry, insertItems } from './add-items.ts';
import { claimForWants } from './claim-items.ts';
import type { Engine } from './engine.ts';
import { exchangeParts } from './exchange.ts';
import { keepLeases } from './heartbeat.ts';
import { maxBatch } from './limits.ts';
import { LowWater } from './low-water.ts';
import { Merger } from './merger.ts';
import { type PreparedReport, reportPrepared } from './report-outcomes.ts';

/** Two batches of a kind at a time: one is on its way while Postgres works on the other. */
const width = 2;

/** An entry of 20 kB counts as one, larger ones by their size: a full batch then has about 20 MB. */
const weighText = (text: string) => Math.max(1, text.length / 20_000);
const weighReport = ({ result, other }: PreparedReport) => weighText(result ?? other ?? '');

export function createEngine(parts: Omit<Engine, 'lowWater' | 'merged' | 'claimsUnderWay'>): Engine {
  const adders = new Map<string, Merger<string, AddEntry>>();
  const engine: Engine = {
    ...parts,
    lowWater: new LowWater(),
    claimsUnderWay: new Map(),
    merged: {
      claims: new Merger({
        run: (wants) => claimForWants(engine, wants),
        width,
        maxWeight: maxBatch,
        weigh: (want) => want.limit,
      }),
      exchanges: new Merger({
        run: (parts) => exchangeParts(engine, parts),
        width,
        maxWeight: maxBatch,
        weigh: ({ reports, wants }) =>
          Math.max(
            reports.reduce((sum, report) => sum + weighReport(report), 0),
            wants.reduce((sum, want) => sum + want.limit, 0),
          ),
      }),
      reports: new Merger({
        run: (reports) => reportPrepared(engine, reports, false),
        width,
        maxWeight: maxBatch,
        weigh: weighReport,
      }),
      busyReports: new Merger({
        run: (reports) => reportPrepared(engine, reports, true),
        width,
        maxWeight: 0,
      }),
      heartbeats: new Merger({ run: (ids) => keepLeases(engine, ids), width, maxWeight: maxBatch }),
      adds: (jobId) => {
        let merger = adders.get(jobId);
        if (merger === undefined) {
          merger = new Merger({
            run: (items) => insertItems(engine, jobId, items, false),
            width,
            maxWeight: maxBatch,
            weigh: weighText,
            onIdle: () => adders.delete(jobId),
          });
          adders.set(jobId, merger);
        }
        return merger;
      },
    },
  };
  return engine;
}
