import { expect, test, vi } from 'vitest';
import type { JobProgress } from '../../src/domain/progress.ts';
import { Slot } from '../../src/events/slot.ts';

const job = (jobId: string, succeeded: number, given: Partial<JobProgress> = {}): JobProgress => ({
  jobId,
  revision: succeeded,
  itemCount: 10,
  succeeded,
  failed: 0,
  cancelled: 0,
  sealed: true,
  startedAt: 1,
  completedAt: null,
  ...given,
});
const done = (jobId: string) => job(jobId, 10, { completedAt: 2 });
const tree = (openJobs: number, ...jobs: JobProgress[]) => ({ root: 'root', openJobs, jobs });

function makeSlot(jobId?: string) {
  const onClose = vi.fn();
  return { slot: new Slot({ rootId: 'root', jobId, onClose }), onClose };
}

test('what was not taken is merged: the newest state of each job', async () => {
  const { slot } = makeSlot();
  slot.start(tree(2, job('a', 0), job('b', 0)));
  slot.offer(tree(2, job('a', 1)));
  slot.offer(tree(2, job('b', 3)));
  slot.offer(tree(2, job('a', 2)));
  expect(await slot.next()).toEqual({ done: false, value: tree(2, job('a', 2), job('b', 3)) });
});

test('what is not newer than what was taken is dropped, and what is newer wakes who waits', async () => {
  const { slot } = makeSlot();
  slot.start(tree(1, job('a', 5)));
  await slot.next();
  const next = slot.next();
  slot.offer(tree(1, job('a', 5)));
  slot.offer(tree(1, job('a', 4)));
  slot.offer(tree(1, job('a', 6)));
  expect(await next).toEqual({ done: false, value: tree(1, job('a', 6)) });
});

test('one job of a tree: others are left out, and its end is the end', async () => {
  const { slot, onClose } = makeSlot('b');
  slot.start(tree(2, job('a', 1), job('b', 1)));
  expect((await slot.next()).value).toEqual(tree(2, job('b', 1)));
  slot.offer(tree(1, job('a', 2), done('b')));
  expect((await slot.next()).value).toEqual(tree(1, done('b')));
  expect(await slot.next()).toEqual({ done: true, value: undefined });
  expect(onClose).toHaveBeenCalledExactlyOnceWith(slot);
});

test('a tree ends when the news of all of its jobs is there, in however many messages it comes', async () => {
  const { slot } = makeSlot();
  slot.start(tree(2, job('a', 1), job('b', 1)));
  await slot.next();
  slot.offer(tree(0, done('a')));
  expect((await slot.next()).value).toEqual(tree(0, done('a')));
  const next = slot.next();
  slot.offer(tree(0, done('b')));
  expect((await next).value).toEqual(tree(0, done('b')));
  expect((await slot.next()).done).toBe(true);
});

test('a message that overtook the state at the start does not end it', async () => {
  const { slot } = makeSlot();
  slot.offer(tree(0, done('b')));
  slot.start(tree(0, done('a'), done('b')));
  expect((await slot.next()).value.jobs).toEqual([done('b'), done('a')]);
  expect((await slot.next()).done).toBe(true);
});

test('end: who waits gets the end, but first what waits for it', async () => {
  const { slot } = makeSlot();
  slot.start(tree(1, job('a', 1)));
  slot.end();
  expect((await slot.next()).value).toEqual(tree(1, job('a', 1)));
  expect((await slot.next()).done).toBe(true);

  const other = makeSlot().slot;
  const next = other.next();
  other.end();
  expect((await next).done).toBe(true);
});

test('a reader that goes away ends its own wait, is told of once, and gets no more', async () => {
  const { slot, onClose } = makeSlot();
  slot.start(tree(1, job('a', 1)));
  await slot.next();
  const next = slot.next();
  await slot.return();
  await slot.return();
  expect((await next).done).toBe(true);
  slot.offer(tree(1, job('a', 2)));
  expect((await slot.next()).done).toBe(true);
  expect(onClose).toHaveBeenCalledOnce();
});
