/**
 * Those who watch while everything fails: the client's own watches, the very code of the documentation, and a plain
 * client that believes whatever it is told. Each says when it is shown something older than before.
 */
import { createClient as createGraphqlWs } from 'graphql-ws';
import { WebSocket } from 'ws';
import { type Client, createClient } from '../../src/client/index.ts';
import { stepsIn } from '../support/api.ts';
import { bundle } from '../support/bundle.ts';
import { watchingExample } from '../support/documentation.ts';
import { Witness } from '../support/witness.ts';

export const kinds = ['tree', 'job', 'graphql-ws', 'graphql-sse', 'plain'] as const;
export type Kind = (typeof kinds)[number];

/** Subscribers of one client of ours share its socket. */
const subscribersPerSocket = 10;

export interface Watcher {
  readonly kind: Kind;
  /** Whether it changes its server every second. */
  readonly roams: boolean;
  readonly url: string;
  /** The job, or the root of the tree. */
  readonly jobId: string;
  /** How much it knows: the steps of its revision, for a tree the sum over its jobs. */
  known: number;
  /** The longest time without anything new since this was set to 0. */
  silentMs: number;
  /** When it was shown something new. */
  shownAt: number;
  /** The final state: a tree, a job, or what the example shows. */
  ended: Promise<unknown>;
}

type Show = (event: { jobProgress: any } | { jobTreeProgress: any }, steps: number) => void;
type Follow = (url: string, jobId: string, show: Show) => Promise<unknown>;

export class Watchers {
  readonly all: Watcher[] = [];
  readonly problems: string[] = [];
  readonly #clients: { url: string; client: Client; subscribers: number }[] = [];

  watch(options: { kind: Kind; roams: boolean; url: string; jobId: string }): void {
    const { kind, roams, url, jobId } = options;
    const name = `${kind} ${this.all.length}${roams ? ', roaming' : ''}`;
    const witness = new Witness();
    const watcher: Watcher = {
      kind,
      roams,
      url,
      jobId,
      known: 0,
      silentMs: 0,
      shownAt: performance.now(),
      ended: Promise.resolve(),
    };
    const show: Show = (data, steps) => {
      try {
        witness.see({ data });
      } catch (error) {
        this.problems.push(`${name}: ${(error as Error).message}`);
      }
      if (steps < watcher.known) this.problems.push(`${name} went back from ${watcher.known} to ${steps}`);
      const now = performance.now();
      watcher.silentMs = Math.max(watcher.silentMs, now - watcher.shownAt);
      watcher.known = steps;
      watcher.shownAt = now;
    };
    this.all.push(watcher);
    watcher.ended = this.#follow[kind](url, jobId, show);
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map(({ client }) => client.close()));
  }

  readonly #follow: Record<Kind, Follow> = {
    tree: async (url, rootId, show) => {
      let last: unknown;
      for await (const jobTreeProgress of this.#client(url).watchTree(rootId)) {
        const steps = jobTreeProgress.jobs.reduce((sum, { revision }) => sum + stepsIn(revision), 0);
        show({ jobTreeProgress }, steps);
        last = jobTreeProgress;
      }
      return last;
    },
    job: async (url, jobId, show) => {
      let last: unknown;
      for await (const jobProgress of this.#client(url).watchJob(jobId)) {
        show({ jobProgress }, stepsIn(jobProgress.revision));
        last = jobProgress;
      }
      return last;
    },
    'graphql-ws': (url, jobId, show) => followExample('graphql-ws', url.replace('http', 'ws'), jobId, show),
    'graphql-sse': (url, jobId, show) => followExample('graphql-sse', url, jobId, show),
    plain: followPlainly,
  };

  #client(url: string): Client {
    let shared = this.#clients.find((each) => each.url === url && each.subscribers < subscribersPerSocket);
    if (shared === undefined) {
      shared = { url, client: createClient({ url }), subscribers: 0 };
      this.#clients.push(shared);
    }
    shared.subscribers++;
    return shared.client;
  }
}

async function followExample(name: Kind, url: string, jobId: string, show: Show): Promise<unknown> {
  const { code } = await bundle({ main: watchingExample(name) }, 'node');
  const { follow } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  let shown: unknown;
  const showAll = (message: string, percent: number | null) => {
    const status = statusOf(message, percent);
    show({ jobProgress: { status, itemProgress: percent ?? 0 } }, stepsShown(message, percent));
    shown = [message, percent];
  };
  await follow(url, jobId, showAll, { webSocketImpl: WebSocket });
  return shown;
}

const statusOf = (message: string, percent: number | null) =>
  percent === 100 ? 'COMPLETED' : message.startsWith('Waiting') ? 'WAITING' : 'RUNNING';

/** Until the job is sealed the message has the counts, and the job has one step besides: it has begun. */
function stepsShown(message: string, percent: number | null): number {
  if (percent !== null) return 1e9 + percent;
  const [, done, of] = /(\d+) of (\d+) items/.exec(message.replaceAll(',', '')) ?? [];
  return of === undefined ? 0 : Number(done) + Number(of) + 1;
}

const query = `subscription ($id: ID!, $last: String) {
  jobProgress(jobId: $id, sinceRevision: $last) { jobId status itemCount itemProgress succeeded revision }
}`;

/** Says what it knows, and drops nothing: no server may tell it anything older. */
async function followPlainly(url: string, jobId: string, show: Show): Promise<unknown> {
  const client = createGraphqlWs({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });
  let last: any = null;
  while (last?.status !== 'COMPLETED') {
    try {
      const variables = { id: jobId, last: last?.revision ?? null };
      for await (const { data } of client.iterate<any>({ query, variables })) {
        if (data == null) break;
        last = data.jobProgress;
        show(data, stepsIn(last.revision));
      }
    } catch {
      // The connection was lost, or the server refuses for now.
    }
    await new Promise((resolve) => setTimeout(resolve, 100 + 100 * Math.random()));
  }
  await client.dispose();
  return last;
}
