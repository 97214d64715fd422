/** What an attacker can do, with some rights or none but to reach the port: send what it likes, and not read what comes. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createJob, work } from '../api.ts';
import type { TestDatabase } from '../database.ts';
import { bearer } from '../keys.ts';
import { openRaw, type RawSocket } from '../raw-socket.ts';
import { notTheirs } from './roles.ts';

/** A server, and what is stored in it that makes answers large. */
export interface Target {
  readonly url: string;
  /** The root of a tree of 999 jobs, each fed by a mapping of 7 kB: as much as a request may have. */
  readonly wide: string;
  /** A job with 60 results of a megabyte. */
  readonly large: string;
  /** A job of which one payload is nested 4,098 deep, as older versions took it. */
  readonly deep: string;
}

export async function prepareTarget(url: string, db: TestDatabase): Promise<Target> {
  const payload = Object.fromEntries(
    Array.from({ length: 64 }, (_, i) => [`${i}${'k'.repeat(95)}`, 'result']),
  );
  const wide = await createJob(url, {
    type: 'wide',
    children: Array.from({ length: 998 }, (_, i) => ({ type: `${i} ${'"'.repeat(190)}`, feed: { payload } })),
  });
  const items = Array.from({ length: 60 }, () => ({}));
  const large = await createJob(url, { type: 'large', items });
  for (let i = 0; i < 10; i++) await work(url, 'large', 6, 'x'.repeat(990_000));
  const deep = await createJob(url, { type: 'deep', items: [{}, {}] });
  await db.query('update jobtree.job_item set payload = $2::json where job_id = $1', [
    deep.slice('Job:'.length),
    `${'['.repeat(4_098)}1${']'.repeat(4_098)}`,
  ]);
  return { url, wide, large, deep };
}

/** As whom an attacker comes. */
export interface Role {
  readonly name: string;
  /** A key or a watch token; none for a stranger. */
  readonly token?: string | undefined;
}

export interface Operation {
  readonly query: string;
  /** JSON text, since what makes it hostile could end the stack of whoever writes it. */
  readonly variables?: string;
  readonly operationName?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly location?: string | undefined;
}

/** So long do those hold on who hold what they have. */
const holdMs = { short: 700, long: 20_000 };
/** How long each copy goes on in the long form: a percentile of what bystanders see needs more answers than those of one second. */
const repeatMs = Number(process.env.HOSTILE_SECONDS ?? 5) * 1_000;
const answerTimeoutMs = 60_000;
const most = { copies: 4, answer: 20_000 };

/** Which of the ways the next operation that is to be refused goes first. */
let turn = 0;

export class Attacker {
  readonly target: Target;
  readonly isLong: boolean;
  readonly role: Role;
  readonly #fromManyAddresses: boolean;
  readonly #open = new Set<{ destroy(): unknown }>();
  #addresses = 0;

  constructor(target: Target, options: { role: Role; isLong: boolean; fromManyAddresses: boolean }) {
    this.target = target;
    this.role = options.role;
    this.isLong = options.isLong;
    this.#fromManyAddresses = options.fromManyAddresses;
  }

  get isStranger(): boolean {
    return this.role.token === undefined;
  }

  /** Closes whatever is open, in whichever state. */
  leave(): void {
    for (const one of this.#open) one.destroy();
    this.#open.clear();
  }

  /** Closes this, too, when it leaves. */
  takesAlong(open: { destroy(): unknown }): void {
    this.#open.add(open);
  }

  /** Does it once, or, in the long form, in several copies at once, each again and again. */
  async repeat(action: (copy: number) => Promise<unknown>): Promise<void> {
    const until = performance.now() + (this.isLong ? repeatMs : 0);
    const again = async (copy: number) => {
      do await action(copy);
      while (performance.now() < until);
    };
    await Promise.all(Array.from({ length: this.isLong ? most.copies : 1 }, (_, copy) => again(copy)));
  }

  /** Holds what it has for a while. */
  async hold(): Promise<void> {
    await sleep(this.isLong ? holdMs.long : holdMs.short);
  }

  /** A connection, on which it writes what it likes; it reads only if it is told to. */
  async connect(text: string | Buffer = '', options: { reads?: boolean } = {}): Promise<Socket> {
    const { hostname, port } = new URL(this.target.url);
    const socket = connect(Number(port), hostname).on('error', () => {});
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    await once(socket, 'connect');
    if (options.reads) socket.resume();
    else socket.pause();
    socket.write(text);
    return socket;
  }

  /** Everything that is answered to a text, until the server closes or `length` bytes have come. */
  async say(text: string | Buffer, length = Number.POSITIVE_INFINITY): Promise<string> {
    const socket = await this.connect(text, { reads: true });
    let got = '';
    socket.setEncoding('latin1');
    await new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
      socket.on('data', (chunk: string) => {
        got += chunk;
        if (got.length >= length) resolve();
      });
    });
    socket.destroy();
    return got;
  }

  /** A request over HTTP, and its whole answer; an answer that was cut off has the status 0. */
  post(
    body: string | Buffer,
    options: { headers?: Record<string, string>; method?: string; path?: string } = {},
  ): Promise<Answer> {
    const { headers, method = 'POST', path = '/graphql' } = options;
    return new Promise((resolve) => {
      const cut = () => resolve({ status: 0, text: '' });
      const request = httpRequest(
        new URL(path, this.target.url),
        {
          method,
          agent: false,
          timeout: answerTimeoutMs,
          headers: {
            'content-type': 'application/json',
            accept: 'application/json',
            'content-length': Buffer.byteLength(body),
            ...this.shown(),
            ...headers,
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          const { location } = response.headers;
          response.once('end', () => resolve({ status: response.statusCode ?? 0, text, location }));
          response.once('error', cut);
        },
      );
      request.once('timeout', () => request.destroy());
      request.once('error', cut);
      request.once('close', () => this.#open.delete(request));
      this.#open.add(request);
      request.end(body);
    });
  }

  /** An operation over HTTP. */
  run(operation: Operation, headers?: Record<string, string>): Promise<Answer> {
    return this.post(bodyOf(operation), headers && { headers });
  }

  /** A WebSocket that has said hello: at the second try, if the attacker itself was too busy to say so in time. */
  async socket(): Promise<RawSocket> {
    const open = () => openRaw(this.target.url, { headers: this.shown() });
    const raw = await open().catch((error: Error) => {
      if (error.message.includes('closed with 4408')) return open();
      throw error;
    });
    this.#open.add({ destroy: () => raw.socket.terminate() });
    return raw;
  }

  /** An operation on a socket of its own, and the first answer. */
  async runOnSocket(operation: Operation): Promise<Answer> {
    const raw = await this.socket().catch((error: Error) => error);
    if (raw instanceof Error) return { status: 200, text: raw.message };
    raw.socket.send(`{"id":"1","type":"subscribe","payload":${bodyOf(operation)}}`);
    // Instead of an answer there may be the end of the socket.
    const answer = await raw.until(({ id }) => id === '1').catch((error: Error) => error.message);
    raw.socket.terminate();
    return { status: 200, text: JSON.stringify(answer) };
  }

  /**
   * An operation over HTTP, server-sent events and WebSocket (in the short form over one of them, by turns), which must be
   * refused, cheaply: in few words.
   */
  async refused(operation: Operation, expected = /"errors"|"type":"error"|closed with/): Promise<void> {
    await this.repeat(async () => {
      const ways = [
        () => this.run(operation),
        () => this.run(operation, { accept: 'text/event-stream' }),
        () => this.runOnSocket(operation),
      ];
      const first = turn++ % ways.length;
      for (const way of this.isLong ? ways : ways.slice(first, first + 1)) {
        const { status, text } = await way();
        // When many come at once some are told to come again, which is a refusal too.
        if (status === 429 || status === 503 || status === 0) continue;
        const isExpected = expected.test(text) || (this.role.name !== 'admin' && notTheirs.test(text));
        if (!isExpected || text.length > most.answer || text.includes('"INTERNAL"'))
          throw new Error(`This was to be refused: ${status} ${text.slice(0, 1_000)}`);
      }
    });
  }

  /** Headers that say who it is, and where the request comes from: everything from one place, or each from its own. */
  shown(): Record<string, string> {
    const { token } = this.role;
    const credentials = token === undefined ? {} : bearer(token);
    if (!this.#fromManyAddresses) return credentials;
    const number = ++this.#addresses;
    return { ...credentials, 'x-forwarded-for': `10.0.${number >> 8}.${number & 255}` };
  }

  /** The head of a POST, as text. */
  head(length: number | 'chunked', headers: Record<string, string> = {}): string {
    return [
      'POST /graphql HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      ...Object.entries({ ...this.shown(), ...headers }).map(([name, value]) => `${name}: ${value}`),
      length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
      '\r\n',
    ].join('\r\n');
  }
}

export const bodyOf = ({ query, variables = '{}', operationName }: Operation) =>
  `{"query":${JSON.stringify(query)},"variables":${variables},"operationName":${JSON.stringify(operationName ?? null)}}`;
