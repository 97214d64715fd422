/** Every operation that the client sends. The types of variables and results are generated from them (codegen.ts). */
import type { ExchangePartsMutationVariables } from '../generated/graphql/graphql.ts';
import { graphql } from '../generated/graphql/index.ts';

export const createJob = graphql(`
  mutation CreateJob($input: JobInput!) {
    createJob(input: $input) {
      ... on CreateJobPayload { created job { id } }
      ... on Error { code message field }
    }
  }
`);

export const addItems = graphql(`
  mutation AddItems($input: AddItemsInput!, $all: Boolean!) {
    addItems(input: $input) {
      ... on AddItemsPayload {
        added duplicates invalid
        entries(all: $all) { index @skip(if: $all) status itemId error { message } }
      }
      ... on Error { code message field }
    }
  }
`);

export const sealJob = graphql(`
  mutation SealJob($input: SealJobInput!) {
    sealJob(input: $input) {
      ... on SealJobPayload { job { progress { ...ProgressFields } } }
      ... on Error { code message field }
    }
  }
`);

export const cancelJob = graphql(`
  mutation CancelJob($input: CancelJobInput!) {
    cancelJob(input: $input) {
      ... on CancelJobPayload { job { id } }
      ... on Error { code message field }
    }
  }
`);

export const cancelItems = graphql(`
  mutation CancelItems($input: CancelItemsInput!) {
    cancelItems(input: $input) {
      ... on CancelItemsPayload { operation { ...OperationFields } }
      ... on Error { code message field }
    }
  }
`);

export const updateItem = graphql(`
  mutation UpdateItem($input: UpdateItemInput!) {
    updateItem(input: $input) {
      ... on UpdateItemPayload { item { ...ItemFields } }
      ... on Error { code message field }
      ... on ItemNotUpdatableError { reason }
    }
  }
`);

export const setRetention = graphql(`
  mutation SetRetention($input: SetRetentionInput!) {
    setRetention(input: $input) {
      ... on SetRetentionPayload { job { ...JobFields } }
      ... on Error { code message field }
    }
  }
`);

export const createWatchToken = graphql(`
  mutation CreateWatchToken($input: CreateWatchTokenInput!) {
    createWatchToken(input: $input) {
      ... on CreateWatchTokenPayload { token expiresAt }
      ... on Error { code message field }
    }
  }
`);

export const revokeWatchTokens = graphql(`
  mutation RevokeWatchTokens($input: RevokeWatchTokensInput!) {
    revokeWatchTokens(input: $input) {
      ... on RevokeWatchTokensPayload { revokedAt }
      ... on Error { code message field }
    }
  }
`);

export const deleteJob = graphql(`
  mutation DeleteJob($input: DeleteJobInput!) {
    deleteJob(input: $input) {
      ... on DeleteJobPayload { deleted }
      ... on Error { code message field }
    }
  }
`);

export const replayDeadLetters = graphql(`
  mutation ReplayDeadLetters($input: ReplayDeadLettersInput!) {
    replayDeadLetters(input: $input) {
      ... on ReplayDeadLettersPayload { operation { ...OperationFields } }
      ... on Error { code message field }
    }
  }
`);

export const discardDeadLetters = graphql(`
  mutation DiscardDeadLetters($input: DiscardDeadLettersInput!) {
    discardDeadLetters(input: $input) {
      ... on DiscardDeadLettersPayload { operation { ...OperationFields } }
      ... on Error { code message field }
    }
  }
`);

export const noteDeadLetters = graphql(`
  mutation NoteDeadLetters($input: NoteDeadLettersInput!) {
    noteDeadLetters(input: $input) {
      ... on NoteDeadLettersPayload { group { id } }
      ... on Error { code message field }
    }
  }
`);

export const cancelOperation = graphql(`
  mutation CancelOperation($input: CancelOperationInput!) {
    cancelOperation(input: $input) {
      ... on CancelOperationPayload { operation { ...OperationFields } }
      ... on Error { code message field }
    }
  }
`);

export const operation = graphql(`
  query Operation($id: ID!) { node(id: $id) { ... on Operation { ...OperationFields } } }
`);

export const deadLetterGroups = graphql(`
  query DeadLetterGroups($types: [String!], $first: Int) {
    deadLetterGroups(types: $types, first: $first) {
      id type code pattern count firstAt lastAt note notedAt example { id job { id } }
    }
  }
`);

export const deadLetterGroup = graphql(`
  query DeadLetterGroup($id: ID!, $first: Int) {
    node(id: $id) {
      ... on DeadLetterGroup {
        id type code pattern count firstAt lastAt note notedAt
        items(first: $first) { ...ItemFields job { id type } }
      }
    }
  }
`);

export const deadLetterDigest = graphql(`
  query DeadLetterDigest($since: DateTime!, $types: [String!], $first: Int) {
    deadLetterDigest(since: $since, types: $types, first: $first) {
      count group { id type code pattern count firstAt lastAt note notedAt }
    }
  }
`);

export const deadLetterCount = graphql(`
  query DeadLetterCount($filter: DeadLetterFilter!) { deadLetterCount(filter: $filter) }
`);

export const pendingItemCount = graphql(`
  query PendingItemCount($filter: PendingItemFilter!) { pendingItemCount(filter: $filter) }
`);

/** Fragments are known by their names; nothing else uses these constants. */
export const operationFields = graphql(`
  fragment OperationFields on Operation { id kind status total done requestedAt finishedAt }
`);

export const progressFields = graphql(`
  fragment ProgressFields on JobProgress {
    jobId status message itemCount itemProgress succeeded failed cancelled percent sealed revision startedAt completedAt outcome cancelReason completions
  }
`);

export const jobFields = graphql(`
  fragment JobFields on Job {
    id type root { id } parent { id } depth dedupeKey priority runAt maxFailuresPerItem backoffMs backoffJitter
    heartbeatIntervalMs toleratedFailureCount toleratedFailurePercentage serializeOnFailure finalStage feed waitsForJobs createdAt sealedAt failedAt
    cancelledAt cancelReason retentionSeconds reapAt idleExpirySeconds idleSince occurrence { schedule at } treeOutcome progress { ...ProgressFields }
  }
`);

export const itemFields = graphql(`
  fragment ItemFields on JobItem {
    id status payload result failureCount failures { attempt code message worker at }
    priority runAt retryAt dedupeKey serializeKey blockedBy { id } createdAt finishedAt assignment { id worker attempt claimedAt heartbeatAt deadlineAt }
  }
`);

export const job = graphql(`
  query Job($id: ID!) {
    job(id: $id) {
      ...JobFields children { id } after { id } callbacks { endpoint on } deletion { requestedAt reaped itemCount deletedItems }
      import { status uploadId format size bytesRead items badLines startedAt finishedAt error { code message } }
    }
  }
`);

export const jobs = graphql(`
  query Jobs($filter: JobFilter, $order: JobOrder, $first: Int, $after: String) {
    jobs(filter: $filter, order: $order, first: $first, after: $after) {
      edges { node { ...JobFields } }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const items = graphql(`
  query Items($jobId: ID!, $status: ItemStatus, $first: Int, $after: String) {
    job(id: $jobId) {
      items(status: $status, first: $first, after: $after) {
        edges { node { ...ItemFields } }
        pageInfo { endCursor hasNextPage }
      }
    }
  }
`);

export const results = graphql(`
  query Results($jobId: ID!, $first: Int, $after: String) {
    job(id: $jobId) {
      results(first: $first, after: $after) {
        edges { node { id payload result } }
        pageInfo { endCursor hasNextPage }
      }
    }
  }
`);

export const scheduleFields = graphql(`
  fragment ScheduleFields on Schedule {
    name cron timeZone everyMs startAt missed overlap template createdAt changedAt pausedAt nextAt nextOccurrences queued
    lastOccurrenceAt lastJob { id progress { status } } lastSkip { at reason } lastFailure { at message } behindMs
  }
`);

export const schedule = graphql(`
  query Schedule($name: String!) {
    schedule(name: $name) { ...ScheduleFields }
  }
`);

export const schedules = graphql(`
  query Schedules($first: Int, $after: String) {
    schedules(first: $first, after: $after) {
      edges { node { ...ScheduleFields } }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const putSchedule = graphql(`
  mutation PutSchedule($input: ScheduleInput!) {
    putSchedule(input: $input) {
      ... on PutSchedulePayload { created changed schedule { ...ScheduleFields } }
      ... on Error { code message field }
    }
  }
`);

export const syncSchedules = graphql(`
  mutation SyncSchedules($input: SyncSchedulesInput!) {
    syncSchedules(input: $input) {
      ... on SyncSchedulesPayload { created changed deleted }
      ... on Error { code message field }
    }
  }
`);

export const pauseSchedule = graphql(`
  mutation PauseSchedule($input: PauseScheduleInput!) {
    pauseSchedule(input: $input) {
      ... on PauseSchedulePayload { schedule { ...ScheduleFields } }
      ... on Error { code message field }
    }
  }
`);

export const resumeSchedule = graphql(`
  mutation ResumeSchedule($input: ResumeScheduleInput!) {
    resumeSchedule(input: $input) {
      ... on ResumeSchedulePayload { schedule { ...ScheduleFields } }
      ... on Error { code message field }
    }
  }
`);

export const runSchedule = graphql(`
  mutation RunSchedule($input: RunScheduleInput!) {
    runSchedule(input: $input) {
      ... on RunSchedulePayload { job { id } }
      ... on Error { code message field }
    }
  }
`);

export const skipOccurrence = graphql(`
  mutation SkipOccurrence($input: SkipOccurrenceInput!) {
    skipOccurrence(input: $input) {
      ... on SkipOccurrencePayload { skipped schedule { ...ScheduleFields } }
      ... on Error { code message field }
    }
  }
`);

export const deleteSchedule = graphql(`
  mutation DeleteSchedule($input: DeleteScheduleInput!) {
    deleteSchedule(input: $input) {
      ... on DeleteSchedulePayload { name }
      ... on Error { code message field }
    }
  }
`);

export const claimItem = graphql(`
  mutation ClaimItem($input: ClaimItemInput!) {
    claimItem(input: $input) {
      ... on ClaimItemPayload { assignment { id itemId jobId type attempt payload heartbeatIntervalMs } }
      ... on Error { code message field }
      ... on ItemNotClaimableError { reason }
    }
  }
`);

/**
 * What a worker sends nearly always: outcomes, and how many items it has room for, in one transaction. The text goes out with every
 * exchange, so it is short.
 */
export const exchange = graphql(
  `mutation Exchange($input: ExchangeInput!) { exchange(input: $input) { ... on ExchangePayload { reported { entries(all: false) { index status retryAt error { message field } } } assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes claimError { code message field } } ... on Error { code message field } } }`,
);

/** The parts of an exchange where one has nothing to say, and items to give back. */
export const exchangeParts = graphql(`
  mutation ExchangeParts(
    $reports: ReportOutcomesInput = { reports: [] }, $withReports: Boolean!
    $releases: ReleaseAssignmentsInput = { assignmentIds: [] }, $withReleases: Boolean!
    $claims: ClaimItemsInput = { worker: "", requests: [] }, $withClaims: Boolean!
  ) {
    reportOutcomes(input: $reports) @include(if: $withReports) {
      ... on ReportOutcomesPayload { entries(all: false) { index status retryAt error { message field } } }
      ... on Error { code message field }
    }
    releaseAssignments(input: $releases) @include(if: $withReleases) {
      ... on ReleaseAssignmentsPayload { entries { status error { message } } }
      ... on Error { code message field }
    }
    claimItems(input: $claims) @include(if: $withClaims) {
      ... on ClaimItemsPayload { assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes }
      ... on Error { code message field }
    }
  }
`);

export const queueFields = graphql(`
  fragment QueueFields on Queue {
    type ready scheduled waiting blocked running oldestReadyMs paused concurrency rate { limit intervalMs } lifetimeMs
    deadLetterAlert { endpoint count intervalMs } alertedAt
    priority maxFailuresPerItem backoffMs backoffJitter heartbeatIntervalMs
  }
`);

export const setQueue = graphql(`
  mutation SetQueue($input: SetQueueInput!) {
    setQueue(input: $input) {
      ... on SetQueuePayload { queue { ...QueueFields } }
      ... on Error { code message field }
    }
  }
`);

export const queue = graphql(`
  query Queue($type: String!) {
    queue(type: $type) { ...QueueFields }
  }
`);

export const queues = graphql(`
  query Queues($types: [String!], $first: Int, $after: String) {
    queues(types: $types, first: $first, after: $after) { ...QueueFields }
  }
`);

export const typesWithSchemas = graphql(`
  query TypesWithSchemas {
    typesWithSchemas
  }
`);

export const typeSchemas = graphql(`
  query TypeSchemas($type: String!) {
    typeSchemas(type: $type) { type version payload result createdAt }
  }
`);

export const putTypeSchema = graphql(`
  mutation PutTypeSchema($input: PutTypeSchemaInput!) {
    putTypeSchema(input: $input) {
      ... on PutTypeSchemaPayload { created }
      ... on Error { code message field }
    }
  }
`);

export const deleteTypeSchema = graphql(`
  mutation DeleteTypeSchema($input: DeleteTypeSchemaInput!) {
    deleteTypeSchema(input: $input) {
      ... on DeleteTypeSchemaPayload { deleted }
      ... on Error { code message field }
    }
  }
`);

export const queueFigures = graphql(`
  query QueueFigures($types: [String!], $first: Int, $after: String, $lastMinutes: Int) {
    queues(types: $types, first: $first, after: $after) {
      ...QueueFields
      slow slowAfterMs
      figures(lastMinutes: $lastMinutes) {
        from until claimed succeeded failed lost dead deadRate perSecond
        wait { count p50Ms p95Ms p99Ms } processing { count p50Ms p95Ms p99Ms }
      }
    }
  }
`);

export const heldItems = graphql(`
  query HeldItems($types: [String!], $workers: [String!], $slowOnly: Boolean, $first: Int) {
    heldItems(types: $types, workers: $workers, slowOnly: $slowOnly, first: $first) {
      assignmentId itemId type worker attempt claimedAt heartbeatAt heldMs slow
    }
  }
`);

export const workers = graphql(`
  query Workers($types: [String!], $first: Int, $after: String) {
    workers(types: $types, first: $first, after: $after) {
      name version types { type concurrency holds } connectedAt seenAt
    }
  }
`);

export const endpointFields = graphql(`
  fragment EndpointFields on CallbackEndpoint { name url createdAt previousSecretUntil goneAt }
`);

export const deliveryFields = graphql(`
  fragment DeliveryFields on CallbackDelivery {
    id messageId endpoint event status rootId body createdAt dueAt deliveredAt failedAt attemptCount
    attempts { at tookMs statusCode error }
  }
`);

export const putCallbackEndpoint = graphql(`
  mutation PutCallbackEndpoint($input: PutCallbackEndpointInput!) {
    putCallbackEndpoint(input: $input) {
      ... on PutCallbackEndpointPayload { secret endpoint { ...EndpointFields } }
      ... on Error { code message field }
    }
  }
`);

export const rotateCallbackSecret = graphql(`
  mutation RotateCallbackSecret($input: RotateCallbackSecretInput!) {
    rotateCallbackSecret(input: $input) {
      ... on RotateCallbackSecretPayload { secret endpoint { ...EndpointFields } }
      ... on Error { code message field }
    }
  }
`);

export const deleteCallbackEndpoint = graphql(`
  mutation DeleteCallbackEndpoint($input: DeleteCallbackEndpointInput!) {
    deleteCallbackEndpoint(input: $input) {
      ... on DeleteCallbackEndpointPayload { name }
      ... on Error { code message field }
    }
  }
`);

export const retryCallbackDelivery = graphql(`
  mutation RetryCallbackDelivery($input: RetryCallbackDeliveryInput!) {
    retryCallbackDelivery(input: $input) {
      ... on RetryCallbackDeliveryPayload { delivery { ...DeliveryFields } }
      ... on Error { code message field }
    }
  }
`);

export const callbackEndpoints = graphql(`
  query CallbackEndpoints($first: Int, $after: String) {
    callbackEndpoints(first: $first, after: $after) { ...EndpointFields }
  }
`);

export const callbackDelivery = graphql(`
  query CallbackDelivery($id: ID!) { node(id: $id) { ... on CallbackDelivery { ...DeliveryFields } } }
`);

export const callbackDeliveries = graphql(`
  query CallbackDeliveries($filter: CallbackDeliveryFilter, $first: Int, $after: String) {
    callbackDeliveries(filter: $filter, first: $first, after: $after) {
      edges { node { ...DeliveryFields } }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const serializeKeys = graphql(`
  query SerializeKeys($first: Int, $keys: [String!]) {
    serializeKeys(first: $first, keys: $keys) { key held blocked head { id job { id type } failureCount assignment { worker } } }
  }
`);

export const heartbeat = graphql(`
  mutation Heartbeat($input: HeartbeatInput!) {
    heartbeat(input: $input) {
      ... on HeartbeatPayload { entries { status error { message } } }
      ... on Error { code message field }
    }
  }
`);

export const jobProgress = graphql(`
  subscription JobProgress($jobId: ID!, $sinceRevision: String) {
    jobProgress(jobId: $jobId, sinceRevision: $sinceRevision) { ...ProgressFields }
  }
`);

export const jobTreeProgress = graphql(`
  subscription JobTreeProgress($rootId: ID!, $sinceRevision: String) {
    jobTreeProgress(rootId: $rootId, sinceRevision: $sinceRevision) { rootId revision openJobs complete outcome jobs { ...ProgressFields } }
  }
`);

export const operationProgress = graphql(`
  subscription OperationProgress($operationId: ID!) {
    operationProgress(operationId: $operationId) { ...OperationFields }
  }
`);

export const workAvailable = graphql(`
  subscription WorkAvailable($types: [String!]!, $worker: WorkerInput) {
    workAvailable(types: $types, worker: $worker) { types }
  }
`);

export type ExchangePartsVariables = ExchangePartsMutationVariables;
