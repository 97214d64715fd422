/** What commands choose from: each takes numbers from fast-check, and finds in the model what they mean there. */
import fc from 'fast-check';
import type { NewJob } from '../../../src/domain/jobs/create-job.ts';
import type { Model, ModelJob, ModelReport, ModelTree } from './model.ts';

export const hour = 3_600_000;
export const types = ['a', 'b', 'c', 'd'];

/** One of a list, by any number. */
export function pick<T>(list: readonly T[], n: number): T | undefined {
  return list[n % Math.max(1, list.length)];
}

export const n = fc.nat(999_999);
export const server = fc.nat(1);
export const type = fc.nat(3);
export const limit = fc.integer({ min: 1, max: 150 });
export const part = fc.constantFrom('WHOLE', 'HALF', 'ONE', 'SEVERAL') as fc.Arbitrary<Part>;
export type Part = 'WHOLE' | 'HALF' | 'ONE' | 'SEVERAL';

export const itemSpec = fc.record({
  key: fc.option(fc.nat(40), { freq: 3 }),
  priority: fc.option(fc.integer({ min: -2, max: 2 }), { freq: 2 }),
  due: fc.option(fc.constantFrom('PAST', 'LATER'), { freq: 2 }),
  line: fc.option(fc.nat(4), { freq: 2 }),
});
export type ItemSpec = {
  key: number | null;
  priority: number | null;
  due: string | null;
  line: number | null;
};
/** Of each second item one of a few serialize keys, in no regular order. */
export const lines: ItemSpec[] = [3, null, 0, 1, null, 1, null, 0, 4, null].map((line) => ({
  key: null,
  priority: null,
  due: null,
  line,
}));
export const batch = fc.oneof(
  fc.record({ size: fc.integer({ min: 1, max: 200 }), specs: fc.constant([] as ItemSpec[]) }),
  fc.record({
    size: fc.integer({ min: 1, max: 60 }),
    specs: fc.array(itemSpec, { minLength: 1, maxLength: 12 }),
  }),
);
export type Batch = { size: number; specs: ItemSpec[] };

let lastPayload = 0;
export function toItems({ size, specs }: Batch) {
  return Array.from({ length: size }, (_, i) => {
    const spec = specs[i % Math.max(1, specs.length)];
    const payload = { n: ++lastPayload, ...(i % 50 === 49 && { text: 'x'.repeat(20_000) }) };
    return {
      payload,
      ...(spec?.key != null && { dedupeKey: `k${spec.key + (i % 7)}` }),
      ...(spec?.line != null && { serializeKey: `s${spec.line}` }),
      ...(spec?.priority != null && { priority: spec.priority }),
      ...(spec?.due != null && { runAt: new Date(Date.now() + (spec.due === 'PAST' ? -hour : hour)) }),
    };
  });
}

export const treeSpec = fc.record({
  shape: fc.constantFrom(
    'SINGLE',
    'CHAIN',
    'FOR_EACH',
    'TEMPLATE',
    'REPORTS',
    'INDEPENDENT',
    'AFTER',
    'AFTER',
  ),
  type,
  settings: fc.record({
    maxFailuresPerItem: fc.nat(3),
    backoffMs: fc.constantFrom([], [0], [0, hour]),
    priority: fc.integer({ min: -1, max: 1 }),
    later: fc.boolean(),
    sealed: fc.boolean(),
    keyed: fc.boolean(),
    blocks: fc.boolean(),
    count: fc.constantFrom(null, null, null, 0, 2, 10),
    share: fc.constantFrom(null, null, null, 0, 20, 60),
  }),
  key: fc.option(fc.nat(2)),
  items: fc.nat(40),
});

export function toTree({
  shape,
  type,
  settings,
  key,
  items,
}: typeof treeSpec extends fc.Arbitrary<infer T> ? T : never): NewJob {
  const { maxFailuresPerItem, backoffMs, priority, later, sealed, count, share, keyed, blocks } = settings;
  const specs = keyed ? lines : [];
  const fedKey = keyed && { serializeKey: 'result.key' };
  const typeAt = (offset: number) => types[(type + offset) % types.length] as string;
  const job = (offset: number, rest: Partial<NewJob> = {}): NewJob => ({
    type: typeAt(offset),
    toleratedFailureCount: count,
    toleratedFailurePercentage: share,
    maxFailuresPerItem,
    backoffMs,
    backoffJitter: 0,
    priority,
    heartbeatIntervalMs: hour,
    serializeOnFailure: blocks ? 'BLOCK' : 'CONTINUE',
    ...rest,
  });
  const children: Record<typeof shape, NewJob[]> = {
    SINGLE: [],
    CHAIN: [job(1, { feed: {}, children: [job(2, { feed: { payload: 'payload.v' } })] })],
    FOR_EACH: [
      job(1, { feed: { forEach: 'result.list' } }),
      job(2, { feed: { forEach: 'result.list', payload: { e: 'element', n: 'payload.n' }, ...fedKey } }),
    ],
    TEMPLATE: [
      job(1, {
        feed: {
          payload: { n: 'payload.n', v: 'result.v', first: 'result.list.0', none: 'result.none.0?' },
          ...fedKey,
        },
      }),
    ],
    REPORTS: [job(1, { feed: { source: 'REPORTS' } }), job(2, { feed: {} })],
    INDEPENDENT: [
      job(1, { sealed: settings.sealed, items: toItems({ size: 3, specs }) }),
      job(1, { feed: {} }),
    ],
    AFTER: [
      // Sometimes none, so that what waits for it goes on soon.
      job(1, { sealed: true, items: toItems({ size: items % 3, specs }) }),
      job(2, { feed: { ...fedKey }, after: [typeAt(1)] }),
      job(3, { sealed, after: [typeAt(1)], items: toItems({ size: 150, specs }) }),
    ],
  };
  return job(0, {
    sealed: sealed && items > 0,
    ...(key !== null && { dedupeKey: `t${key}` }),
    ...(later && items % 4 === 0 && { runAt: new Date(Date.now() + hour) }),
    items: toItems({ size: items, specs }),
    children: children[shape],
  });
}

/** Jobs that are not fed can be named by callers; the others only grow by reports. */
export const jobOf = (model: Model, from: number): ModelJob | undefined =>
  pick([...model.jobs.values()], from);
export const treeOf = (model: Model, from: number): ModelTree | undefined =>
  pick([...model.trees.values()], from);

/** Some of the open assignments, lease by lease. */
export function some(model: Model, from: number, which: Part): string[] {
  const leases = model.leases();
  const lease = pick(leases, from) ?? [];
  switch (which) {
    case 'WHOLE':
      return lease.map(({ id }) => id);
    case 'HALF':
      return lease.filter((_, i) => i % 2 === from % 2).map(({ id }) => id);
    case 'ONE':
      return lease
        .slice(from % Math.max(1, lease.length))
        .slice(0, 1)
        .map(({ id }) => id);
    case 'SEVERAL':
      return leases
        .filter((_, i) => (i + from) % 3 === 0)
        .flatMap((each, i) => each.filter((_, k) => (i + k + from) % 4 > 0))
        .slice(0, 400)
        .map(({ id }) => id);
  }
}

/** Those, some that ended, and some that never were. */
export function withOthers(model: Model, ids: readonly string[], others: number): string[] {
  if (others % 3 > 0) return [...ids];
  const ended = model.ended.filter((_, i) => (i + others) % 5 === 0);
  const lease = model.leases()[0]?.[0]?.leaseId;
  return [...ids, ...ended, crypto.randomUUID(), ...(lease === undefined ? [] : [`${lease.slice(0, 34)}ff`])];
}

/** A text, a number, none; and what is no key. */
const resultKey = (i: number) => (i % 29 === 28 ? ['f0'] : ['f0', 's1', 7, null, 'f0'][i % 5]);

export function toResult(id: string, i: number): { v: string; list: unknown; key: unknown } {
  const list = i % 20 === 19 ? 'no list' : Array.from({ length: i % 3 }, (_, k) => `${id}/${k}`);
  return { v: id, list, key: resultKey(i) };
}

export const success = (model: Model, id: string, i: number): ModelReport => {
  const child = model.assignments.get(id)?.item.job.children.find(({ feed }) => feed?.source === 'REPORTS');
  const result = toResult(id, i);
  if (child === undefined || i % 2 === 0) return { assignmentId: id, result };
  return {
    assignmentId: id,
    result,
    newItems: [
      {
        type: i % 12 === 11 ? 'unknown' : child.type,
        payload: { n: i },
        ...(i % 3 > 0 && { serializeKey: `s${i % 4}` }),
      },
    ],
  };
};
export const failure = (id: string, permanent: boolean, code = 'E'): ModelReport => ({
  assignmentId: id,
  failure: { code, message: 'no', permanent },
});
