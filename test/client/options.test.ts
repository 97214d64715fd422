/** Every call refuses options that it does not have, before it sends anything. */
import { afterAll, describe, expect, it } from 'vitest';
import { createClient, defineType } from '../../src/client/index.ts';

// Nothing listens there: what is sent fails with another code.
const client = createClient({ url: 'http://127.0.0.1:1/graphql', retryMs: 0 });
afterAll(() => client.close());

const type = 'type';
const schedule = { name: 'daily', cron: '@daily', template: { type } };
/** The arguments before the options, of every method. */
const calls: Record<string, Record<string, readonly unknown[]>> = {
  client: {
    addItems: ['Job:1', [{}]],
    auditEntries: [],
    cancelItems: [{ jobId: 'Job:1' }],
    cancelJob: ['Job:1'],
    cancelOperation: ['Operation:1'],
    cancelTrees: [{ types: [type] }],
    claimItem: ['worker', 'JobItem:1'],
    claimItems: ['worker', [{ type, limit: 1 }]],
    createJob: [{ type }],
    createJobAndWait: [{ type }],
    createJobs: [[{ type }]],
    createWatchToken: ['Job:1'],
    deadLetterCount: [{}],
    deadLetterDigest: [new Date()],
    deadLetterGroup: ['DeadLetterGroup:1'],
    deadLetterGroups: [],
    deleteJob: ['Job:1'],
    deleteTrees: [{ types: [type] }],
    discardDeadLetters: [{}],
    enqueue: [type, 1],
    exportResults: ['Job:1'],
    heartbeat: [['Assignment:1']],
    heldItems: [],
    item: ['JobItem:1'],
    items: ['Job:1'],
    job: ['Job:1'],
    jobByDedupeKey: [type, 'key'],
    jobCount: [],
    jobResults: ['Job:1'],
    jobs: [],
    noteDeadLetters: ['DeadLetterGroup:1', 'note'],
    operation: ['Operation:1'],
    pendingItemCount: [{}],
    promoteItems: [{}],
    releaseAssignments: [['Assignment:1']],
    replayDeadLetters: [{}],
    reportOutcomes: [[{ assignmentId: 'Assignment:1', result: 1 }]],
    results: ['Job:1'],
    revokeWatchTokens: ['Job:1'],
    run: [type, 1],
    sealJob: ['Job:1'],
    searchItems: ['Job:1'],
    serializeKeys: [],
    setRetention: ['Job:1', {}],
    standstills: ['Job:1'],
    trees: [],
    updateItem: ['JobItem:1', { priority: 1 }],
    upload: [new Blob(['text'])],
    watchJob: ['Job:1'],
    watchOperation: ['Operation:1'],
    watchTree: ['Job:1'],
    workAvailable: [[type]],
    workers: [],
  },
  queues: {
    figures: [],
    get: [type],
    list: [],
    pause: [type],
    resume: [type],
    set: [type, { paused: true }],
    standstills: [type],
  },
  types: {
    delete: [type, 1],
    list: [],
    register: [{ type, payload: {} }],
    versions: [type],
  },
  callbacks: {
    deleteEndpoint: ['hook'],
    deliveries: [],
    delivery: ['CallbackDelivery:1'],
    endpoints: [],
    putEndpoint: [{ name: 'hook', url: 'https://example.com' }],
    retryDelivery: ['CallbackDelivery:1'],
    rotateSecret: ['hook'],
  },
  schedules: {
    delete: ['daily'],
    get: ['daily'],
    list: [],
    pause: ['daily'],
    put: [schedule],
    resume: ['daily'],
    run: ['daily'],
    skip: ['daily'],
    sync: [[schedule]],
  },
};
type Methods = Record<string, (...args: readonly unknown[]) => unknown>;
const partOf = (name: string) =>
  (name === 'client' ? client : client[name as 'queues']) as unknown as Methods;
/** Also those that it inherits. */
function methodsOf(part: object): string[] {
  const prototype = Object.getPrototypeOf(part) as object;
  if (prototype === Object.prototype) return [];
  const own = Object.getOwnPropertyNames(prototype).filter(
    (name) => !['constructor', 'close', 'send'].includes(name),
  );
  return [...own, ...methodsOf(prototype)];
}

describe.each(Object.entries(calls))('%s', (name, methods) => {
  it('is covered by this test', () => {
    expect(Object.keys(methods).sort()).toEqual(methodsOf(partOf(name)).sort());
  });

  it.each(Object.entries(methods))('%s refuses an unknown option', async (method, args) => {
    const call = async () => {
      const made = (await partOf(name)[method]?.(...args, { tiemoutMs: 1 })) as Partial<AsyncGenerator>;
      await made?.next?.();
    };
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'tiemoutMs' });
  });
});

it('item() of a defined type refuses an unknown option', () => {
  expect(() => defineType(type).item(1, { prioritty: 1 } as object)).toThrow(/prioritty is not an option/);
});

it('createClient refuses an unknown option', () => {
  expect(() => createClient({ timeout: 5 } as object)).toThrow(/timeout is not an option/);
});
