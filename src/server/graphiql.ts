/** GraphiQL with what a newcomer wants to try first. All of it comes from this server: it works offline. */
import type { YogaServerOptions } from 'graphql-yoga';

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
  subscriptionsProtocol: 'WS',
  defaultTabs: [
    { query: createJob },
    { query: watch, variables: '{ "jobId": "Job:…" }' },
    { query: work, variables: '{ "assignmentId": "Assignment:…" }' },
    { query: explore, variables: '{ "jobId": "Job:…" }' },
  ],
} satisfies NonNullable<YogaServerOptions<object, object>['graphiql']>;

/** Nine megabytes of page: loaded when somebody first asks for it. */
export const renderGraphiQL: NonNullable<YogaServerOptions<object, object>['renderGraphiQL']> = async (
  options,
) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(options);
