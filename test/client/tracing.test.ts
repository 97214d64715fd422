/** Tracing with a real SDK over a real server and worker, and the examples of docs/tracing.md as they stand there. */
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { PermanentError, Worker, type WorkerOptions } from '../../src/client/index.ts';
import { data, request } from '../support/api.ts';
import { example } from '../support/documentation.ts';
import { newType } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();

/** Other test files of this process trace nothing. */
afterEach(() => {
  trace.disable();
  context.disable();
  propagation.disable();
  metrics.disable();
});

/** Everything that ends is in the list. */
function collectSpans(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  onTestFinished(() => provider.shutdown());
  return exporter;
}

async function startWorker(types: WorkerOptions['types']): Promise<Worker> {
  const worker = new Worker({ url: server.url, types, name: 'postman' });
  await worker.start();
  onTestFinished(() => worker.stop());
  return worker;
}

async function spansOf(exporter: InMemorySpanExporter, count: number): Promise<ReadableSpan[]> {
  return eventually(() => {
    const spans = exporter.getFinishedSpans();
    expect(spans.map(({ name }) => name)).toHaveLength(count);
    return spans;
  });
}

const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId;
const only = (spans: ReadableSpan[], name: string) => {
  const found = spans.filter((span) => span.name === name);
  expect(found.map(({ name }) => name)).toEqual([name]);
  return found[0] as ReadableSpan;
};

it('an item has one trace, from the call of its producer to the report', async () => {
  const exporter = collectSpans();
  const type = newType();
  await startWorker({
    [type]: { concurrency: 1, handler: () => trace.getTracer('t').startSpan('inside').end() ?? null },
  });
  const { id } = await server.client.createJob({ type, items: [{ payload: 1 }], sealed: true });
  const spans = await spansOf(exporter, 5);

  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  const [send, claim, process, inside, report] = ['send ', 'claim ', 'process ', 'inside', 'report '].map(
    (name) => only(spans, name === 'inside' ? name : `${name}${type}`),
  ) as [ReadableSpan, ReadableSpan, ReadableSpan, ReadableSpan, ReadableSpan];
  expect(parentOf(send)).toBeUndefined();
  expect([claim, process].map(parentOf)).toEqual(Array(2).fill(send.spanContext().spanId));
  expect([inside, report].map(parentOf)).toEqual(Array(2).fill(process.spanContext().spanId));
  expect([send, claim, process, report].map(({ kind }) => kind)).toEqual([
    SpanKind.PRODUCER,
    SpanKind.CONSUMER,
    SpanKind.CONSUMER,
    SpanKind.CLIENT,
  ]);
  expect(process.attributes).toEqual({
    'messaging.system': 'jobtree',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': type,
    'messaging.message.id': expect.stringContaining(id.replace('Job:', 'JobItem:')),
    'messaging.message.conversation_id': id,
    'messaging.client.id': 'postman',
    'jobtree.attempt': 1,
  });
  expect(report.attributes['jobtree.report.status']).toBe('ACCEPTED');
  expect(send.attributes['messaging.batch.message_count']).toBe(1);
});

it('items that several calls add belong to the traces of their calls, whatever their settings', async () => {
  const exporter = collectSpans();
  const type = newType();
  const { client } = server;
  const { id } = await client.createJob({ type });
  await client.addItems(id, [{ payload: 'a' }, { payload: 'b' }]);
  await Promise.all([
    client.addItems(id, [
      { payload: 'c', dedupeKey: 'c' },
      { payload: 'd', priority: 1 },
    ]),
    client.addItems(id, [{ payload: 'e', serializeKey: 'key' }, { payload: 'f' }]),
  ]);
  await client.addItems(id, [{ payload: 'none', dedupeKey: 'c' }, { payload: 'g' }], { seal: true });
  const sends = exporter.getFinishedSpans().filter(({ name }) => name === 'send');
  expect(sends).toHaveLength(4);
  const traces = new Map<string, Set<unknown>>();
  await startWorker({
    [type]: {
      concurrency: 1,
      handler: (payload) => {
        const traceId = trace.getActiveSpan()?.spanContext().traceId ?? '';
        traces.set(traceId, (traces.get(traceId) ?? new Set()).add(payload));
        return null;
      },
    },
  });
  await eventually(() => {
    const calls = sends.map((span) => traces.get(span.spanContext().traceId));
    expect(new Set(calls)).toEqual(new Set(['ab', 'cd', 'ef', 'g'].map((payloads) => new Set(payloads))));
  });
});

it('a fed item belongs to the trace of the item that fed it', async () => {
  const exporter = collectSpans();
  const [parent, child, named] = [newType('parent'), newType('child'), newType('named')];
  const { client } = server;
  const { id } = await client.createJob({
    type: parent,
    children: [
      { type: child, feed: { forEach: 'result' } },
      { type: named, feed: { source: 'REPORTS' } },
    ],
  });
  await client.addItems(id, [{ payload: 'a' }]);
  await client.addItems(id, [{ payload: 'b' }], { seal: true });
  const [a, b] = exporter.getFinishedSpans().filter(({ name }) => name === 'send');
  const seen: Record<string, string | undefined> = {};
  const see = (payload: unknown) => {
    seen[String(payload)] = trace.getActiveSpan()?.spanContext().traceId;
    return null;
  };
  await startWorker({
    [parent]: {
      concurrency: 2,
      handler: (payload, { feed }) => {
        feed(named, { payload: `${payload}3` });
        return [`${payload}1`, `${payload}2`];
      },
    },
    [child]: { concurrency: 2, handler: see },
    [named]: { concurrency: 2, handler: see },
  });
  const [ofA, ofB] = [a?.spanContext().traceId, b?.spanContext().traceId];
  await eventually(() => expect(seen).toEqual({ a1: ofA, a2: ofA, a3: ofA, b1: ofB, b2: ofB, b3: ofB }));
});

it('the trace of an item without one starts with its claim', async () => {
  const exporter = collectSpans();
  const type = newType();
  await startWorker({ [type]: { concurrency: 1, handler: () => null } });
  await server.db.query('select jobtree.create_job($1)', [JSON.stringify({ type, items: [{ payload: 1 }] })]);
  const spans = await spansOf(exporter, 3);
  const [claim, process, report] = ['claim', 'process', 'report'].map((name) =>
    only(spans, `${name} ${type}`),
  );
  expect([claim, process, report].map((span) => parentOf(span as ReadableSpan))).toEqual([
    undefined,
    claim?.spanContext().spanId,
    process?.spanContext().spanId,
  ]);
});

it('each item of a schedule starts a trace, to which everything its handler creates belongs', async () => {
  const exporter = collectSpans();
  const [start, made] = [newType('start'), newType('made')];
  const { client } = server;
  await startWorker({
    [start]: {
      concurrency: 1,
      handler: async () => {
        await client.createJob({ type: made, items: [{ payload: 1 }], sealed: true });
        return null;
      },
    },
    [made]: { concurrency: 1, handler: () => null },
  });
  await client.schedules.put({
    name: start,
    cron: '0 0 1 1 *',
    template: { type: start, items: [{ payload: 1 }], sealed: true },
  });
  onTestFinished(async () => void (await client.schedules.delete(start)));
  for (let n = 1; n <= 2; n++) {
    await client.schedules.run(start);
    await spansOf(exporter, n * 7);
  }
  const below = new Map<string, string[]>();
  for (const span of exporter.getFinishedSpans()) {
    const { traceId } = span.spanContext();
    below.set(traceId, [...(below.get(traceId) ?? []), span.name]);
  }
  const each = ['claim', 'process', 'report'];
  const whole = [`send ${made}`, ...each.flatMap((name) => [`${name} ${start}`, `${name} ${made}`])].sort();
  expect([...below.values()].map((names) => names.sort())).toEqual([whole, whole]);
  const begins = exporter.getFinishedSpans().filter((span) => parentOf(span) === undefined);
  expect(begins.map(({ name }) => name)).toEqual(Array(2).fill(`claim ${start}`));
});

it('a failure and a retry are branches of one trace, with the reason', async () => {
  const exporter = collectSpans();
  const type = newType();
  let attempts = 0;
  await startWorker({
    [type]: {
      concurrency: 1,
      handler: () => {
        if (++attempts === 1) throw Object.assign(new Error('not yet'), { code: 'EARLY' });
        throw new PermanentError('never', { code: 'NEVER' });
      },
    },
  });
  await server.client.createJob({ type, items: [{ payload: 1 }], sealed: true, backoffMs: [] });
  const spans = await spansOf(exporter, 7);
  const processes = spans.filter(({ name }) => name.startsWith('process'));
  expect(processes.map(({ attributes }) => attributes['error.type'])).toEqual(['EARLY', 'NEVER']);
  expect(processes.map(({ status }) => status.code)).toEqual(Array(2).fill(SpanStatusCode.ERROR));
  expect(processes.map(({ attributes }) => attributes['jobtree.attempt'])).toEqual([1, 2]);
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
});

it('without an SDK nothing is stored, and nothing is requested', async () => {
  const type = newType();
  const claimed: object[] = [];
  const worker = await startWorker({ [type]: { concurrency: 1, handler: () => null } });
  worker.on('claimed', (assignment) => claimed.push(assignment));
  const { id } = await server.client.createJob({ type, items: [{ payload: 1 }] });
  await server.client.addItems(id, [{ payload: 2 }], { seal: true });
  await eventually(() => expect(claimed).toHaveLength(2));
  for (const assignment of claimed) expect(assignment).not.toHaveProperty('traceContext');
  const rows = await server.db.query('select from jobtree.trace_context where job_id = $1', [id.slice(4)]);
  expect(rows).toEqual([]);
});

it.each([
  [{ traceparent: 'nonsense' }, 'traceContext.traceparent'],
  [{ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: '' }, 'traceContext.tracestate'],
  [{ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'ü' }, 'traceContext.tracestate'],
])('refuses %j, and adds nothing', async (traceContext, field) => {
  const { id } = await server.client.createJob({ type: newType() });
  const variables = { input: { jobId: id, items: [{ payload: 1 }], traceContext } };
  const added = await data(
    server.url,
    'mutation ($input: AddItemsInput!) { addItems(input: $input) { ... on UserError { code field } } }',
    variables,
  );
  expect(added.addItems).toEqual({ code: 'INVALID_INPUT', field });
  const created = await data(
    server.url,
    'mutation ($input: JobInput!) { createJob(input: $input) { ... on UserError { code field } } }',
    { input: { type: newType(), traceContext } },
  );
  expect(created.createJob).toEqual({ code: 'INVALID_INPUT', field });
  await expect(
    server.db.query('select jobtree.add_items($1, $2, false, $3)', [
      id.slice(4),
      '[{"payload": 1}]',
      JSON.stringify([traceContext]),
    ]),
  ).rejects.toMatchObject({ code: 'JT002', column: field });
  expect((await server.client.job(id)).progress.itemCount).toBe(0);
});

it('a worker in any language gets the context with its claim, and passes it on with a tree', async () => {
  const type = newType();
  const traceContext = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };
  const { createJob } = await data(
    server.url,
    'mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id } } } }',
    { input: { type, traceContext, items: Array(3).fill({ payload: 1 }), sealed: true } },
  );
  const { data: claimed } = await request(
    server.url,
    `mutation { claimItems(input: { worker: "w", requests: [{ type: "${type}", limit: 2 }] }) {
       ... on ClaimItemsPayload { assignments { traceContext { traceparent tracestate } } }
     } }`,
  );
  expect(claimed.claimItems.assignments).toEqual(Array(2).fill({ traceContext }));
  const rows = () =>
    server.db.query('select from jobtree.trace_context where job_id = $1', [createJob.job.id.slice(4)]);
  expect(await rows()).toHaveLength(1);
  await server.client.deleteJob(createJob.job.id);
  await eventually(async () => expect(await rows()).toEqual([]));
});

it('a worker measures its handlers', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter });
  const provider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  onTestFinished(() => provider.shutdown());
  const type = newType();
  const worker = await startWorker({
    [type]: {
      concurrency: 1,
      handler: (payload) => {
        if (payload === 2) throw new PermanentError('no', { code: 'NO' });
        return null;
      },
    },
  });
  const ended = new Promise<void>((resolve) => void worker.on('failed', () => resolve()));
  await server.client.createJob({ type, items: [{ payload: 1 }, { payload: 2 }], sealed: true });
  await ended;
  await reader.forceFlush();
  const points = new Map(
    exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
      .map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints] as const),
  );
  const attributes = expect.objectContaining({ 'messaging.destination.name': type });
  expect(points.get('messaging.client.consumed.messages')).toMatchObject([{ attributes, value: 2 }]);
  expect(points.get('jobtree.worker.active')).toMatchObject([{ attributes, value: 0 }]);
  expect(points.get('messaging.process.duration')).toMatchObject([
    { attributes, value: { count: 1 } },
    { attributes: expect.objectContaining({ 'error.type': 'NO' }), value: { count: 1 } },
  ]);
});

interface Received {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

/** What OTLP exporters send their spans to. */
async function startReceiver(): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const receiver = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    for (const { scopeSpans } of body.resourceSpans)
      for (const { spans } of scopeSpans) received.push(...spans);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void receiver.close(() => resolve())));
  return { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/v1/traces`, received };
}

/** The code of the page, as it stands there. */
async function loadExample() {
  const file = join(import.meta.dirname, `.tracing-${process.pid}-${exampleCount++}.ts`);
  const code = `${example('tracing.md', 'setup')}\n${example('tracing.md', 'work')}`;
  await writeFile(
    file,
    `// @ts-nocheck\n${code.replaceAll("'jobtree-client'", "'../../src/client/index.ts'")}`,
  );
  onTestFinished(() => rm(file));
  return import(file);
}
let exampleCount = 0;

it('each of a thousand items has one whole trace at the receiver', async () => {
  const { startTracing } = await loadExample();
  const { url, received } = await startReceiver();
  const provider = startTracing(url);
  const type = newType();
  const worker = await startWorker({ [type]: { concurrency: 50, handler: () => null } });
  let reported = 0;
  worker.on('succeeded', () => reported++);
  const { client } = server;
  const { id } = await client.createJob({ type });
  for (let i = 0; i < 50; i++)
    await Promise.all(Array.from({ length: 20 }, (_, j) => client.addItems(id, [{ payload: 20 * i + j }])));
  await eventually(() => expect(reported).toBe(1_000));
  await worker.stop();
  await provider.shutdown();

  const traces = new Map<string, Received[]>();
  for (const span of received) traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), span]);
  const shapes = [...traces.values()].map((spans) => {
    const nameOf = (spanId: string | undefined) => spans.find((span) => span.spanId === spanId)?.name;
    return spans.map(({ name, parentSpanId }) => `${nameOf(parentSpanId) ?? ''} > ${name}`).sort();
  });
  const whole = [
    ' > send',
    `process ${type} > report ${type}`,
    `send > claim ${type}`,
    `send > process ${type}`,
  ];
  expect(shapes.filter((shape) => shape.length !== 1)).toEqual(Array(1_000).fill(whole));
});

it('the documented example sends the trace that the page shows', async () => {
  const { startTracing, order, createWorker } = await loadExample();
  const { url, received } = await startReceiver();
  const provider = startTracing(url);
  const worker = createWorker(server.url);
  const done = new Promise<void>((resolve) => worker.on('succeeded', () => resolve()));
  await worker.start();
  await order(server.url);
  await done;
  await worker.stop();
  await provider.shutdown();

  expect(new Set(received.map(({ traceId }) => traceId)).size).toBe(1);
  const below = (parent: string | undefined, depth: number): string[] =>
    received
      .filter(({ parentSpanId }) => (parentSpanId || undefined) === parent)
      .sort((a, b) => a.name.localeCompare(b.name))
      .flatMap(({ name, spanId }) => [`${'  '.repeat(depth)}${name}`, ...below(spanId, depth + 1)]);
  expect(below(undefined, 0)).toEqual(example('tracing.md', 'trace').trimEnd().split('\n'));

  await server.db.query(example('tracing.md', 'sql'));
  const [row] = await server.db.query(
    'select traceparent from jobtree.trace_context order by job_id desc limit 1',
  );
  expect(row).toEqual({ traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' });
});
