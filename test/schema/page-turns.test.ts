import { expect, it } from 'vitest';
import { inTurns } from '../../src/schema/core/pages.ts';

const entries = Array.from({ length: 1_000 }, (_, i) => i);

it('the event loop handles what else there is between the turns of a page', async () => {
  const seen: string[] = [];
  const others = (turn: number) =>
    setImmediate(() => {
      seen.push(`others ${turn}`);
      if (turn < 3) others(turn + 1);
    });
  const page = inTurns(entries, { turns: 4 });
  others(1);
  const done = page.map(async (entry, i) => {
    if ((await entry) % 250 === 0) seen.push(`page ${i}`);
  });
  await Promise.all(done);
  expect(seen).toEqual(['page 0', 'others 1', 'page 250', 'others 2', 'page 500', 'others 3', 'page 750']);
  expect(await Promise.all(page)).toEqual(entries);
});

it('a page that costs little, or is short, is completed at once', () => {
  expect(inTurns(entries, {})).toEqual(entries);
  expect(inTurns(entries.slice(0, 100), { turns: 5 })).toEqual(entries.slice(0, 100));
});
