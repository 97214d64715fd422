import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createClient,
  defineType,
  type ItemSpec,
  type JobSpec,
  JobtreeError,
} from '../../src/client/index.ts';
import { startProxy } from '../support/proxy.ts';
import { freePort } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { app: server, client } = useServer();

const unknown = 'Job:01890000-0000-7000-8000-000000000000';
const refusal = (code: string, field?: string) => expect.objectContaining(field ? { code, field } : { code });

describe('a value that JSON would turn into null', () => {
  const bad = { at: [Number.NaN] };
  const report = { assignmentId: 'x', result: 1 };
  it.each<[string, () => Promise<unknown>]>([
    ['items[0].payload.at[0]', () => client.createJob({ type: 'bad', items: [{ payload: bad }] })],
    ['items[0].payload.at[0]', () => client.addItems(unknown, [{ payload: bad }])],
    ['items[0].payload.at[0]', () => client.enqueue('bad', bad)],
    ['payload.at[0]', () => client.updateItem('JobItem:x', { payload: bad })],
    ['payload.at[0]', () => client.replayDeadLetters({ itemIds: ['x'] }, { payload: bad })],
    ['payloadPatch.at[0]', () => client.replayDeadLetters({ types: ['bad'] }, { payloadPatch: bad })],
    [
      'reports[1].outcome.success.result.at[0]',
      () => client.reportOutcomes([report, { ...report, result: bad }]),
    ],
    [
      'reports[0].outcome.success.newItems[0].payload.at[0]',
      () => client.reportOutcomes([{ ...report, newItems: [{ type: 'bad', payload: bad }] }]),
    ],
    [
      'template.items[0].payload.at[0]',
      () =>
        client.schedules.put({
          name: 'bad',
          everyMs: 60_000,
          template: { type: 'bad', items: [{ payload: bad }] },
        }),
    ],
  ])('is refused: %s', async (field, call) => {
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_INPUT', field });
  });
});

describe('producing', () => {
  it('a dedupe key returns the existing tree', async () => {
    const job = { type: 'once', dedupeKey: 'k', items: [{}] };
    const first = await client.createJob(job);
    expect(first.created).toBe(true);
    expect(await client.createJob(job)).toEqual({ id: first.id, created: false });
  });

  it('of many items only those that were not added are listed, on request', async () => {
    const { id } = await client.createJob({ type: 'terse' });
    const items: ItemSpec[] = Array.from({ length: 1_100 }, (_, i) => ({ payload: i, dedupeKey: `k${i}` }));
    items[1_001] = { dedupeKey: 'k7' };
    items[1_002] = { payload: 'bad', priority: 99_999 };
    const result = await client.addItems(id, items, { entries: 'notAdded' });
    expect(result).toMatchObject({ added: 1_098, duplicates: 1, invalid: 1 });
    expect(result.entries).toEqual([
      { index: 1_001, status: 'DUPLICATE', itemId: expect.stringMatching(/^JobItem:/), error: null },
      {
        index: 1_002,
        status: 'INVALID',
        itemId: null,
        error: expect.stringMatching(/^items\[1002\]\.priority/),
      },
    ]);
  });

  it('any number of items is added in order, answered one by one, and sealed at the end', async () => {
    const { id } = await client.createJob({ type: 'many' });
    const items: ItemSpec[] = Array.from({ length: 2_500 }, (_, i) => ({ payload: i, dedupeKey: `k${i}` }));
    items[1_500] = { payload: 'again', dedupeKey: 'k7' };
    items[2_200] = { payload: 'bad', priority: 99_999 };
    const result = await client.addItems(id, items, { seal: true });
    expect(result).toMatchObject({ added: 2_498, duplicates: 1, invalid: 1 });
    expect(result.entries).toHaveLength(2_500);
    expect(result.entries[1_500]).toEqual({
      index: 1_500,
      status: 'DUPLICATE',
      itemId: result.entries[7]?.itemId,
      error: null,
    });
    expect(result.entries[2_200]).toMatchObject({
      status: 'INVALID',
      error: expect.stringMatching(/^items\[2200\]\.priority/),
    });
    expect(await client.sealJob(id)).toMatchObject({ itemCount: 2_498, sealed: true });
    const { nodes, hasNextPage } = await client.items(id, { first: 8 });
    expect([nodes.map(({ payload }) => payload), hasNextPage]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], true]);
  });

  it('items are read from a generator while requests are under way, of which there are no more than asked for', async () => {
    let [underWay, most] = [0, 0];
    const counting: typeof fetch = async (...args) => {
      most = Math.max(most, ++underWay);
      try {
        return await fetch(...args);
      } finally {
        underWay--;
      }
    };
    const other = createClient({ url: server.url, fetch: counting });
    const type = defineType<number>('read');
    const { id } = await other.createJob(type.job());
    async function* rows() {
      for (let i = 0; i < 4_500; i++) yield i;
    }
    const result = await other.addItems(type, id, rows(), { concurrency: 3, seal: true });
    expect(result).toMatchObject({ added: 4_500, duplicates: 0, invalid: 0 });
    expect(result.entries.map(({ index }) => index)).toEqual(Array.from({ length: 4_500 }, (_, i) => i));
    expect(most).toBe(3);
    expect((await other.job(id)).progress).toMatchObject({ sealed: true, itemCount: 4_500 });
    await other.close();
  });

  it('what ends the reading of items ends the call, after the requests that are under way', async () => {
    const { id } = await client.createJob({ type: 'broken-off' });
    function* rows() {
      for (let i = 0; i < 2_500; i++) yield { payload: i };
      throw new Error('The file is broken.');
    }
    await expect(client.addItems(id, rows(), { seal: true })).rejects.toThrow('The file is broken.');
    expect(await client.sealJob(id)).toMatchObject({ itemCount: 1_000 });
    await expect(client.addItems(id, 'abc' as never)).rejects.toEqual(refusal('INVALID_INPUT', 'items'));
    await expect(client.addItems(id, [], { concurrency: 0 })).rejects.toEqual(
      refusal('INVALID_INPUT', 'concurrency'),
    );
  });

  it('a job is created with any number of items, and sealed at the end', async () => {
    const items = Array.from({ length: 2_500 }, (_, payload) => ({ payload }));
    const { id, created } = await client.createJob({ type: 'split', sealed: true, items });
    expect(created).toBe(true);
    expect((await client.job(id)).progress).toMatchObject({ sealed: true, itemCount: 2_500 });
    const { nodes } = await client.items(id, { first: 1_000 });
    expect(nodes.map(({ payload }) => payload)).toEqual(items.slice(0, 1_000).map(({ payload }) => payload));
  });

  it('a job below the root with more items than it can be created with is refused, with what to do', async () => {
    const items = Array.from({ length: 1_001 }, () => ({}));
    const child = { type: 'large-child', items };
    await expect(client.createJob({ type: 'root', children: [child] })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'children[0].items',
      message: expect.stringContaining('add the others with addItems, and seal it then'),
    });
    const fed = { ...child, feed: {} };
    await expect(client.createJob({ type: 'root', children: [fed] })).rejects.toMatchObject({
      field: 'children[0].items',
      message: expect.stringContaining('can only come from its parent'),
    });
  });

  it('a job whose creation broke off in the middle is completed by the same call', async () => {
    const job = {
      type: 'split-again',
      dedupeKey: 'a',
      sealed: true,
      items: Array.from({ length: 3_500 }, (_, payload) => ({ payload })),
    };
    let requests = 0;
    const dying: typeof fetch = (...args) =>
      ++requests === 3 ? Promise.reject(new Error('The process died.')) : fetch(...args);
    const other = createClient({ url: server.url, fetch: dying, retryMs: 0 });
    const id = (await client.jobByDedupeKey(job.type, 'a'))?.id;
    expect(id).toBeUndefined();
    await expect(other.createJob(job)).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'UNKNOWN' });
    await other.close();
    const before = await client.jobByDedupeKey(job.type, 'a');
    expect(before?.sealedAt).toBeNull();
    expect(await client.createJob(job)).toEqual({ id: before?.id, created: false });
    expect((await client.job(before?.id ?? '')).progress).toMatchObject({ sealed: true, itemCount: 3_500 });
    expect(await client.createJob(job)).toEqual({ id: before?.id, created: false });
  });

  it('large payloads are spread over requests', async () => {
    const { id } = await client.createJob({ type: 'large' });
    const items = Array.from({ length: 40 }, () => ({ payload: 'x'.repeat(900_000) }));
    expect(await client.addItems(id, items)).toMatchObject({ added: 40 });
  });

  it('without items nothing is sent except a seal', async () => {
    const { id } = await client.createJob({ type: 'empty' });
    expect(await client.addItems(id, [])).toMatchObject({ added: 0, entries: [] });
    expect((await client.job(id)).sealedAt).toBeNull();
    await client.addItems(id, [], { seal: true });
    expect((await client.job(id)).progress.status).toBe('COMPLETED');
  });

  it.each(['sealed', 'complete', 'cancelled'])(
    'items with dedupe keys can be added again when the answer was lost, and the job is %s by then',
    async (state) => {
      const type = `again-${state}`;
      const { id } = await client.createJob({ type });
      const items: ItemSpec[] = ['a', 'b'].map((dedupeKey) => ({ dedupeKey }));
      const both = await Promise.all([1, 2].map(() => client.addItems(id, items, { seal: true })));
      expect(both.map(({ added, duplicates }) => added + duplicates)).toEqual([2, 2]);
      expect(both.map(({ added }) => added).sort()).toEqual([0, 2]);
      if (state === 'cancelled') await client.cancelJob(id);
      if (state === 'complete') {
        const held = await client.claimItems('w', [{ type, limit: 2 }]);
        await client.reportOutcomes(held.map(({ id: assignmentId }) => ({ assignmentId, result: 1 })));
      }
      const nodes = (await client.items(id)).nodes;
      expect(await client.addItems(id, items.toReversed(), { seal: true })).toMatchObject({
        added: 0,
        duplicates: 2,
        entries: [...nodes].reverse().map((node) => ({ status: 'DUPLICATE', itemId: node.id })),
      });
      for (const item of [{ dedupeKey: 'c' }, {}])
        await expect(client.addItems(id, [items[0] as ItemSpec, item], { seal: true })).rejects.toEqual(
          refusal('JOB_SEALED'),
        );
      // Whoever does not seal did not expect that anybody has.
      await expect(client.addItems(id, items)).rejects.toEqual(refusal('JOB_SEALED'));
      expect((await client.items(id)).nodes).toHaveLength(2);
    },
  );

  it('refusals are errors with codes', async () => {
    const { id } = await client.createJob({ type: 'sealed', sealed: true });
    await expect(client.addItems(id, [{}])).rejects.toEqual(refusal('JOB_SEALED'));
    await expect(client.addItems(unknown, [{}])).rejects.toEqual(refusal('NOT_FOUND'));
    await expect(client.sealJob('nonsense')).rejects.toEqual(refusal('INVALID_INPUT'));
    await expect(client.job(unknown)).rejects.toEqual(refusal('NOT_FOUND'));
    await expect(client.createJob({ type: '' })).rejects.toEqual(refusal('INVALID_INPUT', 'type'));
    await expect(client.createJob({ type: 'a', children: [{ type: 'b', backoffMs: [-1] }] })).rejects.toEqual(
      refusal('INVALID_INPUT', 'children[0].backoffMs[0]'),
    );
  });

  it('a payload that is not JSON is refused before any item is sent', async () => {
    const { id } = await client.createJob({ type: 'not-json' });
    const items = [...Array.from({ length: 1_000 }, () => ({})), {}, { payload: { x: 1n } }];
    await expect(client.addItems(id, items)).rejects.toEqual(
      refusal('INVALID_INPUT', 'items[1001].payload.x'),
    );
    expect((await client.items(id)).nodes).toEqual([]);
  });

  it('an error says what happened before it', async () => {
    const { id } = await client.createJob({ type: 'cut-short' });
    const controller = new AbortController();
    const counting: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      if (String(args[1]?.body).includes('AddItems')) await client.sealJob(id);
      return response;
    };
    const other = createClient({ url: server.url, fetch: counting });
    const items = Array.from({ length: 1_001 }, () => ({}));
    await expect(other.addItems(id, items, { signal: controller.signal })).rejects.toThrow(
      /^The first 1000 of 1001 items went through, then: /,
    );
    await other.close();
  });

  it('jobs are cancelled and deleted', async () => {
    const { id } = await client.createJob({ type: 'unwanted', items: [{}, {}] });
    await client.cancelJob(id);
    await client.cancelJob(id);
    for await (const progress of client.watchJob(id)) expect(progress.cancelled).toBeLessThanOrEqual(2);
    expect((await client.job(id)).progress).toMatchObject({ status: 'CANCELLED', cancelled: 2 });
    expect(await client.deleteJob(id)).toEqual({ deleted: true });
    await expect(client.job(id)).rejects.toEqual(refusal('NOT_FOUND'));
  });

  it('any call that a busy server refuses is repeated, since nothing was done', async () => {
    let refusals = 0;
    const busy: typeof fetch = async (...args) => {
      if (refusals++ % 2 === 1) return fetch(...args);
      return Response.json({ errors: [{ message: 'Try again.', extensions: { code: 'BUSY' } }] });
    };
    const other = createClient({ url: server.url, fetch: busy });
    const { id } = await other.createJob({ type: 'busy', dedupeKey: 'busy' });
    await other.cancelJob(id);
    expect(await other.deleteJob(id)).toEqual({ deleted: true });
    await other.close();
  });

  it.each([429, 503])('status %d is retried after the requested time', async (status) => {
    const times: number[] = [];
    const full: typeof fetch = async (...args) => {
      times.push(performance.now());
      if (times.length > 1) return fetch(...args);
      return new Response('Come again.', { status, headers: { 'retry-after': '1' } });
    };
    const other = createClient({ url: server.url, fetch: full });
    expect(await other.createJob({ type: 'full' })).toMatchObject({ created: true });
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(990);
    await other.close();
  });

  it('jobs are listed page by page', async () => {
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await client.createJob({ type: 'listed' })).id);
    const filter = { types: ['listed'] };
    const first = await client.jobs({ filter, order: 'OLDEST_FIRST', first: 2 });
    const second = await client.jobs({ filter, order: 'OLDEST_FIRST', after: first.endCursor ?? '' });
    expect([...first.nodes, ...second.nodes].map((job) => job.id)).toEqual(ids);
    expect([first.hasNextPage, second.hasNextPage]).toEqual([true, false]);
  });
});

describe('working without a Worker', () => {
  it('reports that do not fit into one request of the server are sent in several', async () => {
    const large = 'x'.repeat(900_000);
    const items = Array.from({ length: 1_010 }, (_, payload) => ({ payload }));
    const { id } = await client.createJob({ type: 'much', items, sealed: true });
    const claims = [1_000, 10].map((limit) => client.claimItems('me', [{ type: 'much', limit }]));
    const assignments = (await Promise.all(claims)).flat();
    const reports = assignments.map(({ id: assignmentId }, i) => ({
      assignmentId,
      result: i < 12 ? large : i,
    }));
    const answers = await client.reportOutcomes([...reports, { assignmentId: 'x', result: 0 }]);
    expect(answers.map(({ status }) => status)).toEqual([...reports.map(() => 'ACCEPTED'), 'INVALID']);
    expect(answers.at(-1)).toMatchObject({
      assignmentId: 'x',
      error: expect.stringContaining('reports[1010]'),
    });
    expect((await client.reportOutcomes(reports)).every(({ status }) => status === 'DUPLICATE')).toBe(true);
    await expect.poll(async () => (await client.job(id)).progress.succeeded).toBe(1_010);
  });

  it('items are claimed, kept, reported and released, and results are read over several pages', async () => {
    const { id } = await client.createJob({ type: 'by-hand' });
    await client.addItems(
      id,
      Array.from({ length: 601 }, (_, i) => ({ payload: i })),
      { seal: true },
    );
    const assignments = await client.claimItems('me', [{ type: 'by-hand', limit: 601 }]);
    expect(assignments).toHaveLength(601);
    const [first] = assignments.map((assignment) => assignment.id);
    expect(await client.heartbeat([first ?? '', 'x'])).toEqual([
      { assignmentId: first, status: 'HELD', error: null },
      { assignmentId: 'x', status: 'INVALID', error: expect.stringContaining('assignmentIds[1]') },
    ]);
    expect(await client.releaseAssignments([first ?? ''])).toEqual([
      { assignmentId: first, status: 'RELEASED', error: null },
    ]);
    const reports = assignments.map(({ id: assignmentId, payload }) => ({ assignmentId, result: payload }));
    const answers = await client.reportOutcomes(reports);
    expect(answers.map(({ status }) => status)).toEqual([
      'STALE',
      ...Array.from({ length: 600 }, () => 'ACCEPTED'),
    ]);
    expect((await client.reportOutcomes(reports.slice(1, 2)))[0]?.status).toBe('DUPLICATE');

    const [item] = (await client.items(id, { statuses: ['READY'] })).nodes;
    const again = await client.claimItem('me', item?.id ?? '');
    expect(again).toMatchObject({ attempt: 1, payload: 0 });
    await expect(client.claimItem('me', item?.id ?? '')).rejects.toMatchObject({
      code: 'ITEM_NOT_CLAIMABLE',
      reason: 'RUNNING',
    });
    await client.reportOutcomes([{ assignmentId: again.id, result: 0 }]);
    const results: unknown[] = [];
    for await (const { payload, result } of client.results(id)) results.push([payload, result]);
    expect(results).toEqual(Array.from({ length: 601 }, (_, i) => [i, i]));
  });
});

describe('watching', () => {
  it('a lost connection is replaced, and the final state arrives', async () => {
    const proxy = await startProxy(server.url);
    const watcher = createClient({ url: proxy.url });
    const { id } = await client.createJob({ type: 'watched', items: [{}] });
    const seen: string[] = [];
    for await (const { status, revision } of watcher.watchJob(id)) {
      seen.push(`${status} ${revision}`);
      if (seen.length > 1) continue;
      proxy.cut();
      await client.cancelJob(id);
      proxy.mend();
    }
    expect(seen.at(-1)).toMatch(/^CANCELLED/);
    expect(new Set(seen).size).toBe(seen.length);
    await watcher.close();
    await proxy.close();
  });

  it('each state of a tree includes all its jobs', async () => {
    const { id } = await client.createJob({ type: 'p', children: [{ type: 'c1' }, { type: 'c2' }] });
    const { children } = await client.job(id);
    const all = [id, ...children.map((child) => child.id)];
    const sizes: number[] = [];
    for await (const tree of client.watchTree(id)) {
      sizes.push(tree.jobs.length);
      const open = tree.jobs.filter((job) => job.status !== 'COMPLETED').map((job) => job.jobId);
      expect(tree.openJobs).toBe(open.length);
      const next = all.find((job) => open.includes(job));
      if (next !== undefined) await client.sealJob(next);
    }
    expect(new Set(sizes)).toEqual(new Set([3]));
  });

  it('very many watches at once give no warnings', async () => {
    const { id } = await client.createJob({ type: 'watched much', items: [{}] });
    const warnings: unknown[] = [];
    const warned = (warning: unknown) => warnings.push(warning);
    process.on('warning', warned);
    const watches = Array.from({ length: 50 }, () => client.watchJob(id));
    for (const watch of watches) expect((await watch.next()).value).toMatchObject({ sealed: false });
    const ended = watches.map((watch) => watch.next());
    await client.cancelJob(id);
    for (const end of ended) expect((await end).done).toBe(false);
    for (const watch of watches) await watch.return();
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });

  it('an unknown job is refused', async () => {
    await expect(client.watchJob(unknown).next()).rejects.toEqual(refusal('NOT_FOUND'));
    await expect(client.watchTree(unknown).next()).rejects.toEqual(refusal('NOT_FOUND'));
  });

  it('watching throws the reason of its signal, and ends with close()', async () => {
    const { id } = await client.createJob({ type: 'endless' });
    const controller = new AbortController();
    const other = createClient({ url: server.url });
    const byClose = other.watchJob(id);
    const { signal } = controller;
    const operation = await other.cancelItems({ jobId: id });
    const bySignal = [
      other.watchJob(id, { signal }),
      other.watchTree(id, { signal }),
      other.workAvailable(['endless'], { signal }),
    ];
    await Promise.all([byClose, ...bySignal].map((watch) => watch.next()));
    const ended = byClose.next();
    const thrown = Promise.allSettled(bySignal.map((watch) => watch.next()));
    const reason = new Error('enough');
    controller.abort(reason);
    for (const one of await thrown) expect(one).toEqual({ status: 'rejected', reason });
    // Also one that had not begun.
    await expect(other.watchOperation(operation.id, { signal }).next()).rejects.toBe(reason);
    await other.close();
    expect(await ended).toEqual({ done: true, value: undefined });
  });
});

describe('a server that does not answer', () => {
  it('is UNREACHABLE once the retries are over', async () => {
    const nowhere = createClient({ url: `http://127.0.0.1:${await freePort()}/graphql`, retryMs: 0 });
    await expect(nowhere.job(unknown)).rejects.toThrow(/^No answer from .*ECONNREFUSED/);
    await expect(nowhere.job(unknown)).rejects.toEqual(refusal('UNREACHABLE'));
  });

  it('a call with an aborted signal ends with its reason', async () => {
    const nowhere = createClient({ url: `http://127.0.0.1:${await freePort()}/graphql`, retryMs: 600_000 });
    const controller = new AbortController();
    const call = nowhere.job(unknown, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  it('only calls that are safe to repeat are repeated', async () => {
    const proxy = await startProxy(server.url);
    let requests = 0;
    // The answer to the first request is lost on the way, after the server has acted.
    const losing: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      if (++requests > 1) return response;
      await response.text();
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
      });
    };
    const shaky = createClient({ url: proxy.url, fetch: losing });
    const { id } = await client.createJob({ type: 'shaky' });

    expect(await shaky.addItems(id, [{ dedupeKey: 'a' }])).toMatchObject({ added: 0, duplicates: 1 });
    expect(requests).toBe(2);
    requests = 0;
    await expect(shaky.addItems(id, [{ dedupeKey: 'b' }, {}])).rejects.toEqual(refusal('UNREACHABLE'));
    expect(requests).toBe(1);
    expect((await client.items(id)).nodes).toHaveLength(3);
    for (const [dedupeKey, count] of [
      ['c', 2],
      [null, 1],
    ] as const) {
      requests = 0;
      // From a file of the command line it may be null.
      const job = { type: 'shaky', dedupeKey, children: [{ type: 'shaky-child' }] } as JobSpec;
      await shaky.createJob(job).catch((error) => expect(error).toEqual(refusal('UNREACHABLE')));
      expect(requests).toBe(count);
    }
    await shaky.close();
    await proxy.close();
  });

  it('an upload of a path that can not be opened fails the call alone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'jobtree-upload-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'socket');
    const socket = createNetServer().listen(path);
    await once(socket, 'listening');
    await expect(client.upload(path)).rejects.toMatchObject({ code: 'ENXIO' });
    socket.close();
  });

  it('a URL with a user or password is refused without showing them', () => {
    for (const url of [
      'http://me:secret@host/',
      'http://me@host',
      'me:secret@host',
      'http://me:secret@ho st/',
    ]) {
      const error = (() => {
        try {
          return createClient({ url });
        } catch (error) {
          return error;
        }
      })();
      expect(error).toMatchObject({ code: 'INVALID_INPUT', field: 'url' });
      expect((error as Error).message).toMatch(/^url must have no user or password/);
    }
    expect(() => createClient({ url: 'ftp://host' })).toThrow(
      'url must be an http or https address: ftp://host',
    );
  });

  it('a field that does not exist is named without the value that has it', async () => {
    const add = (job: object) => client.createJob(job as JobSpec);
    await expect(add({ type: 'a', attempts: 3 })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'Field "attempts" is not defined by type "JobInput".',
    });
    await expect(add({ type: 'a', children: [{ type: 'b', attempts: 3 }] })).rejects.toThrow(
      /^children\[0\]: Field "attempts" is not defined by type "JobInput"\.$/,
    );
  });

  it('an answer that is not from jobtree is a BAD_RESPONSE', async () => {
    const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const lost = createClient({ url: `http://127.0.0.1:${port}/graphql` });
    await expect(lost.job(unknown)).rejects.toBeInstanceOf(JobtreeError);
    await expect(lost.job(unknown)).rejects.toEqual(refusal('BAD_RESPONSE'));
    const hint = ' The API of a server is usually at /graphql: does the URL lack it?';
    for (const [path, said] of [
      ['/graphql', ' Is it the address of a jobtree server?'],
      ['/jobs/graphql?a', ' Is it the address of a jobtree server?'],
      ['/', hint],
      ['/graphql/jobs', hint],
    ] as const) {
      const url = `http://127.0.0.1:${port}${path}`;
      await expect(createClient({ url }).job(unknown)).rejects.toMatchObject({
        message: `${url} answered 200 without a GraphQL response.${said}`,
      });
    }
    other.closeAllConnections();
    other.close();
    await once(other, 'close');
  });

  it('a request that a proxy finds too large did nothing', async () => {
    const proxy = createServer((_, response) => response.writeHead(413).end('<html>')).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    const behind = createClient({ url: `http://127.0.0.1:${port}/graphql` });
    await expect(behind.createJob({ type: 'a' })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      outcome: 'NOTHING_DONE',
    });
    proxy.closeAllConnections();
    proxy.close();
    await once(proxy, 'close');
  });
});
