/** A standstill in one sentence, for people. */

import type { Standstill } from '../../domain/queues/standstill.ts';
import { itemIdOf } from '../../domain/values/ids.ts';
import { encodeGlobalId } from '../core/global-id.ts';

const at = (time: Date | null) => time?.toISOString() ?? 'a later time';
/** `2026-11-23T02:28Z` */
const toMinute = (time: Date) => time.toISOString().replace(/:\d\d\.\d+Z$/, 'Z');
const worded = (status: string) => status.toLowerCase();

export function standstillMessage(standstill: Standstill): string {
  const { reason, type, since, until, limit, code, serializeKey, head, waitsFor, cancelReason, item } =
    standstill;
  const key =
    serializeKey === null ? 'its serialize key' : `the serialize key ${JSON.stringify(serializeKey)}`;
  const holder = head === null ? 'another item' : encodeGlobalId('JobItem', itemIdOf(head));
  const awaited = waitsFor.map((job) => job.type).join(', ') || 'other jobs of its tree';
  const failure = code === null ? '' : ` after ${code}`;
  switch (reason) {
    case 'PAUSED':
      return `The type ${type} is paused.`;
    case 'NO_WORKER':
      return `No worker of the type ${type} is connected${since === null ? '' : `: something was last done of it at ${toMinute(since)}`}.`;
    case 'KEY_HELD':
      return `It waits for ${key}, which ${holder} keeps since it failed for good: replay or discard that.`;
    case 'RATE_LIMIT':
      return `The rate of the type ${type} is used up until ${at(until)}.`;
    case 'CONCURRENCY_LIMIT':
      return `Workers hold as many items of the type ${type} as its limit allows: ${limit}.`;
    case 'WORKERS_BUSY':
      return `All workers of the type ${type} are busy.`;
    case 'QUEUED':
      return `It is ready, and waits for its turn at a worker of the type ${type}.`;
    case 'BLOCKED':
      return `It waits for ${key}, which ${holder} has${head === null ? '' : `: that is ${worded(head.status)}`}.`;
    case 'RETRYING':
      return `It failed${code === null ? '' : ` with ${code}`}, and is tried again at ${at(until)}.`;
    case 'SCHEDULED':
      return `It is scheduled for ${at(until)}.`;
    case 'IMPORTING':
      return since === null
        ? 'Its file is being read.'
        : `Its file can't be read: the object store has been unavailable since ${at(since)}.`;
    case 'NOT_SEALED':
      return 'It has nothing to do, and is not sealed: add items, or seal it.';
    case 'WAITS_FOR_JOBS':
      return `It waits for ${awaited}.`;
    case 'WAITS_FOR_PARENT':
      return `Its items come from ${awaited}, which is not complete.`;
    case 'FAILED':
      return item === null ? 'It failed.' : `It failed for good${failure}.`;
    case 'CANCELLED':
      return cancelReason === null ? 'It was cancelled.' : `It was cancelled: ${worded(cancelReason)}.`;
    case 'COMPLETE':
      return 'It is complete.';
  }
}
