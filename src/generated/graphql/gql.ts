/* eslint-disable */
import * as types from './graphql.ts';



/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "\n  mutation CreateJob($input: JobInput!) {\n    createJob(input: $input) {\n      ... on CreateJobPayload { created job { id } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.CreateJobDocument,
    "\n  mutation AddItems($input: AddItemsInput!, $all: Boolean!) {\n    addItems(input: $input) {\n      ... on AddItemsPayload {\n        added duplicates invalid\n        entries(all: $all) { index @skip(if: $all) status itemId error { message } }\n      }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.AddItemsDocument,
    "\n  mutation SealJob($input: SealJobInput!) {\n    sealJob(input: $input) {\n      ... on SealJobPayload { job { progress { ...ProgressFields } } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.SealJobDocument,
    "\n  mutation CancelJob($input: CancelJobInput!) {\n    cancelJob(input: $input) {\n      ... on CancelJobPayload { job { id } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.CancelJobDocument,
    "\n  mutation CancelItems($input: CancelItemsInput!) {\n    cancelItems(input: $input) {\n      ... on CancelItemsPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.CancelItemsDocument,
    "\n  mutation UpdateItem($input: UpdateItemInput!) {\n    updateItem(input: $input) {\n      ... on UpdateItemPayload { item { ...ItemFields } }\n      ... on Error { code message field }\n      ... on ItemNotUpdatableError { reason }\n    }\n  }\n": typeof types.UpdateItemDocument,
    "\n  mutation SetRetention($input: SetRetentionInput!) {\n    setRetention(input: $input) {\n      ... on SetRetentionPayload { job { ...JobFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.SetRetentionDocument,
    "\n  mutation CreateWatchToken($input: CreateWatchTokenInput!) {\n    createWatchToken(input: $input) {\n      ... on CreateWatchTokenPayload { token expiresAt }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.CreateWatchTokenDocument,
    "\n  mutation RevokeWatchTokens($input: RevokeWatchTokensInput!) {\n    revokeWatchTokens(input: $input) {\n      ... on RevokeWatchTokensPayload { revokedAt }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.RevokeWatchTokensDocument,
    "\n  mutation DeleteJob($input: DeleteJobInput!) {\n    deleteJob(input: $input) {\n      ... on DeleteJobPayload { deleted }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.DeleteJobDocument,
    "\n  mutation ReplayDeadLetters($input: ReplayDeadLettersInput!) {\n    replayDeadLetters(input: $input) {\n      ... on ReplayDeadLettersPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.ReplayDeadLettersDocument,
    "\n  mutation DiscardDeadLetters($input: DiscardDeadLettersInput!) {\n    discardDeadLetters(input: $input) {\n      ... on DiscardDeadLettersPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.DiscardDeadLettersDocument,
    "\n  mutation NoteDeadLetters($input: NoteDeadLettersInput!) {\n    noteDeadLetters(input: $input) {\n      ... on NoteDeadLettersPayload { group { id } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.NoteDeadLettersDocument,
    "\n  mutation CancelOperation($input: CancelOperationInput!) {\n    cancelOperation(input: $input) {\n      ... on CancelOperationPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.CancelOperationDocument,
    "\n  query Operation($id: ID!) { node(id: $id) { ... on Operation { ...OperationFields } } }\n": typeof types.OperationDocument,
    "\n  query DeadLetterGroups($types: [String!], $first: Int) {\n    deadLetterGroups(types: $types, first: $first) {\n      id type code pattern count firstAt lastAt note notedAt example { id job { id } }\n    }\n  }\n": typeof types.DeadLetterGroupsDocument,
    "\n  query DeadLetterGroup($id: ID!, $first: Int) {\n    node(id: $id) {\n      ... on DeadLetterGroup {\n        id type code pattern count firstAt lastAt note notedAt\n        items(first: $first) { ...ItemFields job { id type } }\n      }\n    }\n  }\n": typeof types.DeadLetterGroupDocument,
    "\n  query DeadLetterDigest($since: DateTime!, $types: [String!], $first: Int) {\n    deadLetterDigest(since: $since, types: $types, first: $first) {\n      count group { id type code pattern count firstAt lastAt note notedAt }\n    }\n  }\n": typeof types.DeadLetterDigestDocument,
    "\n  query DeadLetterCount($filter: DeadLetterFilter!) { deadLetterCount(filter: $filter) }\n": typeof types.DeadLetterCountDocument,
    "\n  query PendingItemCount($filter: PendingItemFilter!) { pendingItemCount(filter: $filter) }\n": typeof types.PendingItemCountDocument,
    "\n  fragment OperationFields on Operation { id kind status total done requestedAt finishedAt }\n": typeof types.OperationFieldsFragmentDoc,
    "\n  fragment ProgressFields on JobProgress {\n    jobId status message itemCount itemProgress succeeded failed cancelled percent sealed revision startedAt completedAt outcome cancelReason completions\n  }\n": typeof types.ProgressFieldsFragmentDoc,
    "\n  fragment JobFields on Job {\n    id type root { id } parent { id } depth dedupeKey priority runAt maxFailuresPerItem backoffMs backoffJitter\n    heartbeatIntervalMs toleratedFailureCount toleratedFailurePercentage serializeOnFailure finalStage feed waitsForJobs createdAt sealedAt failedAt\n    cancelledAt cancelReason retentionSeconds reapAt idleExpirySeconds idleSince occurrence { schedule at } treeOutcome progress { ...ProgressFields }\n  }\n": typeof types.JobFieldsFragmentDoc,
    "\n  fragment ItemFields on JobItem {\n    id status payload result failureCount failures { attempt code message worker at }\n    priority runAt retryAt dedupeKey serializeKey blockedBy { id } createdAt finishedAt assignment { id worker attempt claimedAt heartbeatAt deadlineAt }\n  }\n": typeof types.ItemFieldsFragmentDoc,
    "\n  query Job($id: ID!) {\n    job(id: $id) {\n      ...JobFields children { id } after { id } callbacks { endpoint on } deletion { requestedAt reaped itemCount deletedItems }\n      import { status uploadId format size bytesRead items badLines startedAt finishedAt error { code message } }\n    }\n  }\n": typeof types.JobDocument,
    "\n  query Jobs($filter: JobFilter, $order: JobOrder, $first: Int, $after: String) {\n    jobs(filter: $filter, order: $order, first: $first, after: $after) {\n      edges { node { ...JobFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n": typeof types.JobsDocument,
    "\n  query Items($jobId: ID!, $status: ItemStatus, $first: Int, $after: String) {\n    job(id: $jobId) {\n      items(status: $status, first: $first, after: $after) {\n        edges { node { ...ItemFields } }\n        pageInfo { endCursor hasNextPage }\n      }\n    }\n  }\n": typeof types.ItemsDocument,
    "\n  query Results($jobId: ID!, $first: Int, $after: String) {\n    job(id: $jobId) {\n      results(first: $first, after: $after) {\n        edges { node { id payload result } }\n        pageInfo { endCursor hasNextPage }\n      }\n    }\n  }\n": typeof types.ResultsDocument,
    "\n  fragment ScheduleFields on Schedule {\n    name cron timeZone everyMs startAt missed overlap template createdAt changedAt pausedAt nextAt nextOccurrences queued\n    lastOccurrenceAt lastJob { id progress { status } } lastSkip { at reason } lastFailure { at message } behindMs\n  }\n": typeof types.ScheduleFieldsFragmentDoc,
    "\n  query Schedule($name: String!) {\n    schedule(name: $name) { ...ScheduleFields }\n  }\n": typeof types.ScheduleDocument,
    "\n  query Schedules($first: Int, $after: String) {\n    schedules(first: $first, after: $after) {\n      edges { node { ...ScheduleFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n": typeof types.SchedulesDocument,
    "\n  mutation PutSchedule($input: ScheduleInput!) {\n    putSchedule(input: $input) {\n      ... on PutSchedulePayload { created changed schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.PutScheduleDocument,
    "\n  mutation SyncSchedules($input: SyncSchedulesInput!) {\n    syncSchedules(input: $input) {\n      ... on SyncSchedulesPayload { created changed deleted }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.SyncSchedulesDocument,
    "\n  mutation PauseSchedule($input: PauseScheduleInput!) {\n    pauseSchedule(input: $input) {\n      ... on PauseSchedulePayload { schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.PauseScheduleDocument,
    "\n  mutation ResumeSchedule($input: ResumeScheduleInput!) {\n    resumeSchedule(input: $input) {\n      ... on ResumeSchedulePayload { schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.ResumeScheduleDocument,
    "\n  mutation RunSchedule($input: RunScheduleInput!) {\n    runSchedule(input: $input) {\n      ... on RunSchedulePayload { job { id } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.RunScheduleDocument,
    "\n  mutation SkipOccurrence($input: SkipOccurrenceInput!) {\n    skipOccurrence(input: $input) {\n      ... on SkipOccurrencePayload { skipped schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.SkipOccurrenceDocument,
    "\n  mutation DeleteSchedule($input: DeleteScheduleInput!) {\n    deleteSchedule(input: $input) {\n      ... on DeleteSchedulePayload { name }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.DeleteScheduleDocument,
    "\n  mutation ClaimItem($input: ClaimItemInput!) {\n    claimItem(input: $input) {\n      ... on ClaimItemPayload { assignment { id itemId jobId type attempt payload heartbeatIntervalMs } }\n      ... on Error { code message field }\n      ... on ItemNotClaimableError { reason }\n    }\n  }\n": typeof types.ClaimItemDocument,
    "mutation Exchange($input: ExchangeInput!) { exchange(input: $input) { ... on ExchangePayload { reported { entries(all: false) { index status retryAt error { message field } } } assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes claimError { code message field } } ... on Error { code message field } } }": typeof types.ExchangeDocument,
    "\n  mutation ExchangeParts(\n    $reports: ReportOutcomesInput = { reports: [] }, $withReports: Boolean!\n    $releases: ReleaseAssignmentsInput = { assignmentIds: [] }, $withReleases: Boolean!\n    $claims: ClaimItemsInput = { worker: \"\", requests: [] }, $withClaims: Boolean!\n  ) {\n    reportOutcomes(input: $reports) @include(if: $withReports) {\n      ... on ReportOutcomesPayload { entries(all: false) { index status retryAt error { message field } } }\n      ... on Error { code message field }\n    }\n    releaseAssignments(input: $releases) @include(if: $withReleases) {\n      ... on ReleaseAssignmentsPayload { entries { status error { message } } }\n      ... on Error { code message field }\n    }\n    claimItems(input: $claims) @include(if: $withClaims) {\n      ... on ClaimItemsPayload { assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.ExchangePartsDocument,
    "\n  fragment QueueFields on Queue {\n    type ready scheduled waiting blocked running oldestReadyMs paused concurrency rate { limit intervalMs } lifetimeMs\n    deadLetterAlert { endpoint count intervalMs } alertedAt\n    priority maxFailuresPerItem backoffMs backoffJitter heartbeatIntervalMs\n  }\n": typeof types.QueueFieldsFragmentDoc,
    "\n  mutation SetQueue($input: SetQueueInput!) {\n    setQueue(input: $input) {\n      ... on SetQueuePayload { queue { ...QueueFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.SetQueueDocument,
    "\n  query Queue($type: String!) {\n    queue(type: $type) { ...QueueFields }\n  }\n": typeof types.QueueDocument,
    "\n  query Queues($types: [String!], $first: Int, $after: String) {\n    queues(types: $types, first: $first, after: $after) { ...QueueFields }\n  }\n": typeof types.QueuesDocument,
    "\n  query TypesWithSchemas {\n    typesWithSchemas\n  }\n": typeof types.TypesWithSchemasDocument,
    "\n  query TypeSchemas($type: String!) {\n    typeSchemas(type: $type) { type version payload result createdAt }\n  }\n": typeof types.TypeSchemasDocument,
    "\n  mutation PutTypeSchema($input: PutTypeSchemaInput!) {\n    putTypeSchema(input: $input) {\n      ... on PutTypeSchemaPayload { created }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.PutTypeSchemaDocument,
    "\n  mutation DeleteTypeSchema($input: DeleteTypeSchemaInput!) {\n    deleteTypeSchema(input: $input) {\n      ... on DeleteTypeSchemaPayload { deleted }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.DeleteTypeSchemaDocument,
    "\n  query QueueFigures($types: [String!], $first: Int, $after: String, $lastMinutes: Int) {\n    queues(types: $types, first: $first, after: $after) {\n      ...QueueFields\n      slow slowAfterMs\n      figures(lastMinutes: $lastMinutes) {\n        from until claimed succeeded failed lost dead deadRate perSecond\n        wait { count p50Ms p95Ms p99Ms } processing { count p50Ms p95Ms p99Ms }\n      }\n    }\n  }\n": typeof types.QueueFiguresDocument,
    "\n  query HeldItems($types: [String!], $workers: [String!], $slowOnly: Boolean, $first: Int) {\n    heldItems(types: $types, workers: $workers, slowOnly: $slowOnly, first: $first) {\n      assignmentId itemId type worker attempt claimedAt heartbeatAt heldMs slow\n    }\n  }\n": typeof types.HeldItemsDocument,
    "\n  query Workers($types: [String!], $first: Int, $after: String) {\n    workers(types: $types, first: $first, after: $after) {\n      name version types { type concurrency holds } connectedAt seenAt\n    }\n  }\n": typeof types.WorkersDocument,
    "\n  fragment EndpointFields on CallbackEndpoint { name url createdAt previousSecretUntil goneAt }\n": typeof types.EndpointFieldsFragmentDoc,
    "\n  fragment DeliveryFields on CallbackDelivery {\n    id messageId endpoint event status rootId body createdAt dueAt deliveredAt failedAt attemptCount\n    attempts { at tookMs statusCode error }\n  }\n": typeof types.DeliveryFieldsFragmentDoc,
    "\n  mutation PutCallbackEndpoint($input: PutCallbackEndpointInput!) {\n    putCallbackEndpoint(input: $input) {\n      ... on PutCallbackEndpointPayload { secret endpoint { ...EndpointFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.PutCallbackEndpointDocument,
    "\n  mutation RotateCallbackSecret($input: RotateCallbackSecretInput!) {\n    rotateCallbackSecret(input: $input) {\n      ... on RotateCallbackSecretPayload { secret endpoint { ...EndpointFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.RotateCallbackSecretDocument,
    "\n  mutation DeleteCallbackEndpoint($input: DeleteCallbackEndpointInput!) {\n    deleteCallbackEndpoint(input: $input) {\n      ... on DeleteCallbackEndpointPayload { name }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.DeleteCallbackEndpointDocument,
    "\n  mutation RetryCallbackDelivery($input: RetryCallbackDeliveryInput!) {\n    retryCallbackDelivery(input: $input) {\n      ... on RetryCallbackDeliveryPayload { delivery { ...DeliveryFields } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.RetryCallbackDeliveryDocument,
    "\n  query CallbackEndpoints($first: Int, $after: String) {\n    callbackEndpoints(first: $first, after: $after) { ...EndpointFields }\n  }\n": typeof types.CallbackEndpointsDocument,
    "\n  query CallbackDelivery($id: ID!) { node(id: $id) { ... on CallbackDelivery { ...DeliveryFields } } }\n": typeof types.CallbackDeliveryDocument,
    "\n  query CallbackDeliveries($filter: CallbackDeliveryFilter, $first: Int, $after: String) {\n    callbackDeliveries(filter: $filter, first: $first, after: $after) {\n      edges { node { ...DeliveryFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n": typeof types.CallbackDeliveriesDocument,
    "\n  query SerializeKeys($first: Int, $keys: [String!]) {\n    serializeKeys(first: $first, keys: $keys) { key held blocked head { id job { id type } failureCount assignment { worker } } }\n  }\n": typeof types.SerializeKeysDocument,
    "\n  mutation Heartbeat($input: HeartbeatInput!) {\n    heartbeat(input: $input) {\n      ... on HeartbeatPayload { entries { status error { message } } }\n      ... on Error { code message field }\n    }\n  }\n": typeof types.HeartbeatDocument,
    "\n  subscription JobProgress($jobId: ID!, $sinceRevision: String) {\n    jobProgress(jobId: $jobId, sinceRevision: $sinceRevision) { ...ProgressFields }\n  }\n": typeof types.JobProgressDocument,
    "\n  subscription JobTreeProgress($rootId: ID!, $sinceRevision: String) {\n    jobTreeProgress(rootId: $rootId, sinceRevision: $sinceRevision) { rootId revision openJobs complete outcome jobs { ...ProgressFields } }\n  }\n": typeof types.JobTreeProgressDocument,
    "\n  subscription OperationProgress($operationId: ID!) {\n    operationProgress(operationId: $operationId) { ...OperationFields }\n  }\n": typeof types.OperationProgressDocument,
    "\n  subscription WorkAvailable($types: [String!]!, $worker: WorkerInput) {\n    workAvailable(types: $types, worker: $worker) { types }\n  }\n": typeof types.WorkAvailableDocument,
};
const documents: Documents = {
    "\n  mutation CreateJob($input: JobInput!) {\n    createJob(input: $input) {\n      ... on CreateJobPayload { created job { id } }\n      ... on Error { code message field }\n    }\n  }\n": types.CreateJobDocument,
    "\n  mutation AddItems($input: AddItemsInput!, $all: Boolean!) {\n    addItems(input: $input) {\n      ... on AddItemsPayload {\n        added duplicates invalid\n        entries(all: $all) { index @skip(if: $all) status itemId error { message } }\n      }\n      ... on Error { code message field }\n    }\n  }\n": types.AddItemsDocument,
    "\n  mutation SealJob($input: SealJobInput!) {\n    sealJob(input: $input) {\n      ... on SealJobPayload { job { progress { ...ProgressFields } } }\n      ... on Error { code message field }\n    }\n  }\n": types.SealJobDocument,
    "\n  mutation CancelJob($input: CancelJobInput!) {\n    cancelJob(input: $input) {\n      ... on CancelJobPayload { job { id } }\n      ... on Error { code message field }\n    }\n  }\n": types.CancelJobDocument,
    "\n  mutation CancelItems($input: CancelItemsInput!) {\n    cancelItems(input: $input) {\n      ... on CancelItemsPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.CancelItemsDocument,
    "\n  mutation UpdateItem($input: UpdateItemInput!) {\n    updateItem(input: $input) {\n      ... on UpdateItemPayload { item { ...ItemFields } }\n      ... on Error { code message field }\n      ... on ItemNotUpdatableError { reason }\n    }\n  }\n": types.UpdateItemDocument,
    "\n  mutation SetRetention($input: SetRetentionInput!) {\n    setRetention(input: $input) {\n      ... on SetRetentionPayload { job { ...JobFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.SetRetentionDocument,
    "\n  mutation CreateWatchToken($input: CreateWatchTokenInput!) {\n    createWatchToken(input: $input) {\n      ... on CreateWatchTokenPayload { token expiresAt }\n      ... on Error { code message field }\n    }\n  }\n": types.CreateWatchTokenDocument,
    "\n  mutation RevokeWatchTokens($input: RevokeWatchTokensInput!) {\n    revokeWatchTokens(input: $input) {\n      ... on RevokeWatchTokensPayload { revokedAt }\n      ... on Error { code message field }\n    }\n  }\n": types.RevokeWatchTokensDocument,
    "\n  mutation DeleteJob($input: DeleteJobInput!) {\n    deleteJob(input: $input) {\n      ... on DeleteJobPayload { deleted }\n      ... on Error { code message field }\n    }\n  }\n": types.DeleteJobDocument,
    "\n  mutation ReplayDeadLetters($input: ReplayDeadLettersInput!) {\n    replayDeadLetters(input: $input) {\n      ... on ReplayDeadLettersPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.ReplayDeadLettersDocument,
    "\n  mutation DiscardDeadLetters($input: DiscardDeadLettersInput!) {\n    discardDeadLetters(input: $input) {\n      ... on DiscardDeadLettersPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.DiscardDeadLettersDocument,
    "\n  mutation NoteDeadLetters($input: NoteDeadLettersInput!) {\n    noteDeadLetters(input: $input) {\n      ... on NoteDeadLettersPayload { group { id } }\n      ... on Error { code message field }\n    }\n  }\n": types.NoteDeadLettersDocument,
    "\n  mutation CancelOperation($input: CancelOperationInput!) {\n    cancelOperation(input: $input) {\n      ... on CancelOperationPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.CancelOperationDocument,
    "\n  query Operation($id: ID!) { node(id: $id) { ... on Operation { ...OperationFields } } }\n": types.OperationDocument,
    "\n  query DeadLetterGroups($types: [String!], $first: Int) {\n    deadLetterGroups(types: $types, first: $first) {\n      id type code pattern count firstAt lastAt note notedAt example { id job { id } }\n    }\n  }\n": types.DeadLetterGroupsDocument,
    "\n  query DeadLetterGroup($id: ID!, $first: Int) {\n    node(id: $id) {\n      ... on DeadLetterGroup {\n        id type code pattern count firstAt lastAt note notedAt\n        items(first: $first) { ...ItemFields job { id type } }\n      }\n    }\n  }\n": types.DeadLetterGroupDocument,
    "\n  query DeadLetterDigest($since: DateTime!, $types: [String!], $first: Int) {\n    deadLetterDigest(since: $since, types: $types, first: $first) {\n      count group { id type code pattern count firstAt lastAt note notedAt }\n    }\n  }\n": types.DeadLetterDigestDocument,
    "\n  query DeadLetterCount($filter: DeadLetterFilter!) { deadLetterCount(filter: $filter) }\n": types.DeadLetterCountDocument,
    "\n  query PendingItemCount($filter: PendingItemFilter!) { pendingItemCount(filter: $filter) }\n": types.PendingItemCountDocument,
    "\n  fragment OperationFields on Operation { id kind status total done requestedAt finishedAt }\n": types.OperationFieldsFragmentDoc,
    "\n  fragment ProgressFields on JobProgress {\n    jobId status message itemCount itemProgress succeeded failed cancelled percent sealed revision startedAt completedAt outcome cancelReason completions\n  }\n": types.ProgressFieldsFragmentDoc,
    "\n  fragment JobFields on Job {\n    id type root { id } parent { id } depth dedupeKey priority runAt maxFailuresPerItem backoffMs backoffJitter\n    heartbeatIntervalMs toleratedFailureCount toleratedFailurePercentage serializeOnFailure finalStage feed waitsForJobs createdAt sealedAt failedAt\n    cancelledAt cancelReason retentionSeconds reapAt idleExpirySeconds idleSince occurrence { schedule at } treeOutcome progress { ...ProgressFields }\n  }\n": types.JobFieldsFragmentDoc,
    "\n  fragment ItemFields on JobItem {\n    id status payload result failureCount failures { attempt code message worker at }\n    priority runAt retryAt dedupeKey serializeKey blockedBy { id } createdAt finishedAt assignment { id worker attempt claimedAt heartbeatAt deadlineAt }\n  }\n": types.ItemFieldsFragmentDoc,
    "\n  query Job($id: ID!) {\n    job(id: $id) {\n      ...JobFields children { id } after { id } callbacks { endpoint on } deletion { requestedAt reaped itemCount deletedItems }\n      import { status uploadId format size bytesRead items badLines startedAt finishedAt error { code message } }\n    }\n  }\n": types.JobDocument,
    "\n  query Jobs($filter: JobFilter, $order: JobOrder, $first: Int, $after: String) {\n    jobs(filter: $filter, order: $order, first: $first, after: $after) {\n      edges { node { ...JobFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n": types.JobsDocument,
    "\n  query Items($jobId: ID!, $status: ItemStatus, $first: Int, $after: String) {\n    job(id: $jobId) {\n      items(status: $status, first: $first, after: $after) {\n        edges { node { ...ItemFields } }\n        pageInfo { endCursor hasNextPage }\n      }\n    }\n  }\n": types.ItemsDocument,
    "\n  query Results($jobId: ID!, $first: Int, $after: String) {\n    job(id: $jobId) {\n      results(first: $first, after: $after) {\n        edges { node { id payload result } }\n        pageInfo { endCursor hasNextPage }\n      }\n    }\n  }\n": types.ResultsDocument,
    "\n  fragment ScheduleFields on Schedule {\n    name cron timeZone everyMs startAt missed overlap template createdAt changedAt pausedAt nextAt nextOccurrences queued\n    lastOccurrenceAt lastJob { id progress { status } } lastSkip { at reason } lastFailure { at message } behindMs\n  }\n": types.ScheduleFieldsFragmentDoc,
    "\n  query Schedule($name: String!) {\n    schedule(name: $name) { ...ScheduleFields }\n  }\n": types.ScheduleDocument,
    "\n  query Schedules($first: Int, $after: String) {\n    schedules(first: $first, after: $after) {\n      edges { node { ...ScheduleFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n": types.SchedulesDocument,
    "\n  mutation PutSchedule($input: ScheduleInput!) {\n    putSchedule(input: $input) {\n      ... on PutSchedulePayload { created changed schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.PutScheduleDocument,
    "\n  mutation SyncSchedules($input: SyncSchedulesInput!) {\n    syncSchedules(input: $input) {\n      ... on SyncSchedulesPayload { created changed deleted }\n      ... on Error { code message field }\n    }\n  }\n": types.SyncSchedulesDocument,
    "\n  mutation PauseSchedule($input: PauseScheduleInput!) {\n    pauseSchedule(input: $input) {\n      ... on PauseSchedulePayload { schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.PauseScheduleDocument,
    "\n  mutation ResumeSchedule($input: ResumeScheduleInput!) {\n    resumeSchedule(input: $input) {\n      ... on ResumeSchedulePayload { schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.ResumeScheduleDocument,
    "\n  mutation RunSchedule($input: RunScheduleInput!) {\n    runSchedule(input: $input) {\n      ... on RunSchedulePayload { job { id } }\n      ... on Error { code message field }\n    }\n  }\n": types.RunScheduleDocument,
    "\n  mutation SkipOccurrence($input: SkipOccurrenceInput!) {\n    skipOccurrence(input: $input) {\n      ... on SkipOccurrencePayload { skipped schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.SkipOccurrenceDocument,
    "\n  mutation DeleteSchedule($input: DeleteScheduleInput!) {\n    deleteSchedule(input: $input) {\n      ... on DeleteSchedulePayload { name }\n      ... on Error { code message field }\n    }\n  }\n": types.DeleteScheduleDocument,
    "\n  mutation ClaimItem($input: ClaimItemInput!) {\n    claimItem(input: $input) {\n      ... on ClaimItemPayload { assignment { id itemId jobId type attempt payload heartbeatIntervalMs } }\n      ... on Error { code message field }\n      ... on ItemNotClaimableError { reason }\n    }\n  }\n": types.ClaimItemDocument,
    "mutation Exchange($input: ExchangeInput!) { exchange(input: $input) { ... on ExchangePayload { reported { entries(all: false) { index status retryAt error { message field } } } assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes claimError { code message field } } ... on Error { code message field } } }": types.ExchangeDocument,
    "\n  mutation ExchangeParts(\n    $reports: ReportOutcomesInput = { reports: [] }, $withReports: Boolean!\n    $releases: ReleaseAssignmentsInput = { assignmentIds: [] }, $withReleases: Boolean!\n    $claims: ClaimItemsInput = { worker: \"\", requests: [] }, $withClaims: Boolean!\n  ) {\n    reportOutcomes(input: $reports) @include(if: $withReports) {\n      ... on ReportOutcomesPayload { entries(all: false) { index status retryAt error { message field } } }\n      ... on Error { code message field }\n    }\n    releaseAssignments(input: $releases) @include(if: $withReleases) {\n      ... on ReleaseAssignmentsPayload { entries { status error { message } } }\n      ... on Error { code message field }\n    }\n    claimItems(input: $claims) @include(if: $withClaims) {\n      ... on ClaimItemsPayload { assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes }\n      ... on Error { code message field }\n    }\n  }\n": types.ExchangePartsDocument,
    "\n  fragment QueueFields on Queue {\n    type ready scheduled waiting blocked running oldestReadyMs paused concurrency rate { limit intervalMs } lifetimeMs\n    deadLetterAlert { endpoint count intervalMs } alertedAt\n    priority maxFailuresPerItem backoffMs backoffJitter heartbeatIntervalMs\n  }\n": types.QueueFieldsFragmentDoc,
    "\n  mutation SetQueue($input: SetQueueInput!) {\n    setQueue(input: $input) {\n      ... on SetQueuePayload { queue { ...QueueFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.SetQueueDocument,
    "\n  query Queue($type: String!) {\n    queue(type: $type) { ...QueueFields }\n  }\n": types.QueueDocument,
    "\n  query Queues($types: [String!], $first: Int, $after: String) {\n    queues(types: $types, first: $first, after: $after) { ...QueueFields }\n  }\n": types.QueuesDocument,
    "\n  query TypesWithSchemas {\n    typesWithSchemas\n  }\n": types.TypesWithSchemasDocument,
    "\n  query TypeSchemas($type: String!) {\n    typeSchemas(type: $type) { type version payload result createdAt }\n  }\n": types.TypeSchemasDocument,
    "\n  mutation PutTypeSchema($input: PutTypeSchemaInput!) {\n    putTypeSchema(input: $input) {\n      ... on PutTypeSchemaPayload { created }\n      ... on Error { code message field }\n    }\n  }\n": types.PutTypeSchemaDocument,
    "\n  mutation DeleteTypeSchema($input: DeleteTypeSchemaInput!) {\n    deleteTypeSchema(input: $input) {\n      ... on DeleteTypeSchemaPayload { deleted }\n      ... on Error { code message field }\n    }\n  }\n": types.DeleteTypeSchemaDocument,
    "\n  query QueueFigures($types: [String!], $first: Int, $after: String, $lastMinutes: Int) {\n    queues(types: $types, first: $first, after: $after) {\n      ...QueueFields\n      slow slowAfterMs\n      figures(lastMinutes: $lastMinutes) {\n        from until claimed succeeded failed lost dead deadRate perSecond\n        wait { count p50Ms p95Ms p99Ms } processing { count p50Ms p95Ms p99Ms }\n      }\n    }\n  }\n": types.QueueFiguresDocument,
    "\n  query HeldItems($types: [String!], $workers: [String!], $slowOnly: Boolean, $first: Int) {\n    heldItems(types: $types, workers: $workers, slowOnly: $slowOnly, first: $first) {\n      assignmentId itemId type worker attempt claimedAt heartbeatAt heldMs slow\n    }\n  }\n": types.HeldItemsDocument,
    "\n  query Workers($types: [String!], $first: Int, $after: String) {\n    workers(types: $types, first: $first, after: $after) {\n      name version types { type concurrency holds } connectedAt seenAt\n    }\n  }\n": types.WorkersDocument,
    "\n  fragment EndpointFields on CallbackEndpoint { name url createdAt previousSecretUntil goneAt }\n": types.EndpointFieldsFragmentDoc,
    "\n  fragment DeliveryFields on CallbackDelivery {\n    id messageId endpoint event status rootId body createdAt dueAt deliveredAt failedAt attemptCount\n    attempts { at tookMs statusCode error }\n  }\n": types.DeliveryFieldsFragmentDoc,
    "\n  mutation PutCallbackEndpoint($input: PutCallbackEndpointInput!) {\n    putCallbackEndpoint(input: $input) {\n      ... on PutCallbackEndpointPayload { secret endpoint { ...EndpointFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.PutCallbackEndpointDocument,
    "\n  mutation RotateCallbackSecret($input: RotateCallbackSecretInput!) {\n    rotateCallbackSecret(input: $input) {\n      ... on RotateCallbackSecretPayload { secret endpoint { ...EndpointFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.RotateCallbackSecretDocument,
    "\n  mutation DeleteCallbackEndpoint($input: DeleteCallbackEndpointInput!) {\n    deleteCallbackEndpoint(input: $input) {\n      ... on DeleteCallbackEndpointPayload { name }\n      ... on Error { code message field }\n    }\n  }\n": types.DeleteCallbackEndpointDocument,
    "\n  mutation RetryCallbackDelivery($input: RetryCallbackDeliveryInput!) {\n    retryCallbackDelivery(input: $input) {\n      ... on RetryCallbackDeliveryPayload { delivery { ...DeliveryFields } }\n      ... on Error { code message field }\n    }\n  }\n": types.RetryCallbackDeliveryDocument,
    "\n  query CallbackEndpoints($first: Int, $after: String) {\n    callbackEndpoints(first: $first, after: $after) { ...EndpointFields }\n  }\n": types.CallbackEndpointsDocument,
    "\n  query CallbackDelivery($id: ID!) { node(id: $id) { ... on CallbackDelivery { ...DeliveryFields } } }\n": types.CallbackDeliveryDocument,
    "\n  query CallbackDeliveries($filter: CallbackDeliveryFilter, $first: Int, $after: String) {\n    callbackDeliveries(filter: $filter, first: $first, after: $after) {\n      edges { node { ...DeliveryFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n": types.CallbackDeliveriesDocument,
    "\n  query SerializeKeys($first: Int, $keys: [String!]) {\n    serializeKeys(first: $first, keys: $keys) { key held blocked head { id job { id type } failureCount assignment { worker } } }\n  }\n": types.SerializeKeysDocument,
    "\n  mutation Heartbeat($input: HeartbeatInput!) {\n    heartbeat(input: $input) {\n      ... on HeartbeatPayload { entries { status error { message } } }\n      ... on Error { code message field }\n    }\n  }\n": types.HeartbeatDocument,
    "\n  subscription JobProgress($jobId: ID!, $sinceRevision: String) {\n    jobProgress(jobId: $jobId, sinceRevision: $sinceRevision) { ...ProgressFields }\n  }\n": types.JobProgressDocument,
    "\n  subscription JobTreeProgress($rootId: ID!, $sinceRevision: String) {\n    jobTreeProgress(rootId: $rootId, sinceRevision: $sinceRevision) { rootId revision openJobs complete outcome jobs { ...ProgressFields } }\n  }\n": types.JobTreeProgressDocument,
    "\n  subscription OperationProgress($operationId: ID!) {\n    operationProgress(operationId: $operationId) { ...OperationFields }\n  }\n": types.OperationProgressDocument,
    "\n  subscription WorkAvailable($types: [String!]!, $worker: WorkerInput) {\n    workAvailable(types: $types, worker: $worker) { types }\n  }\n": types.WorkAvailableDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CreateJob($input: JobInput!) {\n    createJob(input: $input) {\n      ... on CreateJobPayload { created job { id } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').CreateJobDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation AddItems($input: AddItemsInput!, $all: Boolean!) {\n    addItems(input: $input) {\n      ... on AddItemsPayload {\n        added duplicates invalid\n        entries(all: $all) { index @skip(if: $all) status itemId error { message } }\n      }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').AddItemsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation SealJob($input: SealJobInput!) {\n    sealJob(input: $input) {\n      ... on SealJobPayload { job { progress { ...ProgressFields } } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').SealJobDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CancelJob($input: CancelJobInput!) {\n    cancelJob(input: $input) {\n      ... on CancelJobPayload { job { id } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').CancelJobDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CancelItems($input: CancelItemsInput!) {\n    cancelItems(input: $input) {\n      ... on CancelItemsPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').CancelItemsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation UpdateItem($input: UpdateItemInput!) {\n    updateItem(input: $input) {\n      ... on UpdateItemPayload { item { ...ItemFields } }\n      ... on Error { code message field }\n      ... on ItemNotUpdatableError { reason }\n    }\n  }\n"): typeof import('./graphql.ts').UpdateItemDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation SetRetention($input: SetRetentionInput!) {\n    setRetention(input: $input) {\n      ... on SetRetentionPayload { job { ...JobFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').SetRetentionDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CreateWatchToken($input: CreateWatchTokenInput!) {\n    createWatchToken(input: $input) {\n      ... on CreateWatchTokenPayload { token expiresAt }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').CreateWatchTokenDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RevokeWatchTokens($input: RevokeWatchTokensInput!) {\n    revokeWatchTokens(input: $input) {\n      ... on RevokeWatchTokensPayload { revokedAt }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').RevokeWatchTokensDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation DeleteJob($input: DeleteJobInput!) {\n    deleteJob(input: $input) {\n      ... on DeleteJobPayload { deleted }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').DeleteJobDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ReplayDeadLetters($input: ReplayDeadLettersInput!) {\n    replayDeadLetters(input: $input) {\n      ... on ReplayDeadLettersPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').ReplayDeadLettersDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation DiscardDeadLetters($input: DiscardDeadLettersInput!) {\n    discardDeadLetters(input: $input) {\n      ... on DiscardDeadLettersPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').DiscardDeadLettersDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation NoteDeadLetters($input: NoteDeadLettersInput!) {\n    noteDeadLetters(input: $input) {\n      ... on NoteDeadLettersPayload { group { id } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').NoteDeadLettersDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CancelOperation($input: CancelOperationInput!) {\n    cancelOperation(input: $input) {\n      ... on CancelOperationPayload { operation { ...OperationFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').CancelOperationDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Operation($id: ID!) { node(id: $id) { ... on Operation { ...OperationFields } } }\n"): typeof import('./graphql.ts').OperationDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DeadLetterGroups($types: [String!], $first: Int) {\n    deadLetterGroups(types: $types, first: $first) {\n      id type code pattern count firstAt lastAt note notedAt example { id job { id } }\n    }\n  }\n"): typeof import('./graphql.ts').DeadLetterGroupsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DeadLetterGroup($id: ID!, $first: Int) {\n    node(id: $id) {\n      ... on DeadLetterGroup {\n        id type code pattern count firstAt lastAt note notedAt\n        items(first: $first) { ...ItemFields job { id type } }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').DeadLetterGroupDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DeadLetterDigest($since: DateTime!, $types: [String!], $first: Int) {\n    deadLetterDigest(since: $since, types: $types, first: $first) {\n      count group { id type code pattern count firstAt lastAt note notedAt }\n    }\n  }\n"): typeof import('./graphql.ts').DeadLetterDigestDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DeadLetterCount($filter: DeadLetterFilter!) { deadLetterCount(filter: $filter) }\n"): typeof import('./graphql.ts').DeadLetterCountDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query PendingItemCount($filter: PendingItemFilter!) { pendingItemCount(filter: $filter) }\n"): typeof import('./graphql.ts').PendingItemCountDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment OperationFields on Operation { id kind status total done requestedAt finishedAt }\n"): typeof import('./graphql.ts').OperationFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment ProgressFields on JobProgress {\n    jobId status message itemCount itemProgress succeeded failed cancelled percent sealed revision startedAt completedAt outcome cancelReason completions\n  }\n"): typeof import('./graphql.ts').ProgressFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment JobFields on Job {\n    id type root { id } parent { id } depth dedupeKey priority runAt maxFailuresPerItem backoffMs backoffJitter\n    heartbeatIntervalMs toleratedFailureCount toleratedFailurePercentage serializeOnFailure finalStage feed waitsForJobs createdAt sealedAt failedAt\n    cancelledAt cancelReason retentionSeconds reapAt idleExpirySeconds idleSince occurrence { schedule at } treeOutcome progress { ...ProgressFields }\n  }\n"): typeof import('./graphql.ts').JobFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment ItemFields on JobItem {\n    id status payload result failureCount failures { attempt code message worker at }\n    priority runAt retryAt dedupeKey serializeKey blockedBy { id } createdAt finishedAt assignment { id worker attempt claimedAt heartbeatAt deadlineAt }\n  }\n"): typeof import('./graphql.ts').ItemFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Job($id: ID!) {\n    job(id: $id) {\n      ...JobFields children { id } after { id } callbacks { endpoint on } deletion { requestedAt reaped itemCount deletedItems }\n      import { status uploadId format size bytesRead items badLines startedAt finishedAt error { code message } }\n    }\n  }\n"): typeof import('./graphql.ts').JobDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Jobs($filter: JobFilter, $order: JobOrder, $first: Int, $after: String) {\n    jobs(filter: $filter, order: $order, first: $first, after: $after) {\n      edges { node { ...JobFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n"): typeof import('./graphql.ts').JobsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Items($jobId: ID!, $status: ItemStatus, $first: Int, $after: String) {\n    job(id: $jobId) {\n      items(status: $status, first: $first, after: $after) {\n        edges { node { ...ItemFields } }\n        pageInfo { endCursor hasNextPage }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').ItemsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Results($jobId: ID!, $first: Int, $after: String) {\n    job(id: $jobId) {\n      results(first: $first, after: $after) {\n        edges { node { id payload result } }\n        pageInfo { endCursor hasNextPage }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').ResultsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment ScheduleFields on Schedule {\n    name cron timeZone everyMs startAt missed overlap template createdAt changedAt pausedAt nextAt nextOccurrences queued\n    lastOccurrenceAt lastJob { id progress { status } } lastSkip { at reason } lastFailure { at message } behindMs\n  }\n"): typeof import('./graphql.ts').ScheduleFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Schedule($name: String!) {\n    schedule(name: $name) { ...ScheduleFields }\n  }\n"): typeof import('./graphql.ts').ScheduleDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Schedules($first: Int, $after: String) {\n    schedules(first: $first, after: $after) {\n      edges { node { ...ScheduleFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n"): typeof import('./graphql.ts').SchedulesDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PutSchedule($input: ScheduleInput!) {\n    putSchedule(input: $input) {\n      ... on PutSchedulePayload { created changed schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').PutScheduleDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation SyncSchedules($input: SyncSchedulesInput!) {\n    syncSchedules(input: $input) {\n      ... on SyncSchedulesPayload { created changed deleted }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').SyncSchedulesDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PauseSchedule($input: PauseScheduleInput!) {\n    pauseSchedule(input: $input) {\n      ... on PauseSchedulePayload { schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').PauseScheduleDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ResumeSchedule($input: ResumeScheduleInput!) {\n    resumeSchedule(input: $input) {\n      ... on ResumeSchedulePayload { schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').ResumeScheduleDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RunSchedule($input: RunScheduleInput!) {\n    runSchedule(input: $input) {\n      ... on RunSchedulePayload { job { id } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').RunScheduleDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation SkipOccurrence($input: SkipOccurrenceInput!) {\n    skipOccurrence(input: $input) {\n      ... on SkipOccurrencePayload { skipped schedule { ...ScheduleFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').SkipOccurrenceDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation DeleteSchedule($input: DeleteScheduleInput!) {\n    deleteSchedule(input: $input) {\n      ... on DeleteSchedulePayload { name }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').DeleteScheduleDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ClaimItem($input: ClaimItemInput!) {\n    claimItem(input: $input) {\n      ... on ClaimItemPayload { assignment { id itemId jobId type attempt payload heartbeatIntervalMs } }\n      ... on Error { code message field }\n      ... on ItemNotClaimableError { reason }\n    }\n  }\n"): typeof import('./graphql.ts').ClaimItemDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "mutation Exchange($input: ExchangeInput!) { exchange(input: $input) { ... on ExchangePayload { reported { entries(all: false) { index status retryAt error { message field } } } assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes claimError { code message field } } ... on Error { code message field } } }"): typeof import('./graphql.ts').ExchangeDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ExchangeParts(\n    $reports: ReportOutcomesInput = { reports: [] }, $withReports: Boolean!\n    $releases: ReleaseAssignmentsInput = { assignmentIds: [] }, $withReleases: Boolean!\n    $claims: ClaimItemsInput = { worker: \"\", requests: [] }, $withClaims: Boolean!\n  ) {\n    reportOutcomes(input: $reports) @include(if: $withReports) {\n      ... on ReportOutcomesPayload { entries(all: false) { index status retryAt error { message field } } }\n      ... on Error { code message field }\n    }\n    releaseAssignments(input: $releases) @include(if: $withReleases) {\n      ... on ReleaseAssignmentsPayload { entries { status error { message } } }\n      ... on Error { code message field }\n    }\n    claimItems(input: $claims) @include(if: $withClaims) {\n      ... on ClaimItemsPayload { assignments { id itemId jobId type attempt payload heartbeatIntervalMs } limitedTypes }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').ExchangePartsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment QueueFields on Queue {\n    type ready scheduled waiting blocked running oldestReadyMs paused concurrency rate { limit intervalMs } lifetimeMs\n    deadLetterAlert { endpoint count intervalMs } alertedAt\n    priority maxFailuresPerItem backoffMs backoffJitter heartbeatIntervalMs\n  }\n"): typeof import('./graphql.ts').QueueFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation SetQueue($input: SetQueueInput!) {\n    setQueue(input: $input) {\n      ... on SetQueuePayload { queue { ...QueueFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').SetQueueDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Queue($type: String!) {\n    queue(type: $type) { ...QueueFields }\n  }\n"): typeof import('./graphql.ts').QueueDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Queues($types: [String!], $first: Int, $after: String) {\n    queues(types: $types, first: $first, after: $after) { ...QueueFields }\n  }\n"): typeof import('./graphql.ts').QueuesDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query TypesWithSchemas {\n    typesWithSchemas\n  }\n"): typeof import('./graphql.ts').TypesWithSchemasDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query TypeSchemas($type: String!) {\n    typeSchemas(type: $type) { type version payload result createdAt }\n  }\n"): typeof import('./graphql.ts').TypeSchemasDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PutTypeSchema($input: PutTypeSchemaInput!) {\n    putTypeSchema(input: $input) {\n      ... on PutTypeSchemaPayload { created }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').PutTypeSchemaDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation DeleteTypeSchema($input: DeleteTypeSchemaInput!) {\n    deleteTypeSchema(input: $input) {\n      ... on DeleteTypeSchemaPayload { deleted }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').DeleteTypeSchemaDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query QueueFigures($types: [String!], $first: Int, $after: String, $lastMinutes: Int) {\n    queues(types: $types, first: $first, after: $after) {\n      ...QueueFields\n      slow slowAfterMs\n      figures(lastMinutes: $lastMinutes) {\n        from until claimed succeeded failed lost dead deadRate perSecond\n        wait { count p50Ms p95Ms p99Ms } processing { count p50Ms p95Ms p99Ms }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').QueueFiguresDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query HeldItems($types: [String!], $workers: [String!], $slowOnly: Boolean, $first: Int) {\n    heldItems(types: $types, workers: $workers, slowOnly: $slowOnly, first: $first) {\n      assignmentId itemId type worker attempt claimedAt heartbeatAt heldMs slow\n    }\n  }\n"): typeof import('./graphql.ts').HeldItemsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Workers($types: [String!], $first: Int, $after: String) {\n    workers(types: $types, first: $first, after: $after) {\n      name version types { type concurrency holds } connectedAt seenAt\n    }\n  }\n"): typeof import('./graphql.ts').WorkersDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment EndpointFields on CallbackEndpoint { name url createdAt previousSecretUntil goneAt }\n"): typeof import('./graphql.ts').EndpointFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment DeliveryFields on CallbackDelivery {\n    id messageId endpoint event status rootId body createdAt dueAt deliveredAt failedAt attemptCount\n    attempts { at tookMs statusCode error }\n  }\n"): typeof import('./graphql.ts').DeliveryFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PutCallbackEndpoint($input: PutCallbackEndpointInput!) {\n    putCallbackEndpoint(input: $input) {\n      ... on PutCallbackEndpointPayload { secret endpoint { ...EndpointFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').PutCallbackEndpointDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RotateCallbackSecret($input: RotateCallbackSecretInput!) {\n    rotateCallbackSecret(input: $input) {\n      ... on RotateCallbackSecretPayload { secret endpoint { ...EndpointFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').RotateCallbackSecretDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation DeleteCallbackEndpoint($input: DeleteCallbackEndpointInput!) {\n    deleteCallbackEndpoint(input: $input) {\n      ... on DeleteCallbackEndpointPayload { name }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').DeleteCallbackEndpointDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RetryCallbackDelivery($input: RetryCallbackDeliveryInput!) {\n    retryCallbackDelivery(input: $input) {\n      ... on RetryCallbackDeliveryPayload { delivery { ...DeliveryFields } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').RetryCallbackDeliveryDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query CallbackEndpoints($first: Int, $after: String) {\n    callbackEndpoints(first: $first, after: $after) { ...EndpointFields }\n  }\n"): typeof import('./graphql.ts').CallbackEndpointsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query CallbackDelivery($id: ID!) { node(id: $id) { ... on CallbackDelivery { ...DeliveryFields } } }\n"): typeof import('./graphql.ts').CallbackDeliveryDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query CallbackDeliveries($filter: CallbackDeliveryFilter, $first: Int, $after: String) {\n    callbackDeliveries(filter: $filter, first: $first, after: $after) {\n      edges { node { ...DeliveryFields } }\n      pageInfo { endCursor hasNextPage }\n    }\n  }\n"): typeof import('./graphql.ts').CallbackDeliveriesDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query SerializeKeys($first: Int, $keys: [String!]) {\n    serializeKeys(first: $first, keys: $keys) { key held blocked head { id job { id type } failureCount assignment { worker } } }\n  }\n"): typeof import('./graphql.ts').SerializeKeysDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation Heartbeat($input: HeartbeatInput!) {\n    heartbeat(input: $input) {\n      ... on HeartbeatPayload { entries { status error { message } } }\n      ... on Error { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').HeartbeatDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription JobProgress($jobId: ID!, $sinceRevision: String) {\n    jobProgress(jobId: $jobId, sinceRevision: $sinceRevision) { ...ProgressFields }\n  }\n"): typeof import('./graphql.ts').JobProgressDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription JobTreeProgress($rootId: ID!, $sinceRevision: String) {\n    jobTreeProgress(rootId: $rootId, sinceRevision: $sinceRevision) { rootId revision openJobs complete outcome jobs { ...ProgressFields } }\n  }\n"): typeof import('./graphql.ts').JobTreeProgressDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription OperationProgress($operationId: ID!) {\n    operationProgress(operationId: $operationId) { ...OperationFields }\n  }\n"): typeof import('./graphql.ts').OperationProgressDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription WorkAvailable($types: [String!]!, $worker: WorkerInput) {\n    workAvailable(types: $types, worker: $worker) { types }\n  }\n"): typeof import('./graphql.ts').WorkAvailableDocument;


export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}
