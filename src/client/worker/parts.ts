/** Puts the parts of a worker together. */
import type { JobtreeError } from '../errors.ts';
import { Connection } from './connection.ts';
import type { Tell } from './emitter.ts';
import { Exchanges } from './exchanges.ts';
import { HandlerPool } from './handler-pool.ts';
import { Heartbeats } from './heartbeats.ts';
import type { HeldAssignment } from './held-assignments.ts';
import { Hints } from './hints.ts';
import { NoteSender } from './note-sender.ts';
import type { Settings } from './options.ts';
import { Outcomes } from './outcomes.ts';
import { Unheard } from './unheard.ts';

/** The longest that a server lets a claim wait. */
const longestWaitMs = 30_000;

/** What the parts need of their worker. */
export interface Owner {
  readonly tell: Tell;
  /** Whether the worker neither stops nor pauses. */
  readonly isClaiming: () => boolean;
  /** Something was claimed that is to be done. */
  readonly onWork: () => void;
  /** A handler is free, or an exchange has ended. */
  readonly onChange: () => void;
  /** The server has refused the worker from the beginning. */
  readonly onRefused: (error: JobtreeError) => void;
}

export type WorkerParts = ReturnType<typeof createParts>;

export function createParts(settings: Settings, { tell, isClaiming, onWork, onChange, onRefused }: Owner) {
  const { client, maxResultBytes, name: worker, pollIntervalMs, slots, version } = settings;
  const { socket } = client;
  const held = new Set<HeldAssignment>();
  const slotsByType = new Map(slots.map((one) => [one.type, one]));
  const unheard = new Unheard(worker);
  const connection = new Connection({ tell, unheard, onRefused, onConnected: () => exchanges.wakeNow() });
  const onError = (error: unknown) => connection.problem(error);
  const onReached = () => connection.reached();
  const exchanges = new Exchanges({
    socket,
    worker,
    slots,
    held,
    onClaimed: (assignment, sentAt) => pool.take(assignment, sentAt),
    onReported: (one, entry) => outcomes.reported(one, entry),
    onReleased: (one) => outcomes.released(one),
    onError,
    mostClaimed: () => pool.mostClaimed,
    waitMs: Math.min(pollIntervalMs, longestWaitMs),
    onSettled: (well) => {
      if (well) onReached();
      for (const one of slots) if (one.batchSize !== undefined) pool.fill(one);
      onChange();
    },
  });
  const requests = { socket, held, onReached, onError };
  const heartbeats = new Heartbeats({
    ...requests,
    onEnded: (one, status) => pool.ended(one, status),
    onSilence: (one) => pool.silent(one),
  });
  const notes = new NoteSender(requests);
  const outcomes = new Outcomes({ held, exchanges, notes, maxResultBytes, tell, unheard, onError });
  const parts = { slots: slotsByType, held, exchanges, heartbeats, notes, outcomes };
  const pool = new HandlerPool({ ...parts, worker, tell, isClaiming, onWork, onFree: onChange });
  const hints = new Hints({
    socket,
    slots: slotsByType,
    worker: { name: worker, version },
    pollIntervalMs,
    onWork: () => exchanges.wake(),
    onReached,
    onError,
  });
  return { ...parts, connection, hints, pool, unheard };
}
