import { describe, expect, expectTypeOf, it } from 'vitest';
import { split } from '../../src/client/add-items.ts';
import { defineType, type JobSpec, JobtreeError } from '../../src/client/index.ts';
import { toJobInput } from '../../src/client/job-spec.ts';

const problem = (job: JobSpec) => {
  try {
    toJobInput(job);
  } catch (error) {
    if (error instanceof JobtreeError) return { code: error.code, field: error.field };
  }
  return undefined;
};

describe('a job is checked before it is sent', () => {
  it('a payload that is not JSON is named by its path', () => {
    const job = { type: 'a', children: [{ type: 'b', items: [{ payload: 1 }, { payload: { x: 1n } }] }] };
    expect(problem(job)).toEqual({ code: 'INVALID_INPUT', field: 'children[0].items[1].payload.x' });
  });

  it('a job that is its own descendant is refused', () => {
    const child: { type: string; children: JobSpec[] } = { type: 'b', children: [] };
    child.children.push({ type: 'c', children: [child] });
    const at = 'children[0].children[0].children[0]';
    expect(problem({ type: 'a', children: [child] })).toEqual({ code: 'INVALID_INPUT', field: at });
  });

  it('the same spec in two places creates two jobs', () => {
    const child = { type: 'b' };
    expect(toJobInput({ type: 'a', children: [child, child] }).children).toHaveLength(2);
  });

  it('a job 32 levels below the root is accepted, and one at 33 is refused', () => {
    const tower = (levels: number): JobSpec => ({
      type: 'a',
      children: levels === 0 ? [] : [tower(levels - 1)],
    });
    expect(problem(tower(32))).toBeUndefined();
    expect(problem(tower(33))?.field).toBe(`${'children[0].'.repeat(32)}children`);
  });

  it('a field that items do not have is refused, such as one of a payload in its place', () => {
    const items = [{ payload: 1 }, { url: 'x' } as object];
    expect(() => toJobInput({ type: 'x', items })).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        field: 'items[1].url',
        message: expect.stringContaining('goes into payload'),
      }),
    );
  });

  it('a plain payload in the place of an item is refused, and never becomes an item without a payload', () => {
    for (const item of [1, 'Ada', null, undefined, true, ['Ada']]) {
      expect(() => toJobInput({ type: 'x', items: [{ payload: 1 }, item as object] })).toThrow(
        expect.objectContaining({
          code: 'INVALID_INPUT',
          field: 'items[1]',
          message: 'items[1] must be an object with a payload: { payload: … }.',
        }),
      );
    }
  });

  it('what is not a list where one belongs is refused by its name', () => {
    const field = (job: object) => problem({ type: 'a', ...job })?.field;
    expect(field({ backoffMs: 1_000 })).toBe('backoffMs');
    expect(field({ items: { payload: 1 } })).toBe('items');
    expect(field({ items: new Set([{ payload: 1 }]) })).toBe('items');
    expect(field({ children: [{ type: 'b', after: 'a' }] })).toBe('children[0].after');
    expect(field({ callbacks: { endpoint: 'a' } })).toBe('callbacks');
    expect(field({ children: { type: 'b' } })).toBe('children');
    expect(() => defineType('a').job({ items: 1 as never })).toThrow('items must be a list.');
    expect(() => split({ payload: 1 } as never)).toThrow('items must be a list.');
  });

  it('an invalid date is refused', () => {
    expect(problem({ type: 'a', items: [{ runAt: new Date('x') }] })?.field).toBe('items[0].runAt');
    expect(problem({ type: 'a', runAt: new Date('x') })?.field).toBe('runAt');
  });
});

it('a defined type gives its jobs its name and policies', () => {
  const send = defineType<{ to: string }>('send', { maxFailuresPerItem: 5, priority: 2 });
  const job = send.job({
    items: [{ to: 'a' }, send.item({ to: 'b' }, { dedupeKey: 'k' })],
    priority: 7,
    sealed: true,
  });
  expect(JSON.parse(JSON.stringify(toJobInput(job)))).toEqual({
    type: 'send',
    maxFailuresPerItem: 5,
    priority: 7,
    sealed: true,
    items: [{ payload: { to: 'a' } }, { payload: { to: 'b' }, dedupeKey: 'k' }],
    children: [],
  });
});

it('a defined type gives its producers and its handler the same payload and result', () => {
  const resize = defineType<{ url: string }, number>('resize');
  const handle = resize.handler((payload) => {
    expectTypeOf(payload).toEqualTypeOf<{ url: string }>();
    return payload.url.length;
  });
  expectTypeOf(resize.item).parameter(0).toEqualTypeOf<{ url: string }>();
  // The compiler refuses what the other side does not expect.
  resize.job({ items: [{ url: 'a' }, resize.item({ url: 'b' })] });
  // @ts-expect-error: a payload of another shape
  resize.job({ items: [{ path: 'a' }] });
  // @ts-expect-error: an item that nobody made, which would be the payload of one
  resize.job({ items: [{ payload: { url: 'a' } }] });
  // @ts-expect-error: an item of another shape
  resize.item({ path: 'a' });
  // @ts-expect-error: a handler that gives another result
  resize.handler((payload) => payload.url);
  expect(handle).toBeTypeOf('function');
});

it('handlers of a type with the result void return nothing', () => {
  defineType<number, void>('a').handler(async () => {});
  // @ts-expect-error the result is a number
  defineType<number, number>('a').handler(async () => {});
});
