/**
 * Creates jobs or adds items as callers do that give up after a while and ask again: the load does not depend on the answers. It writes prepared bytes to plain
 * sockets, so that it takes little of the processors that it shares with the server, and says how much that was.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { readTask, serve } from '../child.ts';
import { Histogram } from '../histogram.ts';
import type { ImpatientTask } from '../task.ts';

const { url, items, limitMs, token, jobIds } = readTask<ImpatientTask>();
const { hostname, port, host } = new URL(url);
const some = Array.from({ length: items }, (_, n) => ({ payload: { n } }));
const messages =
  jobIds === undefined
    ? [toMessage('createJob', 'JobInput', { type: 'overload', items: some })]
    : jobIds.map((jobId) => toMessage('addItems', 'AddItemsInput', { jobId, items: some }));
let sent = 0;

function toMessage(mutation: string, type: string, input: object): Buffer {
  const query = `mutation ($input: ${type}!) { ${mutation}(input: $input) { __typename } }`;
  const body = JSON.stringify({ query, variables: { input } });
  const head = [
    'POST /graphql HTTP/1.1',
    `Host: ${host}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

type Answer = 'done' | 'refused' | 'failed' | 'late';

interface Call {
  readonly until: number;
  readonly socket: Socket;
  readonly end: (answer: Answer) => void;
  isOver: boolean;
}

/** Connections come from a hundred addresses: when most ports of one rest after their connections, the system looks for another one for seconds. */
let opened = 0;

const idle: Socket[] = [];
/** In the order of their ends, since all callers have the same patience. */
const calls: Call[] = [];
const underWay = new WeakMap<Socket, Call>();
const lookEveryMs = 5;
/** What `Retry-After` of the server says. */
const restMs = 1_000;

function open(): Socket {
  const local = hostname === '127.0.0.1' && { localAddress: `127.0.0.${2 + (opened++ % 100)}` };
  const socket = connect({ port: Number(port), host: hostname, noDelay: true, ...local });
  socket.on('data', (data) => {
    // Answers are so small that they come in one piece.
    const text = data.toString('latin1');
    const isRefused = /^HTTP\/1.1 (429|503)/.test(text) || text.includes('UNAVAILABLE');
    const isClosing = /^connection: close/im.test(text);
    end(socket, text.includes('Payload"') ? 'done' : isRefused ? 'refused' : 'failed');
    if (isClosing) socket.destroy();
    else idle.push(socket);
  });
  socket.on('error', () => {});
  socket.on('close', () => end(socket, 'failed'));
  return socket;
}

function end(socket: Socket, answer: Answer): void {
  const call = underWay.get(socket);
  if (call === undefined || call.isOver) return;
  call.isOver = true;
  call.end(answer);
}

setInterval(() => {
  const now = performance.now();
  const first = calls.findIndex(({ until }) => until > now);
  for (const { isOver, socket } of calls.splice(0, first === -1 ? calls.length : first)) {
    if (isOver) continue;
    end(socket, 'late');
    socket.destroy();
  }
}, lookEveryMs).unref();

function call(): Promise<Answer> {
  let socket = idle.pop();
  while (socket?.destroyed) socket = idle.pop();
  return new Promise((end) => {
    const call = { until: performance.now() + limitMs, socket: socket ?? open(), end, isOver: false };
    underWay.set(call.socket, call);
    calls.push(call);
    call.socket.write(messages[sent++ % messages.length] as Buffer);
  });
}

/** What came of the calls that began in one course. */
export interface Course {
  /** How many calls were carried out in time in each second. */
  readonly done: readonly number[];
  /** How many calls, repeats included, ended how. */
  readonly ends: Readonly<Record<Answer, number>>;
  /** The time of the calls that were carried out. */
  readonly p99Ms: number;
  /** How much of one processor the callers took. */
  readonly processor: number;
}

async function course(
  seconds: number,
  load: (made: () => Promise<Answer>) => Promise<void>,
): Promise<Course> {
  const done = Array.from({ length: seconds }, () => 0);
  const ends = { done: 0, refused: 0, failed: 0, late: 0 };
  const times = new Histogram();
  const from = performance.now();
  const before = process.cpuUsage();
  const counted = async () => {
    const startedAt = performance.now();
    const answer = await call();
    const now = performance.now();
    const second = Math.floor((now - from) / 1_000);
    if (second >= seconds) return answer;
    ends[answer]++;
    if (answer !== 'done') return answer;
    times.add(now - startedAt);
    done[second] = (done[second] ?? 0) + 1;
    return answer;
  };
  await load(counted);
  const { user, system } = process.cpuUsage(before);
  const processor = (user + system) / 1_000 / (performance.now() - from);
  return { done, ends, p99Ms: times.quantile(0.99), processor };
}

/** A call and its repeat: at once by a caller that has given up, after a rest by one that was refused. */
async function persist(call: () => Promise<Answer>): Promise<void> {
  const answer = await call();
  if (answer === 'done') return;
  if (answer !== 'late') await delay(restMs);
  await call();
}

const methods = {
  /** So many callers ask again as soon as they have their answer. */
  closed: (callers: number, seconds: number): Promise<Course> =>
    course(seconds, async (call) => {
      const until = performance.now() + seconds * 1_000;
      const loop = async () => {
        while (performance.now() < until) if ((await call()) !== 'done') await delay(lookEveryMs);
      };
      await Promise.all(Array.from({ length: callers }, loop));
    }),

  /** So many new calls a second. */
  open: (rate: number, seconds: number): Promise<Course> =>
    course(seconds, async (call) => {
      const from = performance.now();
      let begun = 0;
      for (let ms = 0; ms < seconds * 1_000; ms = performance.now() - from) {
        for (; begun < (rate * ms) / 1_000; begun++) void persist(call);
        await delay(lookEveryMs);
      }
    }),
};

export type ImpatientMethods = typeof methods;

serve(methods);
