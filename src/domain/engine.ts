/**
 * What every operation needs: the database, the limits, and somebody to tell what it did. An operation never waits for
 * those it tells; they are hints, and a lost one costs time, nothing else.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { type AddEntry, insertItems, type PreparedItem } from './add-items.ts';
import type { Assignment } from './assignment.ts';
import { claimForWants, type Want } from './claim-items.ts';
import { beat, type HoldStatus } from './heartbeat.ts';
import { type Limits, maxBatch } from './limits.ts';
import { LowWater } from './low-water.ts';
import { Merger } from './merger.ts';
import { type ReportAnswer, reportPrepared } from './report-outcomes.ts';

export interface Effects {
  /** The tree has deltas to fold, with `fromStart` maybe some that committed late. */
  touched(rootId: string, fromStart?: boolean): void;
  /** Items of these types may have become claimable. */
  ready(types: readonly string[]): void;
}

export interface Engine {
  readonly database: Database;
  readonly limits: Limits;
  readonly effects: Effects;
  readonly logger: Logger;
  /** Whether payloads and results may stand in the log. */
  readonly logPayloads: boolean;
  readonly lowWater: LowWater;
  readonly merged: Merged;
}

/** Calls of one kind that arrive while others are under way go to the database together. */
interface Merged {
  readonly claims: Merger<Want, Assignment[]>;
  readonly reports: Merger<string, ReportAnswer>;
  readonly heartbeats: Merger<string, HoldStatus>;
  adds(jobId: string): Merger<PreparedItem, AddEntry>;
}

/** Two batches of a kind at a time: one is on its way while Postgres works on the other. */
const width = 2;

/** An entry of 20 kB counts as one, larger ones by their size: a full batch then has about 20 MB. */
const weighText = (text: string) => Math.max(1, text.length / 20_000);

export function createEngine(parts: Omit<Engine, 'lowWater' | 'merged'>): Engine {
  const adders = new Map<string, Merger<PreparedItem, AddEntry>>();
  const engine: Engine = {
    ...parts,
    lowWater: new LowWater(),
    merged: {
      claims: new Merger({
        run: (wants) => claimForWants(engine, wants),
        width,
        maxWeight: maxBatch,
        weigh: (want) => want.limit,
      }),
      reports: new Merger({
        run: (texts) => reportPrepared(engine, texts),
        width,
        maxWeight: maxBatch,
        weigh: weighText,
      }),
      heartbeats: new Merger({ run: (ids) => beat(engine, ids), width, maxWeight: maxBatch }),
      adds: (jobId) => {
        let merger = adders.get(jobId);
        if (merger === undefined) {
          merger = new Merger({
            run: (items) => insertItems(engine, jobId, items, false),
            width,
            maxWeight: maxBatch,
            weigh: (item) => weighText(item.text),
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
