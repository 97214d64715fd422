/** What the messages of a socket do: ids that are used again, messages that are not for a server, and the end of what was left. */
import { afterEach, expect, it } from 'vitest';
import { createJob, data } from '../support/api.ts';
import { openRaw, type RawSocket } from '../support/raw-socket.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(url = app.url): Promise<RawSocket> {
  const raw = await openRaw(url);
  closers.push(() => raw.socket.terminate());
  return raw;
}

const watch = (id: string) => ({
  query: 'subscription ($id: ID!) { jobProgress(jobId: $id) { jobId: revision sealed } }',
  variables: { id },
});
const seal = (id: string, url = app.url) =>
  data(url, `mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }`, { id });

it('an id that completed and is used again belongs only to the second operation', async () => {
  const first = await createJob(app.url, { type: 'first', items: [{}] });
  const second = await createJob(app.url, { type: 'second', items: [{}, {}] });
  const raw = await open();
  const query = 'subscription ($id: ID!) { jobProgress(jobId: $id) { itemCount sealed } }';
  raw.send({ type: 'subscribe', id: '1', payload: { query, variables: { id: first } } });
  raw.send({ type: 'complete', id: '1' });
  raw.send({ type: 'subscribe', id: '1', payload: { query, variables: { id: second } } });
  const isSealed = ({ payload }: any) => payload?.data?.jobProgress.sealed === true;
  await seal(first);
  await seal(second);
  await raw.until((message) => isSealed(message) && message.payload.data.jobProgress.itemCount === 2);
  // A round trip: whatever the first one had to say has come by then.
  raw.send({ type: 'subscribe', id: '2', payload: { query: '{ __typename }' } });
  await raw.until(({ id, type }) => id === '2' && type === 'complete');
  const counts = raw.messages.flatMap(({ payload }) => payload?.data?.jobProgress?.itemCount ?? []);
  expect(new Set(counts)).toEqual(new Set([2]));
});

it('a message may have a thousand fragments', async () => {
  const raw = await open();
  const send = (text: string) => {
    for (const [i, byte] of [...text].entries()) raw.socket.send(byte, { fin: i === text.length - 1 });
  };
  send('{"type":"ping"}'.padEnd(1_000));
  await raw.until(({ type }) => type === 'pong');
  send('{"type":"ping"}'.padEnd(1_001));
  expect(await raw.closed).toBe(1008);
});

it('ids that are used again do not exceed any limit', async () => {
  const server = await startServer(db.url, { JOBTREE_MAX_OPERATIONS_PER_SOCKET: '5' });
  closers.push(() => server.close());
  const id = await createJob(server.url, { type: 'again', items: [{}] });
  const raw = await open(server.url);
  for (let i = 0; i < 100; i++) {
    if (i > 0) raw.send({ type: 'complete', id: '1' });
    raw.send({ type: 'subscribe', id: '1', payload: watch(id) });
  }
  // What was left comes to its end soon, and makes room.
  for (let n = 2; ; n++) {
    raw.send({ type: 'subscribe', id: `${n}`, payload: { query: '{ __typename }' } });
    const answer = await raw.until((message) => message.id === `${n}`);
    if (answer.type === 'next') break;
    expect(answer.payload[0].extensions.code).toBe('TOO_MANY_OPERATIONS');
  }
  const before = raw.messages.length;
  await seal(id, server.url);
  raw.send({ type: 'complete', id: '1' });
  raw.send({ type: 'subscribe', id: 'last', payload: watch(id) });
  await raw.until((message) => message.id === 'last' && message.payload?.data?.jobProgress.sealed);
  const told = raw.messages.slice(before).filter((message) => message.id === '1');
  expect(told.length).toBeLessThanOrEqual(1);
});

it.each([
  { type: 'connection_ack' },
  { type: 'next', id: '1', payload: { data: {} } },
  { type: 'error', id: '1', payload: [{ message: 'x' }] },
])('a message that only a server may send closes the socket with 4400: $type', async (message) => {
  const raw = await open();
  raw.send(message);
  expect(await raw.closed).toBe(4400);
});

it.each(['x'.repeat(1_000), 'ü'.repeat(1_000)])(
  'an id in use that is too long for a close reason closes the socket with 4409',
  async (id) => {
    const raw = await open();
    const payload = watch(await createJob(app.url, { type: 'long', items: [{}] }));
    raw.send({ type: 'subscribe', id, payload });
    raw.send({ type: 'subscribe', id, payload });
    expect(await raw.closed).toBe(4409);
  },
);

it('a ping with a payload nested too deeply to be returned closes the socket with 4400', async () => {
  const raw = await open();
  const depth = 100_000;
  raw.socket.send(`{"type":"ping","payload":{"x":${'['.repeat(depth)}${']'.repeat(depth)}}}`);
  expect(await raw.closed).toBe(4400);
  expect(await data(app.url, '{ __typename }')).toBeDefined();
});

it('variables nested too deeply are refused alone', async () => {
  const raw = await open();
  const depth = 100_000;
  const query = 'mutation ($input: AddItemsInput!) { addItems(input: $input) { __typename } }';
  const payload = `{"query":${JSON.stringify(query)},"variables":{"input":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
  raw.socket.send(`{"type":"subscribe","id":"1","payload":${payload}}`);
  expect((await raw.until(({ id }) => id === '1')).type).toMatch(/next|error/);
  raw.send({ type: 'subscribe', id: '2', payload: { query: '{ __typename }' } });
  await raw.until(({ id, type }) => id === '2' && type === 'complete');
});
