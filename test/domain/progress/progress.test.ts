import { describe, expect, it } from 'vitest';
import {
  isNewer,
  percent,
  progressMessage,
  treeMessage,
  treePercent,
} from '../../../src/domain/progress/progress.ts';
import { progressOf } from '../../support/progress.ts';

describe('progress', () => {
  it('is newer if its revision is higher', () => {
    const known = progressOf({ itemCount: 10, succeeded: 8, startedAt: 1 });
    const steps = [
      { sealed: true },
      { succeeded: 9 },
      { failed: 1 },
      { cancelled: 1 },
      { itemCount: 11 },
      { completedAt: 1 },
    ];
    for (const step of steps) {
      expect(isNewer({ ...known, ...step }, known)).toBe(true);
      expect(isNewer(known, { ...known, ...step })).toBe(false);
    }
    expect(isNewer(known, known)).toBe(false);
    expect(isNewer(progressOf({}), undefined)).toBe(true);
  });

  it('has a percentage only once sealed, and 100 only when complete', () => {
    const running = { itemCount: 1_000, succeeded: 999, startedAt: 1 };
    expect(percent(progressOf(running))).toBeNull();
    for (const succeeded of [999, 1_000])
      expect(percent(progressOf({ ...running, succeeded, sealed: true }))).toBe(99);
    expect(
      percent(progressOf({ ...running, sealed: true, itemCount: 0, succeeded: 0, completedAt: 2 })),
    ).toBe(100);
  });

  it('of a tree has a percentage only once all its jobs are sealed, and 100 only when all are complete', () => {
    const counts = {
      generations: 0,
      steps: 0,
      openJobs: 1,
      unsealedJobs: 0,
      jobs: 3,
      itemCount: 2,
      failed: 0,
      cancelled: 0,
    };
    expect(treePercent({ ...counts, succeeded: 1, unsealedJobs: 1 })).toBeNull();
    expect(treePercent({ ...counts, succeeded: 1 })).toBe(50);
    expect(treePercent({ ...counts, succeeded: 2 })).toBe(99);
    expect(treePercent({ ...counts, succeeded: 0, itemCount: 0, openJobs: 0 })).toBe(100);
    const said = (changes: Partial<typeof counts>, outcome: 'PARTIAL' | null = null) =>
      treeMessage({ ...counts, succeeded: 1, ...changes }, outcome);
    expect([3, 2, 1, 0].map((unsealedJobs) => said({ unsealedJobs }))).toEqual([
      'Tree running, stage 1 of 3, 1 of 2 items so far…',
      'Tree running, stage 1 of 3, 1 of 2 items so far…',
      'Tree running, stage 2 of 3, 1 of 2 items so far…',
      'Tree running, 50% complete…',
    ]);
    expect(said({ openJobs: 0 }, 'PARTIAL')).toBe('Tree complete with failures');
  });

  it('has a message in words', () => {
    expect(progressMessage(progressOf({}))).toBe('Waiting for job to start…');
    expect(progressMessage(progressOf({ itemCount: 3, failed: 2, sealed: true }))).toBe(
      'Waiting for job to start, 2 of 3 items are finished already…',
    );
    expect(progressMessage(progressOf({ itemCount: 12_000, succeeded: 1_500, startedAt: 1 }))).toBe(
      'Job running, 1,500 of 12,000 items so far…',
    );
    expect(
      progressMessage(progressOf({ itemCount: 200, succeeded: 1, failed: 1, sealed: true, startedAt: 1 })),
    ).toBe('Job running, 1% complete…');
    for (const [outcome, message] of [
      ['SUCCEEDED', 'Job complete'],
      ['PARTIAL', 'Job complete with failures'],
      ['FAILED', 'Job failed'],
      ['CANCELLED', 'Job cancelled'],
    ] as const) {
      expect(progressMessage(progressOf({ completedAt: 1, outcome }))).toBe(message);
    }
  });
});
