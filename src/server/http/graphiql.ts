/** GraphiQL with examples of what a newcomer tries first. Everything is served from here, so it works offline. */
import { createPage, type Page } from './page.ts';

// Each fits on a screen, and has lines of up to 34 characters, which a phone shows whole.
const createJob = `# 1. Create a job of three items.
# Run it with the button at the
# admission, then copy the id.
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

/** CodeMirror sets inline styles. Everything else must come from this server, and no page may frame this one (clickjacking). */
const contentPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
].join('; ');

/** A page of a few lines and two files. */
export function createGraphiQL({ endpoint, isShown }: { endpoint: string; isShown: boolean }): Page {
  return createPage({
    path: endpoint,
    folder: 'graphiql',
    assetName: /^graphiql-[0-9a-f]{16}\.(js|css)$/,
    contentPolicy: () => contentPolicy,
    isShown,
    // With the API's own GET requests.
    sharesPath: true,
    pageOf: (assets) => pageOf(endpoint, [...assets.keys()]),
  });
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
