/** Where a failure came from. */
import { once } from 'node:events';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Logger, PermanentError, Worker } from '../../src/client/index.ts';
import type { ReportedFailure } from '../../src/client/worker/events.ts';
import { failed } from '../../src/client/worker/outcome.ts';
import { stackOf } from '../../src/client/worker/stack.ts';
import { run } from '../cli/program.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
let counter = 0;

/** One item that fails for good with what is thrown; returns its job, its failure, and that of the event. */
async function failWith(thrown: () => unknown, logger?: Logger) {
  const { client } = server;
  const type = `stack-${++counter}`;
  const { id } = await client.createJob({ type, items: [{}], sealed: true, maxFailuresPerItem: 0 });
  const handler = () => {
    throw thrown();
  };
  const worker = new Worker({ client, logger, types: { [type]: { concurrency: 1, handler } } });
  const told = once(worker, 'failed') as Promise<[unknown, ReportedFailure]>;
  await worker.runOnce();
  const [item] = (await client.items(id)).nodes;
  return { id, type, failure: item?.failures[0], event: (await told)[1] };
}

it('a TypeError in a handler names the file and the line', async () => {
  let error: unknown;
  const { id, type, failure, event } = await failWith(() => {
    try {
      return (null as unknown as { rows: unknown }).rows;
    } catch (caught) {
      error = caught;
      return caught;
    }
  });
  expect(failure).toMatchObject({ code: 'TypeError', stack: expect.any(String) });
  expect(failure?.stack).toMatch(/^TypeError: Cannot read properties of null/);
  expect(failure?.stack).toMatch(/\n +at .*stacks\.test\.ts:\d+:\d+/);
  expect(event.error).toBe(error);

  const env = { env: server.env };
  const listed = JSON.parse((await run(['items', id, '--json'], env)).stdout);
  expect(listed.failures[0].stack).toBe(failure?.stack);
  const shown = `\nstack\n  ${failure?.stack?.replaceAll('\n', '\n  ')}\n`;
  expect((await run(['items', listed.id], env)).stdout).toContain(shown);
  const group = (await server.client.deadLetterGroups({ types: [type] }))[0]?.id ?? '';
  expect((await run(['dead-letters', group], env)).stdout).toContain(
    `\n    ${failure?.stack?.replaceAll('\n', '\n    ')}\n`,
  );
});

it('a stack includes those of its causes, and a long message leaves room for its lines', async () => {
  const cause = new Error('no connection');
  const { failure } = await failWith(() => new PermanentError('m'.repeat(9_000), { cause }));
  expect(failure?.message).toMatch(/^m{9000}: no connection$/);
  expect(failure?.stack).toMatch(/^(Permanent)?Error: m{200}…\n +at /);
  expect(failure?.stack).toContain('\nCaused by: Error: no connection\n');
});

it('a stack ends at the handler, without the lines of the worker that called it', async () => {
  const { failure } = await failWith(() => new Error('outer', { cause: new Error('inner') }));
  expect(failure?.stack?.match(/^ +at /gm)?.length).toBeGreaterThan(1);
  expect(failure?.stack).not.toContain('/src/client/');
  // What the client itself throws keeps its lines, as does a stack of nothing else.
  const refused = await server.client.job('Job:x').catch((error: unknown) => error);
  expect(stackOf(refused)).toContain('/src/client/');
  const line = `    at f (${new URL('../../src/client/x.ts', import.meta.url)}:1:1)`;
  for (const stack of [`Error: x\n${line}`, line, `\n${line}`]) expect(stackOf({ stack })).toBe(stack);
});

it('a stack has at most five causes, each once', () => {
  const errors = Array.from({ length: 9 }, (_, i) => {
    return Object.assign(new Error(), { stack: `Error: cause ${i}` });
  });
  for (const [i, error] of errors.entries()) error.cause = errors[i + 1] ?? errors[0];
  const of = (error: Error) =>
    [...(stackOf(error) ?? '').matchAll(/^Caused by: Error: (.*)$/gm)].map(([, m]) => m);
  expect(of(errors[0] as Error)).toEqual(['cause 1', 'cause 2', 'cause 3', 'cause 4', 'cause 5']);
  expect(of(errors[6] as Error)).toEqual(['cause 7', 'cause 8', 'cause 0', 'cause 1', 'cause 2']);
  const own = new Error('its own cause');
  own.cause = own;
  expect(of(own)).toEqual([]);
});

it('a stack of 1 MB is cut at the end of a line', async () => {
  const line = '    at f (/app/ж/file.js:1:1)\n';
  const { failure } = await failWith(() =>
    Object.assign(new Error('large'), { stack: `Error: large\n${line.repeat(40_000)}` }),
  );
  const size = Buffer.byteLength(failure?.stack ?? '');
  expect(size).toBeLessThanOrEqual(4_096);
  expect(size).toBeGreaterThan(4_000);
  expect(failure?.stack?.endsWith('file.js:1:1)')).toBe(true);
  // A single line: between two characters.
  const single = stackOf({ stack: `x${'ж'.repeat(500_000)}` }) ?? '';
  expect([Buffer.byteLength(single), single.isWellFormed()]).toEqual([4_095, true]);
  expect(stackOf({ stack: 'half a pair \ud800' })).toBe('half a pair \ufffd');
});

it('each attempt has its own stack', async () => {
  const { client } = server;
  const type = `stack-${++counter}`;
  const { id } = await client.createJob({
    type,
    items: [{}],
    sealed: true,
    maxFailuresPerItem: 1,
    backoffMs: [0],
  });
  const handler = (_: unknown, { attempt }: { attempt: number }) => {
    throw Object.assign(new Error('no'), { stack: `attempt ${attempt}` });
  };
  const worker = new Worker({ client, types: { [type]: { concurrency: 1, handler } } });
  worker.on('failed', () => {});
  await worker.runOnce();
  const [item] = (await client.items(id)).nodes;
  expect(item?.failures.map(({ stack }) => stack)).toEqual(['attempt 1', 'attempt 2']);
});

it('the size of a failure includes its stack', () => {
  expect(failed('id', { message: 'no', stack: 'x'.repeat(4_000) }).size).toBeGreaterThan(4_000);
});

it('a thrown value without a stack has none', async () => {
  for (const thrown of ['text', null, 5, { code: 'X' }, Object.assign(new Error('x'), { stack: '' })])
    expect((await failWith(() => thrown)).failure).toMatchObject({ stack: null });
});

it('control characters of a stack never reach a terminal', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  const hostile = 'Error: x\0\n    at \u001b]0;owned\u0007\u001b[2J\u009b31m\u202e (f.js:1:1)';
  const { client } = server;
  const type = `stack-${++counter}`;
  await client.createJob({ type, items: [{}], sealed: true, maxFailuresPerItem: 0 });
  const handler = () => {
    throw Object.assign(new Error('x'), { stack: hostile });
  };
  await new Worker({ client, types: { [type]: { concurrency: 1, handler } } }).runOnce();
  const group = (await client.deadLetterGroups({ types: [type] }))[0]?.id ?? '';
  const { stdout } = await run(['dead-letters', group], { env: server.env });
  for (const text of [stdout, String(warn.mock.calls.flat())]) {
    expect(text).toContain(String.raw`at \u001b]0;owned\u0007\u001b[2J\u009b31m\u202e (f.js:1:1)`);
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
  }
});

it('a logger receives the error', async () => {
  const lines: object[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (line: object) => lines.push(line),
    error: () => {},
  };
  const { event } = await failWith(() => new RangeError('far'), logger as Logger);
  expect(lines).toMatchObject([{ code: 'RangeError', reason: 'far', err: event.error }]);
  expect((event.error as Error).stack).toContain('stacks.test.ts');
});
