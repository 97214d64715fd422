/** GraphiQL with what a newcomer wants to try first. All of it comes from this server: it works offline. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { YogaServerOptions } from 'graphql-yoga';
import { asksForPage } from './origin.ts';

const createJob = `# 1. Create a job with a few items. Run it with the play button, then copy the id.
mutation CreateJob {
  createJob(
    input: {
      type: "hello"
      sealed: true
      items: [{ payload: { name: "Ada" } }, { payload: { name: "Grace" } }, { payload: { name: "Edsger" } }]
    }
  ) {
    ... on CreateJobPayload {
      job { id type progress { message itemCount } }
    }
    ... on Error { code field message }
  }
}
`;

const watch = `# 2. Watch it: put the job's id below. This goes on until the job is complete.
subscription Watch($jobId: ID!) {
  jobProgress(jobId: $jobId) {
    message
    percent
    itemProgress
    itemCount
    succeeded
    failed
  }
}
`;

const work = `# 3. Be the worker: claim items, then report what came out, with the ids of the assignments.
mutation Claim {
  claimItems(input: { worker: "me", requests: [{ type: "hello", limit: 2 }] }) {
    ... on ClaimItemsPayload {
      assignments { id attempt payload }
    }
    ... on Error { code field message }
  }
}

mutation Report($assignmentId: ID!) {
  reportOutcomes(input: { reports: [{ assignmentId: $assignmentId, result: "Hello!" }] }) {
    ... on ReportOutcomesPayload {
      entries { assignmentId status error { field message } }
    }
    ... on Error { code field message }
  }
}
`;

const explore = `# 4. Look around.
query Jobs {
  jobs(first: 10) {
    nodes {
      id
      type
      createdAt
      progress { status percent itemProgress itemCount failed }
      children { id type }
    }
  }
}

query Items($jobId: ID!) {
  job(id: $jobId) {
    items(first: 20) {
      edges { node { id status payload result failures { attempt code message } } }
    }
  }
}
`;

export const graphiqlOptions = {
  title: 'jobtree',
  defaultTabs: [
    { query: createJob },
    { query: watch, variables: '{ "jobId": "Job:…" }' },
    { query: work, variables: '{ "assignmentId": "Assignment:…" }' },
    { query: explore, variables: '{ "jobId": "Job:…" }' },
  ],
} satisfies NonNullable<YogaServerOptions<object, object>['graphiql']>;

export interface Page {
  /** Whether the request asks for it. There is nothing in it that not everybody may know. */
  isFor(request: IncomingMessage): boolean;
  /** Answers the request if it asks for the page, and says whether it did. */
  answers(request: IncomingMessage, response: ServerResponse): boolean;
}

/**
 * Nine megabytes of page: made when somebody first asks for it, sent compressed, and only once to a browser that keeps it.
 * No other page may show it in a frame, where a click meant for that page could be led to its buttons.
 */
export function createGraphiQL(options: {
  endpoint: string;
  isShown: boolean;
  /** Whether what it asks for needs the headers that one gives it, which it sends with requests alone. */
  needsHeaders: boolean;
}): Page {
  const { endpoint, isShown, needsHeaders } = options;
  let page: ReturnType<typeof makePage> | undefined;
  let unpacked: Promise<Buffer> | undefined;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    page ??= makePage(needsHeaders ? 'SSE' : 'WS');
    // Asked for again, it is made again.
    page.catch(() => {
      page = undefined;
    });
    const { packed, tag } = await page;
    response.setHeader('etag', tag).setHeader('cache-control', 'no-cache');
    response.setHeader('vary', 'accept, accept-encoding');
    response
      .setHeader('content-security-policy', "frame-ancestors 'none'")
      .setHeader('x-frame-options', 'DENY');
    if (request.headers['if-none-match']?.includes(tag)) {
      response.writeHead(304).end();
      return;
    }
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const takesPacked = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    if (takesPacked) response.setHeader('content-encoding', 'gzip');
    // One for all, or each who asks would take nine megabytes.
    if (!takesPacked) unpacked ??= promisify(gunzip)(packed);
    response.end(takesPacked ? packed : await unpacked);
  };

  const isFor = (request: IncomingMessage) =>
    isShown &&
    request.method === 'GET' &&
    request.url?.split('?', 1)[0]?.replace(/\/$/, '') === endpoint &&
    asksForPage(request.headers);

  return {
    isFor,
    answers(request, response) {
      if (!isFor(request)) return false;
      answer(request, response).catch(() => response.destroy());
      return true;
    },
  };
}

async function makePage(subscriptionsProtocol: 'SSE' | 'WS'): Promise<{ packed: Buffer; tag: string }> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({ ...graphiqlOptions, subscriptionsProtocol });
  const tag = `"${createHash('sha256').update(html).digest('base64url')}"`;
  return { packed: await promisify(gzip)(html), tag };
}
