/** Assembles the engine: the memory of where claims start, and the batchers that merge concurrent calls. */

import { FairSemaphore } from '../concurrency/fair-semaphore.ts';
import type { Database } from '../db/database.ts';
import { notStored, type StoredLimits, StoredUse } from './access/stored.ts';
import { SecretBox } from './callbacks/secret-box.ts';
import { claimForRequests } from './claims/claim-items.ts';
import { exchangeParts } from './claims/exchange.ts';
import { keepLeases } from './claims/heartbeat.ts';
import { ParkedClaims } from './claims/parked-claims.ts';
import { releaseAssignments } from './claims/release-assignments.ts';
import { Backlog, Batcher } from './engine/batcher.ts';
import type { AddEntry, CreationAnswer, PlainJob, PreparedItem } from './engine/batchers.ts';
import { type Engine, forRequest } from './engine/engine.ts';
import { FailureLog } from './engine/failure-log.ts';
import { LowWater } from './engine/low-water.ts';
import { Figures } from './figures/figures.ts';
import { SlowAfter, type Slowness } from './figures/slow-items.ts';
import { Workers } from './figures/workers.ts';
import { insertItems } from './items/add-items.ts';
import { insertJobs } from './jobs/create-jobs.ts';
import { type PreparedReport, reportPrepared } from './reports/report-outcomes.ts';
import { TypeSchemas } from './types/type-schemas.ts';
import { maxBatch } from './values/limits.ts';

/** Two batches of a kind at a time: one travels while Postgres works on the other. */
const width = 2;

/** Each may keep Postgres busy for seconds, and it has other work. */
const largeTreesAtOnce = 2;

/** Requests under way are limited elsewhere, so what waits beyond them are the parts of large ones. */
const maxWaitingCalls = 20_000;
const maxWaitingBytes = 100_000_000;

/** An entry of up to 20 kB counts as one, larger ones by their size, so a full batch has about 20 MB. */
const weighText = (text: string) => Math.max(1, text.length / 20_000);
const weighItem = ({ payload, settings }: PreparedItem) => weighText(payload) + settings.length / 20_000;
const bytesOfItem = ({ payload, settings }: PreparedItem) => payload.length + settings.length;
const weighJob = ({ payloads }: PlainJob) => payloads.reduce((sum, payload) => sum + weighText(payload), 0);
const bytesOfJob = ({ head, payloads }: PlainJob) =>
  payloads.reduce((sum, payload) => sum + payload.length, head.length);
const weighReport = ({ text, newItems }: PreparedReport) =>
  newItems.reduce((sum, item) => sum + weighText(item), weighText(text));
const bytesOfReport = ({ text, newItems }: PreparedReport) =>
  newItems.reduce((sum, item) => sum + item.length, text.length);

type Given = Omit<
  Engine<Database>,
  | 'secrets'
  | 'lowWater'
  | 'schemas'
  | 'figures'
  | 'failureLog'
  | 'slowAfter'
  | 'stored'
  | 'workers'
  | 'batchers'
  | 'claimsUnderWay'
  | 'parkedClaims'
  | 'largeTrees'
>;

export function createEngine({
  slowness,
  secrets = new SecretBox([]),
  tenantStored = notStored,
  ...parts
}: Given & {
  readonly slowness: Slowness;
  readonly secrets?: SecretBox;
  /** How much a tenant may store. */
  readonly tenantStored?: StoredLimits;
}): Engine<Database> {
  const backlog = new Backlog({ maxCalls: maxWaitingCalls, maxBytes: maxWaitingBytes });
  const adders = new Map<string, Batcher<PreparedItem, AddEntry>>();
  const creations = () =>
    new Batcher<PlainJob, CreationAnswer>({
      run: (jobs, request) => insertJobs(forRequest(engine, request), jobs),
      width,
      maxWeight: maxBatch,
      weigh: weighJob,
      backlog,
      bytesOf: bytesOfJob,
    });
  const engine: Engine<Database> = {
    ...parts,
    secrets,
    lowWater: new LowWater(),
    schemas: new TypeSchemas(parts.database),
    figures: new Figures(),
    failureLog: new FailureLog(parts.logger),
    slowAfter: new SlowAfter(slowness),
    stored: new StoredUse(parts.database, tenantStored),
    workers: new Workers(),
    claimsUnderWay: new Map(),
    parkedClaims: new ParkedClaims((ids) => releaseAssignments(engine, ids)),
    largeTrees: new FairSemaphore(largeTreesAtOnce),
    batchers: {
      claims: new Batcher({
        run: (requests) => claimForRequests(engine, requests),
        width,
        maxWeight: maxBatch,
        weigh: (request) => request.limit,
        backlog,
      }),
      exchanges: new Batcher({
        run: (parts) => exchangeParts(engine, parts),
        width,
        maxWeight: maxBatch,
        weigh: ({ reports, requests }) =>
          Math.max(
            reports.reduce((sum, report) => sum + weighReport(report), 0),
            requests.reduce((sum, request) => sum + request.limit, 0),
          ),
        backlog,
        bytesOf: ({ reports }) => reports.reduce((sum, report) => sum + bytesOfReport(report), 0),
      }),
      reports: new Batcher({
        run: (reports) => reportPrepared(engine, reports, false),
        width,
        maxWeight: maxBatch,
        weigh: weighReport,
        backlog,
        bytesOf: bytesOfReport,
      }),
      busyReports: new Batcher({
        run: (reports) => reportPrepared(engine, reports, true),
        width,
        maxWeight: 0,
        backlog,
        bytesOf: bytesOfReport,
      }),
      heartbeats: new Batcher({
        run: (heartbeats) => keepLeases(engine, heartbeats),
        width,
        maxWeight: maxBatch,
        smallFirst: true,
      }),
      adds: (jobId, kind) => {
        const name = `${jobId}/${kind}`;
        let batcher = adders.get(name);
        if (batcher === undefined) {
          batcher = new Batcher({
            run: (items, request) => insertItems(forRequest(engine, request), jobId, items, false),
            width,
            maxWeight: kind === 'keyed' ? 0 : maxBatch,
            weigh: weighItem,
            backlog,
            bytesOf: bytesOfItem,
            onIdle: () => adders.delete(name),
          });
          adders.set(name, batcher);
        }
        return batcher;
      },
      creations: { keyed: creations(), unkeyed: creations() },
    },
  };
  return engine;
}
