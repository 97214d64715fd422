/** Subscribers in several processes, so that the server is the bottleneck. */
import { readFileSync } from 'node:fs';
import type { Commit } from './checks.ts';
import { type Remote, startService } from './child.ts';
import type { SubscribersMethods } from './children/subscribers.ts';
import { Histogram } from './histogram.ts';
import type { SubscribersTask, Watching } from './task.ts';

const perProcess = 2_500;
/** Open files that a process needs besides its connections. */
const otherFiles = 200;

export interface Received {
  readonly events: number;
  readonly bytes: number;
  /** CPU time of the subscribers' processes. */
  readonly cpuMs: number;
}

interface Member {
  readonly ask: Remote<SubscribersMethods>;
  readonly stop: () => Promise<void>;
  size: number;
}

export class Fleet {
  readonly #url: string;
  readonly #members: Member[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  get size(): number {
    return this.#members.reduce((sum, { size }) => sum + size, 0);
  }

  get processes(): number {
    return this.#members.length;
  }

  /** Opens connections until there are `size` of them. */
  async grow(size: number): Promise<void> {
    checkOpenFiles(size);
    while (this.size < size) {
      let member = this.#members.at(-1);
      if (member === undefined || member.size === perProcess) {
        const task: SubscribersTask = { url: this.#url, first: this.size };
        member = { ...(await startService<SubscribersMethods>('subscribers', task)), size: 0 };
        this.#members.push(member);
      }
      const more = Math.min(size - this.size, perProcess - member.size);
      await member.ask.connect(more);
      member.size += more;
    }
  }

  /** Makes each subscriber watch one of these jobs instead of what it watched before; without jobs, none watches anything. */
  async watch(watching: Watching): Promise<void> {
    await this.#all((ask) => ask.watch(watching));
  }

  async record(): Promise<void> {
    await this.#all((ask) => ask.record());
  }

  async pause(): Promise<void> {
    await this.#all((ask) => ask.pause());
  }

  /** What all subscribers have received so far. */
  async received(): Promise<Received> {
    const parts = await this.#all((ask) => ask.received());
    const sum = (read: (part: Received) => number) => parts.reduce((sum, part) => sum + read(part), 0);
    return {
      events: sum((one) => one.events),
      bytes: sum((one) => one.bytes),
      cpuMs: sum((one) => one.cpuMs),
    };
  }

  async latency(commits: readonly (readonly Commit[])[], since: number, until: number) {
    const all = { event: new Histogram(), change: new Histogram(), missed: 0 };
    for (const part of await this.#all((ask) => ask.latency(commits, since, until))) {
      all.event.merge(part.event);
      all.change.merge(part.change);
      all.missed += part.missed;
    }
    return all;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.splice(0).map(({ stop }) => stop()));
  }

  #all<T>(ask: (member: Member['ask']) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#members.map((member) => ask(member.ask)));
  }
}

/** The server has the same limit as this process, which Node has raised as far as it can. */
function checkOpenFiles(sockets: number): void {
  const limit = openFilesLimit();
  if (limit < sockets + otherFiles) {
    throw new Error(
      `${sockets} subscribers need ${sockets + otherFiles} open files, but a process may have only ${limit}: raise the limit (ulimit -Hn), or use fewer --subscribers.`,
    );
  }
}

function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const limit = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
