/** What the log says of failures: which item, and of many alike a line a minute. */
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { FailureLog } from '../../../src/domain/engine/failure-log.ts';
import { setQueue, tendQueues } from '../../../src/domain/queues/queues.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { type ItemKey, itemIdOf } from '../../../src/domain/values/ids.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();
const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'info' }, { write: (text: string) => void lines.push(JSON.parse(text)) });
/** What failed, and how many with it, as the lines say it. */
const told = (type: string) =>
  lines
    .filter((line) => line.msg === 'item failed' && line.type === type)
    .map(({ itemId, code, final, items }) => [itemId, code, final, items]);
const id = (item: ItemKey | undefined) => itemIdOf(item as ItemKey);

describe('a line names type, job and item', () => {
  let original: FailureLog;
  beforeEach(() => {
    original = t.engine.failureLog;
    Object.assign(t.engine, { failureLog: new FailureLog(logger) });
  });
  afterEach(() => Object.assign(t.engine, { failureLog: original }));

  it('for each reported code, whether the item is retried or has failed for good', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: Array(6).fill({ payload: 'secret' }) });
    const items = await t.items(jobId);
    const held = await claimItems(t.engine, 'w', [{ type, limit: 6 }]);
    const failures = [
      { code: 'A', message: 'a', permanent: true },
      { code: 'A', message: 'a', permanent: true },
      { code: 'A', message: 'a' },
      { code: 'B', message: 'b'.repeat(1_001), permanent: true },
    ];
    await reportOutcomes(t.engine, [
      ...failures.map((failure, i) => ({ assignmentId: held[i]?.id ?? '', failure })),
      { assignmentId: held[4]?.id ?? '', result: 'secret' },
      // Twice: it goes the way of what is looked at one by one.
      { assignmentId: held[5]?.id ?? '', failure: { code: 'C', message: 'c' } },
      { assignmentId: held[5]?.id ?? '', failure: { code: 'D', message: 'd' } },
    ]);
    expect(told(type).toSorted()).toEqual(
      [
        [id(items[0]), 'A', true, 2],
        [id(items[2]), 'A', false, 1],
        [id(items[3]), 'B', true, 1],
        [id(items[5]), 'C', false, 1],
      ].toSorted(),
    );
    expect(lines.at(-1)).toMatchObject({ jobId, attempt: 1, worker: 'w' });
    expect(lines.find(({ code }) => code === 'B')?.message).toBe('b'.repeat(1_000));
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('for items of a silent worker', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: [{}, {}], maxFailuresPerItem: 0 });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
    await t.expire(...held.map(({ id }) => id));
    await t.sweep();
    expect(told(type)).toEqual([[id((await t.items(jobId))[0]), 'HEARTBEAT_LOST', true, 2]]);
  });

  it('for items that no worker started in time', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: [{}, {}, {}] });
    await setQueue(t.engine, type, { lifetimeMs: 1_000 });
    await t.db.query(
      `update jobtree.job_item set created_at = now() - interval '1 minute' where job_id = $1`,
      [jobId],
    );
    await tendQueues(t.engine);
    expect(told(type)).toEqual([[id((await t.items(jobId))[0]), 'EXPIRED', true, 3]]);
  });
});

describe('for repeated failures', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const failed = (type: string, position: number, items: number, retryAt: string | null = null) =>
    [type, 'job', position, 1, 'w', 'E', 'no', retryAt, items] as const;

  it('the log has the first at once, and then a line a minute with the last one and their number', () => {
    const type = newType();
    const log = new FailureLog(logger);
    log.note([failed(type, 1, 1)]);
    for (let i = 0; i < 1_000; i++) log.note([failed(type, 2 + i, 500)]);
    log.note([failed(type, 7, 2, '2026-01-01T00:00:00Z')]);
    log.note(null);
    expect(told(type)).toEqual([
      ['job:1', 'E', true, 1],
      ['job:7', 'E', false, 2],
    ]);
    vi.advanceTimersByTime(60_000);
    expect(told(type).slice(2)).toEqual([['job:1001', 'E', true, 500_000]]);
    vi.advanceTimersByTime(120_000);
    log.note([failed(type, 5_000, 1)]);
    expect(told(type).slice(3)).toEqual([['job:5000', 'E', true, 1]]);
  });

  it('kinds beyond the first thousand share a line', () => {
    const type = newType();
    const log = new FailureLog(logger);
    const kinds = Array.from(
      { length: 5_000 },
      (_, i) => [type, 'job', i, 1, null, `E${i}`, 'no', null, 1] as const,
    );
    log.note(kinds);
    log.note(kinds);
    expect(told(type)).toHaveLength(1_001);
    vi.advanceTimersByTime(60_000);
    expect(told(type)).toHaveLength(2_002);
  });
});
