/**
 * Clients that subscribe to progress, each on its own WebSocket, or each with its own event stream. They do as little as they can, so that the measure is not about
 * them: they count events, and while they record they keep the time and the number of done items of each event.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { Commit } from '../checks.ts';
import { readTask, serve } from '../child.ts';
import { type Counts, Histogram } from '../histogram.ts';
import { inFlight } from '../in-flight.ts';
import type { SubscribersTask, Watching } from '../task.ts';

const { url, first } = readTask<SubscribersTask>();
/** How many connections are opened at the same time. */
const width = 50;
const count = Buffer.from('"itemProgress":');
const streamed = Buffer.from('event: next');

interface Subscriber {
  readonly number: number;
  readonly socket: WebSocket;
  stream?: Socket;
  /** The first bytes of the events that it watches now. */
  head: Buffer;
  seen: boolean;
}

const subscribers: Subscriber[] = [];
let watching: Watching = { jobIds: [], intervalMs: 100 };
let generation = 0;
let unseen = 0;
let allSeen = () => {};
let failed: ((error: Error) => void) | undefined;
let events = 0;
let bytes = 0;
let recording = false;
const recorded: { subscriber: number[]; done: number[]; at: number[] } = { subscriber: [], done: [], at: [] };

const jobOf = (number: number) => number % watching.jobIds.length;

async function open(number: number): Promise<void> {
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', {
    perMessageDeflate: false,
    skipUTF8Validation: true,
  });
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  const subscriber = { number, socket, head: Buffer.alloc(0), seen: true };
  socket.on('message', (data: Buffer) => receive(subscriber, data));
  socket.on('close', (code) => fail(`a connection was closed with ${code}`));
  subscribers.push(subscriber);
}

function receive(subscriber: Subscriber, data: Buffer): void {
  const { head } = subscriber;
  if (head.length === 0 || !head.equals(data.subarray(0, head.length))) {
    receiveOther(data);
    return;
  }
  events++;
  bytes += data.length;
  see(subscriber);
  if (!recording) return;
  let done = 0;
  for (let i = data.indexOf(count) + count.length; ; i++) {
    const digit = (data[i] as number) - 48;
    if (digit < 0 || digit > 9) break;
    done = done * 10 + digit;
  }
  recorded.subscriber.push(subscriber.number);
  recorded.done.push(done);
  recorded.at.push(performance.timeOrigin + performance.now());
}

function see(subscriber: Subscriber): void {
  if (subscriber.seen) return;
  subscriber.seen = true;
  unseen--;
  if (unseen === 0) allSeen();
}

function openStream(subscriber: Subscriber): void {
  const { hostname, port } = new URL(url);
  const stream = connect(Number(port), hostname);
  const body = JSON.stringify(payloadOf(subscriber.number));
  stream.write(
    `POST /graphql HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  stream.on('data', (data: Buffer) => {
    for (let at = data.indexOf(streamed); at >= 0; at = data.indexOf(streamed, at + 1)) {
      events++;
      see(subscriber);
    }
    bytes += data.length;
  });
  stream.on('end', () => fail('an event stream ended'));
  subscriber.stream = stream;
}

/** Ignores events, and the end, of what was watched before. */
function receiveOther(data: Buffer): void {
  const { id, type, payload } = JSON.parse(String(data));
  if (id === String(generation) && type !== 'next') fail(`${type} ${JSON.stringify(payload)}`);
}

function fail(text: string): void {
  const error = new Error(text);
  if (failed === undefined) throw error;
  failed(error);
}

const methods = {
  /** Opens this many more connections. */
  connect: async (more: number): Promise<void> => {
    const from = first + subscribers.length;
    await inFlight(more, width, (i) => open(from + i));
  },

  /** Subscribes each client to one job, instead of what it watched before, and waits for the first events. */
  watch: async (next: Watching): Promise<void> => {
    const before = generation;
    watching = next;
    const isWatching = next.jobIds.length > 0;
    unseen = isWatching ? subscribers.length : 0;
    const seen = new Promise<void>((resolve, reject) => {
      allSeen = resolve;
      failed = reject;
    });
    generation++;
    for (const subscriber of subscribers) {
      const { socket, number } = subscriber;
      if (subscriber.head.length > 0) socket.send(JSON.stringify({ id: String(before), type: 'complete' }));
      subscriber.stream?.destroy();
      subscriber.seen = !isWatching;
      const onSocket = isWatching && next.asStreams !== true;
      subscriber.head = Buffer.from(onSocket ? `{"id":"${generation}","type":"next"` : '');
      if (onSocket) socket.send(operation(number));
      else if (isWatching) openStream(subscriber);
    }
    if (unseen > 0) await seen;
    failed = undefined;
  },

  /** Keeps events from now on, for `latency`. */
  record: (): void => {
    recording = true;
    for (const values of Object.values(recorded)) values.length = 0;
  },

  /** What was received so far, and the CPU time of this process since its start. */
  received: (): { events: number; bytes: number; cpuMs: number } => {
    const { user, system } = process.cpuUsage();
    return { events, bytes, cpuMs: (user + system) / 1000 };
  },

  /** How old commits were when subscribers learned of them, from the recorded events. */
  latency: (commits: readonly (readonly Commit[])[], since: number, until: number): Latency => {
    const latency = { event: new Histogram(), change: new Histogram(), missed: 0 };
    const known = new Map(subscribers.map(({ number }) => [number, 0]));
    const counts = ({ at }: Commit) => at >= since && at <= until;
    for (const [i, number] of recorded.subscriber.entries()) {
      const ofJob = commits[jobOf(number)] ?? [];
      const done = recorded.done[i] as number;
      const at = recorded.at[i] as number;
      let next = known.get(number) as number;
      let newest: Commit | undefined;
      for (; next < ofJob.length && (ofJob[next] as Commit).done <= done; next++) {
        newest = ofJob[next] as Commit;
        if (counts(newest)) latency.change.add(at - newest.at);
      }
      known.set(number, next);
      if (newest !== undefined && counts(newest)) latency.event.add(at - newest.at);
    }
    for (const [number, next] of known) {
      latency.missed += (commits[jobOf(number)] ?? []).slice(next).filter(counts).length;
    }
    return { ...latency, event: latency.event.toJSON(), change: latency.change.toJSON() };
  },

  /** Makes all clients stop reading. */
  pause: (): void => {
    for (const { socket } of subscribers) socket.pause();
  },
};

/** The fields that the client library selects. */
const progress =
  'jobId status message itemCount itemProgress succeeded failed cancelled percent sealed revision startedAt completedAt';

function payloadOf(number: number) {
  const { intervalMs, wholeTree, apart } = watching;
  const name = apart ? `Watch${number}` : 'Watch';
  const field = wholeTree
    ? `jobTreeProgress(rootId: $jobId, intervalMs: $intervalMs) { rootId revision openJobs complete jobs { ${progress} } }`
    : `jobProgress(jobId: $jobId, intervalMs: $intervalMs) { ${progress} }`;
  const query = `subscription ${name}($jobId: ID!, $intervalMs: Int) { ${field} }`;
  const variables = { jobId: watching.jobIds[jobOf(number)], intervalMs };
  return { query, operationName: name, variables };
}

function operation(number: number): string {
  return JSON.stringify({ id: String(generation), type: 'subscribe', payload: payloadOf(number) });
}

export interface Latency {
  /** The age of the newest commit in each event. */
  readonly event: Counts;
  /** The age of each commit when an event first contained it. */
  readonly change: Counts;
  /** How many commits subscribers never learned of. */
  readonly missed: number;
}

export type SubscribersMethods = typeof methods;

serve(methods);
