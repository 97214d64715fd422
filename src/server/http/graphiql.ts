/** GraphiQL with examples of what a newcomer tries first. Everything is served from here, so it works offline. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { asksForPage } from './origin.ts';

// Each fits on a screen, and has lines of up to 34 characters, which a phone shows whole.
const createJob = `# 1. Create a job of three items.
# Run it with the button at the
# right, then copy the id.
mutation CreateJob {
  createJob(
    input: {
      type: "hello"
      items: [
        { payload: "Ada" }
        { payload: "Grace" }
        { payload: "Edsger" }
      ]
      sealed: true
    }
  ) {
    ... on CreateJobPayload {
      job {
        id
        progress { itemCount }
      }
    }
    ... on UserError { message }
  }
}
`;

const watch = `# 2. Watch it: put the job's id
# below. It ends when the job is
# complete.
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

const claim = `# 3. Be the worker: claim items,
# and copy the id of one of the
# assignments.
mutation Claim {
  claimItems(
    input: {
      worker: "me"
      requests: [
        { type: "hello", limit: 2 }
      ]
    }
  ) {
    ... on ClaimItemsPayload {
      assignments {
        id
        payload
      }
    }
    ... on UserError { message }
  }
}
`;

const report = `# 4. Report a result, by the id of
# the assignment.
mutation Report($id: ID!) {
  reportOutcomes(
    input: {
      reports: [
        {
          assignmentId: $id
          outcome: { success: {
            result: "Hello!"
          } }
        }
      ]
    }
  ) {
    ... on ReportOutcomesPayload {
      entries {
        status
        error { message }
      }
    }
    ... on UserError { message }
  }
}
`;

const jobs = `# 5. The newest jobs.
query Jobs {
  jobs(first: 10) {
    nodes {
      id
      type
      createdAt
      progress {
        status
        percent
        failed
      }
    }
  }
}
`;

const items = `# 6. The items of a job.
query Items($jobId: ID!) {
  job(id: $jobId) {
    items(first: 20) {
      nodes {
        id
        status
        payload
        result
        failures {
          code
          message
        }
      }
    }
  }
}
`;

export const exampleTabs = [
  { query: createJob },
  { query: watch, variables: '{ "jobId": "Job:…" }' },
  { query: claim },
  { query: report, variables: '{ "id": "Assignment:…" }' },
  { query: jobs },
  { query: items, variables: '{ "jobId": "Job:…" }' },
];

export interface Page {
  /** Whether the request is for the page or one of its files, all of which are public. */
  isFor(request: IncomingMessage): boolean;
  /** Answers the request if it asks for the page or one of its files, and says whether it did. */
  answers(request: IncomingMessage, response: ServerResponse): boolean;
}

/** A file whose content never changes under its name, compressed when the package was built. */
interface Asset {
  readonly type: string;
  readonly packed: Buffer;
  unpacked?: Promise<Buffer>;
}

const assetFolder = join(import.meta.dirname, '../../../dist/graphiql');
const assetTypes: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};
const assetName = /^graphiql-[0-9a-f]{16}\.(js|css)$/;

/** CodeMirror sets inline styles. Everything else must come from this server, and no page may frame this one (clickjacking). */
const contentPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
].join('; ');
const yearS = 31_536_000;

/** Serves a page of a few lines and two files that browsers cache; they are read from disk on the first request. */
export function createGraphiQL(options: { endpoint: string; isShown: boolean }): Page {
  const { endpoint, isShown } = options;
  let loaded: Promise<{ page: string; tag: string; assets: ReadonlyMap<string, Asset> }> | undefined;

  const load = () => {
    loaded ??= readAssets().then((assets) => {
      const page = pageOf(endpoint, [...assets.keys()]);
      return { page, tag: `"${createHash('sha256').update(page).digest('base64url')}"`, assets };
    });
    // After a failure the next request reads the files again.
    loaded.catch(() => {
      loaded = undefined;
    });
    return loaded;
  };

  const pathOf = ({ url }: IncomingMessage) => url?.split('?', 1)[0]?.replace(/\/$/, '') ?? '';
  const assetOf = (request: IncomingMessage) => {
    const path = pathOf(request);
    const name = path.startsWith(`${endpoint}/`) ? path.slice(endpoint.length + 1) : '';
    return assetName.test(name) ? name : undefined;
  };

  const answerPage = async (request: IncomingMessage, response: ServerResponse) => {
    const { page, tag } = await load();
    response.setHeader('etag', tag).setHeader('cache-control', 'no-cache').setHeader('vary', 'accept');
    response.setHeader('content-security-policy', contentPolicy).setHeader('x-frame-options', 'DENY');
    if (request.headers['if-none-match']?.includes(tag)) return response.writeHead(304).end();
    return response.setHeader('content-type', 'text/html; charset=utf-8').end(page);
  };

  const answerAsset = async (name: string, request: IncomingMessage, response: ServerResponse) => {
    const asset = (await load()).assets.get(name);
    // The file of another release: the page that names it is out of date.
    if (asset === undefined) return response.writeHead(404, { 'cache-control': 'no-store' }).end();
    response.setHeader('cache-control', `public, max-age=${yearS}, immutable`);
    response.setHeader('vary', 'accept-encoding').setHeader('x-content-type-options', 'nosniff');
    response.setHeader('content-type', asset.type);
    const takesPacked = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    if (takesPacked) return response.setHeader('content-encoding', 'gzip').end(asset.packed);
    // Unpacked once for everybody, or each request would take megabytes.
    asset.unpacked ??= promisify(gunzip)(asset.packed);
    return response.end(await asset.unpacked);
  };

  const isFor = (request: IncomingMessage) => {
    if (!isShown || request.method !== 'GET') return false;
    if (assetOf(request) !== undefined) return true;
    return pathOf(request) === endpoint && asksForPage(request.headers);
  };

  return {
    isFor,
    answers(request, response) {
      if (!isFor(request)) return false;
      const name = assetOf(request);
      const answered =
        name === undefined ? answerPage(request, response) : answerAsset(name, request, response);
      answered.catch(() => response.destroy());
      return true;
    },
  };
}

async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const files = (await readdir(assetFolder)).filter((file) => file.endsWith('.gz'));
  const assets = files.map(async (file): Promise<[string, Asset]> => {
    const name = file.slice(0, -'.gz'.length);
    const type = assetTypes[name.slice(name.lastIndexOf('.') + 1)] ?? '';
    return [name, { type, packed: await readFile(join(assetFolder, file)) }];
  });
  return new Map(await Promise.all(assets));
}

function pageOf(endpoint: string, assets: readonly string[]): string {
  const link = (ending: string) => `${endpoint}/${assets.find((name) => name.endsWith(ending))}`;
  const tabs = JSON.stringify(exampleTabs).replaceAll('&', '&amp;').replaceAll("'", '&#39;');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>jobtree</title>
<link rel="stylesheet" href="${link('.css')}">
<link rel="icon" href="data:,">
<script src="${link('.js')}" defer></script>
</head>
<body>
<div id="graphiql" data-tabs='${tabs}'></div>
</body>
</html>
`;
}
