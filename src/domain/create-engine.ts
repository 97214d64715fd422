/** Assembles the engine: the memory of where claims start, and the batchers that merge concurrent calls. */
import type { Database } from '../db/database.ts';
import { Turns } from '../db/turns.ts';
import { notStored, type StoredLimits, StoredUse } from './access/stored.ts';
import { SecretBox } from './callbacks/secret-box.ts';
import { Backlog, Batcher } from './engine/batcher.ts';
import { type Engine, forRequest } from './engine/engine.ts';
import { FailureLog } from './engine/failure-log.ts';
import { LowWater } from './engine/low-water.ts';
import type { AddEntry, PreparedItem } from './engine/merged.ts';
import { Workers } from './engine/workers.ts';
import { Figures } from './figures/figures.ts';
import { SlowAfter, type Slowness } from './figures/slow-items.ts';
import { insertItems } from './items/add-items.ts';
import { TypeSchemas } from './types/type-schemas.ts';
import { maxBatch } from './values/limits.ts';
import { claimForRequests } from './work/claim-items.ts';
import { exchangeParts } from './work/exchange.ts';
import { keepLeases } from './work/heartbeat.ts';
import { type PreparedReport, reportPrepared } from './work/report-outcomes.ts';

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
  | 'merged'
  | 'claimsUnderWay'
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
    largeTrees: new Turns(largeTreesAtOnce),
    merged: {
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
      adds: (jobId, keyed) => {
        const name = `${jobId}/${keyed}`;
        let batcher = adders.get(name);
        if (batcher === undefined) {
          batcher = new Batcher({
            run: (items, request) => insertItems(forRequest(engine, request), jobId, items, false),
            width,
            maxWeight: keyed ? 0 : maxBatch,
            weigh: weighItem,
            backlog,
            bytesOf: bytesOfItem,
            onIdle: () => adders.delete(name),
          });
          adders.set(name, batcher);
        }
        return batcher;
      },
    },
  };
  return engine;
}
