/** Where claims start to look: what the cursors remember, and that claims behind them miss nothing. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { findMissedEntries } from '../../../src/domain/claims/missed-entries.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { LowWater } from '../../../src/domain/engine/low-water.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { newType, useEngine } from '../../support/engine.ts';

const [highest, lowest] = [32_767, -32_768];
const type = 't';

describe('LowWater', () => {
  it('reads an unknown type from its start', () => {
    expect(new LowWater().ranges([type])).toEqual([{ type, high: highest, low: lowest, place: 0 }]);
  });

  it('continues behind what was taken, per priority, and reads other priorities from their start', () => {
    const marks = new LowWater();
    marks.learn({ type, priority: 1, place: 8 }, 0);
    marks.learn({ type, priority: -3, place: 6 }, 0);
    expect(marks.ranges([type])).toEqual([
      { type, high: highest, low: 2, place: 0 },
      // From place 8 of priority 1 on, then all of the priorities below it.
      { type, high: 1, low: -2, place: 8 },
      { type, high: -3, low: lowest, place: 6 },
    ]);
  });

  it('has no range above the highest priority or below the lowest', () => {
    const marks = new LowWater();
    marks.learn({ type, priority: highest, place: 8 }, 0);
    marks.learn({ type, priority: lowest, place: 9 }, 0);
    expect(marks.ranges([type])).toEqual([
      { type, high: highest, low: lowest + 1, place: 8 },
      { type, high: lowest, low: lowest, place: 9 },
    ]);
  });

  it('returns each type once, in the given order', () => {
    expect(new LowWater().ranges(['b', 'a', 'b']).map((range) => range.type)).toEqual(['b', 'a']);
  });

  const place = (marks: LowWater, priority = 0) =>
    marks.ranges([type]).find(({ high }) => high === priority)?.place ?? 0;

  it('only moves forward, unless told of an earlier item', () => {
    const marks = new LowWater();
    marks.learn({ type, priority: 0, place: 9 }, 0);
    marks.learn({ type, priority: 0, place: 4 }, 0);
    expect(place(marks)).toBe(9);
    marks.goBack({ type, priority: 0, place: 12 });
    expect(place(marks)).toBe(9);
    marks.goBack({ type, priority: 0, place: 4 });
    expect(place(marks)).toBe(4);
  });

  it('stays where it went back to for a claim that began earlier, and moves on for a later one', () => {
    const marks = new LowWater();
    marks.learn({ type, priority: 0, place: 9 }, marks.now());
    const before = marks.now();
    marks.goBack({ type, priority: 0, place: 4 });
    marks.learn({ type, priority: 0, place: 20 }, before);
    expect(place(marks)).toBe(4);
    marks.learn({ type, priority: 0, place: 20 }, marks.now());
    expect(place(marks)).toBe(20);
  });

  it('stays at the rest of an entry for a claim that skipped it while locked, and for no later claim', () => {
    const marks = new LowWater();
    const before = marks.now();
    marks.learn({ type, priority: 0, place: 7 }, before);
    marks.left({ type, priority: 0, place: 7 });
    marks.learn({ type, priority: 0, place: 135 }, before);
    expect(place(marks)).toBe(7);
    marks.learn({ type, priority: 0, place: 14 }, marks.now());
    expect(place(marks)).toBe(14);
  });

  it('goes back to the rest of an entry if the claim that skipped it ends first', () => {
    const marks = new LowWater();
    const before = marks.now();
    marks.learn({ type, priority: 0, place: 135 }, before);
    marks.learn({ type, priority: 0, place: 7 }, before);
    marks.left({ type, priority: 0, place: 7 });
    expect(place(marks)).toBe(7);
  });

  it('stays at the first of several rests for a claim that skipped all of them', () => {
    const marks = new LowWater();
    const before = marks.now();
    for (const rest of [7, 135]) {
      marks.learn({ type, priority: 0, place: rest }, before);
      marks.left({ type, priority: 0, place: rest });
    }
    marks.learn({ type, priority: 0, place: 300 }, before);
    expect(place(marks)).toBe(7);
  });

  it('lets other priorities and types move on when one goes back', () => {
    const marks = new LowWater();
    const before = marks.now();
    for (const priority of [0, 1]) marks.learn({ type, priority, place: 9 }, before);
    marks.goBack({ type, priority: 0, place: 4 });
    marks.learn({ type, priority: 1, place: 20 }, before);
    expect([place(marks, 0), place(marks, 1)]).toEqual([4, 20]);
  });

  it('creates no cursor for priorities that it reads from the start', () => {
    const marks = new LowWater();
    marks.goBack({ type, priority: 0, place: 4 });
    expect(marks.ranges([type])).toHaveLength(1);
  });

  it('remembers 64 priorities of a type, and reads the lowest from its start beyond that', () => {
    const marks = new LowWater();
    for (let priority = 64; priority > 0; priority--) marks.learn({ type, priority, place: 7 }, 0);
    expect(place(marks, 1)).toBe(7);
    marks.learn({ type, priority: 65, place: 7 }, 0);
    expect(marks.ranges([type]).filter((range) => range.place > 0)).toHaveLength(64);
    expect(marks.ranges([type]).at(-1)).toEqual({ type, high: 2, low: lowest, place: 7 });
  });

  it('forgets the type claimed longest ago beyond 1,000 types', () => {
    const marks = new LowWater();
    let last = 0;
    const take = (name: string) => marks.learn({ type: name, priority: 0, place: ++last }, 0);
    take('first');
    take('second');
    for (let i = 0; i < 998; i++) take(`type ${i}`);
    take('first');
    const known = (name: string) => marks.ranges([name]).some((range) => range.place > 0);
    expect([known('first'), known('second')]).toEqual([true, true]);
    take('one more');
    expect([known('first'), known('second'), known('one more')]).toEqual([true, false, true]);
  });

  it('returns the cursors of the requested types, once', () => {
    const marks = new LowWater();
    marks.learn({ type, priority: 0, place: 7 }, 0);
    marks.learn({ type: 'other', priority: 0, place: 7 }, 0);
    expect(marks.claimed()).toEqual([]);
    marks.ranges([type, 'unknown']);
    expect(marks.claimed()).toEqual([{ type, priority: 0, place: 7 }]);
    expect(marks.claimed()).toEqual([]);
  });

  it('returns the types that were locked, once', () => {
    const marks = new LowWater();
    marks.locked(type);
    expect([...marks.takeLocked()]).toEqual([type]);
    expect([...marks.takeLocked()]).toEqual([]);
  });

  it('covers every priority exactly once, in order, starting each known one at its cursor', () => {
    const priority = fc.oneof(
      fc.integer({ min: -3, max: 3 }),
      fc.constantFrom(highest, highest - 1, lowest, lowest + 1),
      fc.integer({ min: lowest, max: highest }),
    );
    const step = fc.record({
      back: fc.boolean(),
      priority,
      place: fc.integer({ min: 1, max: 9 }),
      late: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const marks = new LowWater();
        const places = new Map<number, number>();
        for (const { back, priority, place, late } of steps) {
          const known = places.get(priority);
          if (back) {
            marks.goBack({ type, priority, place });
            if (known !== undefined && known > place) places.set(priority, place);
          } else {
            // What began before everything moves no cursor that there is.
            marks.learn({ type, priority, place }, late ? -1 : marks.now());
            if (known === undefined || (!late && known < place)) places.set(priority, place);
            if (places.size > 64) places.delete(Math.min(...places.keys()));
          }
        }
        const ranges = marks.ranges([type]);
        let next = highest;
        for (const { high, low, place } of ranges) {
          expect(high).toBe(next);
          expect(low).toBeLessThanOrEqual(high);
          expect(place).toBe(places.get(high) ?? 0);
          // Within a range only its first priority may have a cursor.
          for (const priority of places.keys()) expect(priority < high && priority >= low).toBe(false);
          next = low - 1;
        }
        expect(next).toBe(lowest - 1);
      }),
      { numRuns: 300 },
    );
  });
});

describe('claims with a cursor', () => {
  const t = useEngine();
  const payloads = async (name: string, limit = 10, engine = t.engine) =>
    (await claimItems(engine, 'w', [{ type: name, limit }])).map(({ payload }) => payload.value);
  const letters = [{ payload: 'a' }, { payload: 'b' }, { payload: 'c' }];

  it('see a new priority at once on the server that added it', async () => {
    const name = newType();
    const { [name]: job = '' } = await t.create({ type: name, items: letters });
    expect(await payloads(name, 1)).toEqual(['a']);
    await addItems(
      t.engine,
      job,
      [
        { payload: 'urgent', priority: 9 },
        { payload: 'never', priority: -9 },
      ],
      { seal: false },
    );
    expect(await payloads(name)).toEqual(['urgent', 'b', 'c', 'never']);
  });

  it('see a returned item at once on the server that took it back', async () => {
    const name = newType();
    await t.create({ type: name, items: letters });
    const held = await claimItems(t.engine, 'w', [{ type: name, limit: 2 }]);
    await releaseAssignments(t.engine, [held[0]?.id ?? '']);
    expect(await payloads(name)).toEqual(['a', 'c']);
  });

  it('see an item returned on another server once earlier entries are searched', async () => {
    const name = newType();
    await t.create({ type: name, items: letters });
    const held = await claimItems(t.engine, 'w', [{ type: name, limit: 3 }]);
    await releaseAssignments(t.otherEngine, [held[1]?.id ?? '']);
    expect(await payloads(name)).toEqual([]);
    t.ready.length = 0;
    await findMissedEntries(t.engine);
    expect(t.ready).toEqual([name]);
    expect(await payloads(name)).toEqual(['b']);
  });

  it('see what a long transaction committed before the cursor', async () => {
    const name = newType();
    const { [name]: job = '' } = await t.create({ type: name });
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select jobtree.add_items($1, $2)', [job, '[{"payload": "late"}]']);
    await addItems(t.engine, job, letters, { seal: false });
    expect(await payloads(name)).toEqual(['a', 'b', 'c']);
    await other.query('commit');
    await other.end();
    expect(await payloads(name)).toEqual([]);
    await findMissedEntries(t.engine);
    expect(await payloads(name)).toEqual(['late']);
  });

  it('see the rest of an entry at once, on this server and on another', async () => {
    const name = newType();
    await t.create({ type: name, items: letters });
    expect(await payloads(name, 1)).toEqual(['a']);
    expect(await payloads(name, 1, t.otherEngine)).toEqual(['b']);
    expect(await payloads(name, 1)).toEqual(['c']);
  });
});
