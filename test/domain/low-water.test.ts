import { describe, expect, it } from 'vitest';
import { addItems } from '../../src/domain/add-items.ts';
import { claimItems } from '../../src/domain/claim-items.ts';
import { LowWater } from '../../src/domain/low-water.ts';
import { releaseAssignments } from '../../src/domain/release-assignments.ts';
import { newType, useEngine } from '../support/engine.ts';

const claim = (
  taken: { type: string; priority: number; position: number }[],
  lanes: { type: string; priority: number; from: number }[] = [],
) => ({
  types: ['t'],
  lanes,
  taken,
  startedAt: 0,
  endedAt: 1,
});

describe('LowWater', () => {
  it('knows no lanes at first: the type is read from its start', () => {
    expect(new LowWater().lanes(['t'], 0)).toEqual([]);
  });

  it('goes on behind what was taken, for each priority', () => {
    const marks = new LowWater();
    marks.learn(
      claim([
        { type: 't', priority: 1, position: 7 },
        { type: 't', priority: 0, position: 3 },
        { type: 't', priority: 0, position: 5 },
      ]),
    );
    expect(marks.lanes(['t'], 2)).toEqual([
      { type: 't', priority: 1, from: 8 },
      { type: 't', priority: 0, from: 6 },
    ]);
  });

  it('reads from the start once a second, one claim at a time, and goes back to what it finds there', () => {
    const marks = new LowWater();
    marks.learn(claim([{ type: 't', priority: 0, position: 9 }]));
    expect(marks.lanes(['t'], 500)).toHaveLength(1);
    expect(marks.lanes(['t'], 1_500)).toEqual([]);
    expect(marks.lanes(['t'], 1_501)).toHaveLength(1);
    marks.learn(claim([{ type: 't', priority: 0, position: 4 }]));
    expect(marks.lanes(['t'], 2)).toEqual([{ type: 't', priority: 0, from: 5 }]);
  });

  it('never goes back for a claim that looked only at its lanes', () => {
    const marks = new LowWater();
    marks.learn(claim([{ type: 't', priority: 0, position: 9 }]));
    marks.learn(claim([{ type: 't', priority: 0, position: 4 }], [{ type: 't', priority: 0, from: 0 }]));
    expect(marks.lanes(['t'], 2)).toEqual([{ type: 't', priority: 0, from: 10 }]);
  });

  it('spends a twentieth of the time at most on reading from the start', () => {
    const marks = new LowWater();
    marks.learn({ ...claim([{ type: 't', priority: 0, position: 1 }]), endedAt: 200 });
    marks.learn({ ...claim([]), endedAt: 200 });
    expect(marks.lanes(['t'], 4_000)).toHaveLength(1);
    expect(marks.lanes(['t'], 4_201)).toEqual([]);
  });

  it('forgets the type that was claimed from the longest ago, where there are very many', () => {
    const marks = new LowWater();
    const take = (type: string) =>
      marks.learn({ ...claim([{ type, priority: 0, position: 1 }]), types: [type] });
    take('first');
    take('second');
    for (let i = 0; i < 998; i++) take(`type ${i}`);
    take('first');
    expect(marks.lanes(['first', 'second'], 2)).toHaveLength(2);
    take('one more');
    expect(marks.lanes(['first'], 2)).toHaveLength(1);
    expect(marks.lanes(['second'], 2)).toEqual([]);
  });

  it('gives up on a type of very many priorities', () => {
    const marks = new LowWater();
    marks.learn(claim(Array.from({ length: 17 }, (_, i) => ({ type: 't', priority: i, position: 1 }))));
    expect(marks.lanes(['t'], 2)).toEqual([]);
  });
});

describe('claims behind a low-water mark', () => {
  const t = useEngine();
  const payloads = async (type: string, limit = 10) =>
    (await claimItems(t.engine, 'w', [{ type, limit }])).map(({ payload }) => payload);

  it('see a new priority at once on the server that added it', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{ payload: 'a' }, { payload: 'b' }] });
    expect(await payloads(type, 1)).toEqual(['a']);
    await addItems(t.engine, job, [{ payload: 'urgent', priority: 9 }], { seal: false });
    expect(await payloads(type)).toEqual(['urgent', 'b']);
  });

  it('see an item that was given back at once on the server that took it back', async () => {
    const type = newType();
    await t.create({ type, items: [{ payload: 'a' }, { payload: 'b' }] });
    const a = await t.claimOne(type);
    await t.claimOne(type);
    await releaseAssignments(t.engine, [a.id]);
    expect(await payloads(type)).toEqual(['a']);
  });
});
