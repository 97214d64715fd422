/** The turns in which watched pages are read. */
import pino from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { FairSemaphore } from '../../src/concurrency/fair-semaphore.ts';
import { LivePage, type Page, type PageRow } from '../../src/events/live-page.ts';

const logger = pino({ level: 'silent' });
const pages: LivePage<PageRow>[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(pages.splice(0).map((page) => page.return()));
});

/** Pages that are read one at a time; a read goes on until `finish` is called. */
function onePageAtATime() {
  const turns = new FairSemaphore(1, { isSerial: true, inOrder: true });
  const asked = vi.spyOn(turns, 'run');
  const reads: string[] = [];
  let finish = () => {};
  const open = (name: string, account: string) => {
    const read = async (): Promise<Page<PageRow>> => {
      reads.push(name);
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return { rows: [], final: false };
    };
    const page = new LivePage({ read, intervalMs: 0, turns, owner: { account }, logger, onClose: () => {} });
    pages.push(page);
    return page;
  };
  return {
    reads,
    open,
    /** Resolves once pages have asked so often for a turn. */
    haveAsked: (times: number) => expect.poll(() => asked.mock.calls.length).toBe(times),
    /** Finishes the read, and waits for the next one. */
    next: async () => {
      const before = reads.length;
      finish();
      await expect.poll(() => reads.length).toBeGreaterThan(before);
    },
    finish: () => finish(),
  };
}

it('a page that comes while others wait to be read again is read before those of its caller, and in turn with those of others', async () => {
  const { reads, open, haveAsked, next, finish } = onePageAtATime();
  const old = ['a', 'b', 'c'].map((name) => open(name, 'one'));
  await next();
  await next();
  open('busy', 'another');
  await next();
  // They wait to be read again before anybody new comes.
  for (const page of old) void page.refresh();
  await haveAsked(7);
  open('new', 'one');
  open('newer', 'one');
  open('also new', 'another');
  reads.length = 0;
  for (let i = 0; i < 6; i++) await next();
  expect(reads.slice(0, 3)).toEqual(['new', 'also new', 'newer']);
  expect(reads.slice(3).sort()).toEqual(['a', 'b', 'c']);
  finish();
});

it('pages that wait for long are read in the order in which they came: each comes again, so the oldest would never be read', async () => {
  const { reads, open, next, finish } = onePageAtATime();
  for (const name of ['busy', 'a', 'b', 'c']) open(name, 'one');
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
  for (let i = 0; i < 3; i++) await next();
  expect(reads).toEqual(['busy', 'a', 'b', 'c']);
  finish();
});
